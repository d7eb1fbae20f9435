import { describe, expect, it } from "@jest/globals";
import type { MessageContent, SlackBlock } from "../../../../lambdas/verification/slack/api/slack.ts";
import { createTaskText } from "../../../../lambdas/verification/slack/messages/task-text.ts";
import type { Task, TaskOutcome } from "../../../../lambdas/verification/task/task.ts";
import { sampleTask } from "../../task/sample.ts";

const { parts } = createTaskText({ locale: "en", contact: "Hanako" });
type Answer = Extract<TaskOutcome, { type: "answer" }>;

function partsOf(answer: Partial<Answer>, changes: Partial<Task> = {}): MessageContent[] {
  return parts(sampleTask({ ...changes, outcome: { type: "answer", text: "", ...answer } }));
}

const typesOf = ({ blocks = [] }: MessageContent) => blocks.map(({ type }) => type);
const markdownOf = (contents: MessageContent[]) =>
  contents.flatMap(({ blocks = [] }) =>
    blocks.filter(({ type }) => type === "markdown").map(({ text }) => String(text)),
  );
const wordsIn = (block: SlackBlock | undefined) => JSON.stringify(block);
const paragraph = "A sekisho was a checkpoint on an old highway. 関所は、街道に設けられた検問所です。";
const prose = (length: number) => `${paragraph}\n\n`.repeat(Math.ceil(length / paragraph.length)).slice(0, length);

describe("an answer", () => {
  it("is the agent's Markdown in a markdown block, with the short request id below", () => {
    const [part, ...others] = partsOf({ text: "## Gate\n\n**bold** <!channel>" });
    expect(others).toEqual([]);
    expect(part).toEqual({
      text: "*Gate*\n\n*bold* &lt;!channel&gt;",
      blocks: [
        { type: "markdown", text: "## Gate\n\n**bold** <\u2060!channel>" },
        { type: "context", elements: [{ type: "mrkdwn", text: "Reference: 0d1c2b3a" }] },
      ],
    });
  });

  it("is mrkdwn alone where Slack does not take its blocks", () => {
    expect(partsOf({ text: "**bold** <!channel>" }, { mrkdwnFallback: true })).toEqual(
      [{ text: "*bold* &lt;!channel&gt;\n_Reference: 0d1c2b3a_" }].map(({ text }) => ({
        text: text.replace("\n_", "\n\n_"),
      })),
    );
  });

  it("has no link in disguise where a cut makes text of what was code", () => {
    const text = `\`\`${"word ".repeat(2500)}[https://bank.example](https://evil.example)${" word".repeat(500)}\`\``;
    const [first = "", second = "", ...others] = markdownOf(partsOf({ text }));
    expect(others).toEqual([]);
    expect(first).toMatch(/^``word/);
    expect(second).toContain("https://bank.example (https://evil.example)");
    expect(second).not.toContain("](");
  });

  it("of 9,999 characters is one message, or three in mrkdwn", () => {
    expect(partsOf({ text: prose(9999) })).toHaveLength(1);
    expect(partsOf({ text: prose(9999) }, { mrkdwnFallback: true })).toHaveLength(3);
  });

  it("stays within what Slack takes, in blocks, in their fallback and in mrkdwn", () => {
    for (const text of [prose(50_000), "<&>".repeat(5000), `\`\`\`\n${"<".repeat(20_000)}`, "x".repeat(40_000)]) {
      const contents = partsOf({ text });
      for (const markdown of markdownOf(contents)) expect(markdown.length).toBeLessThanOrEqual(12_000);
      for (const part of [...contents, ...partsOf({ text }, { mrkdwnFallback: true })]) {
        expect(part.text.length).toBeLessThanOrEqual(3900);
        expect(part.text.trim()).not.toBe("");
      }
    }
  });

  it("in mrkdwn has what follows it in a message of its own where the last one is full", () => {
    const contents = partsOf(
      { text: "word ".repeat(779), artifacts: [{ text: "x" }], uploads: [{ failed: true }] },
      { mrkdwnFallback: true },
    );
    expect(contents).toHaveLength(2);
    expect(contents[1]?.text).toMatch(/^I could not attach this file .*\n_Reference: 0d1c2b3a_$/);
    for (const { text } of contents) expect(text.length).toBeLessThanOrEqual(3900);
  });

  it("has its reference on the last message only", () => {
    const contents = partsOf({ text: prose(30_000) });
    expect(contents.length).toBeGreaterThan(1);
    expect(contents.map((part) => typesOf(part).includes("context"))).toEqual(
      contents.map((_, index) => index === contents.length - 1),
    );
  });

  it("that would take more than five messages shows its beginning and says that it is attached", () => {
    for (const plain of [undefined, true] as const) {
      const contents = partsOf(
        { text: prose(60_000), uploads: [{ fileId: "F1" }] },
        plain === undefined ? {} : { mrkdwnFallback: plain },
      );
      expect(contents).toHaveLength(1);
      expect(JSON.stringify(contents)).toMatch(/All of it is attached as `answer\.md`/);
      expect(contents[0]?.text).toContain("A sekisho was a checkpoint");
    }
    expect(partsOf({ text: prose(50_000) })).toHaveLength(5);
  });

  it("is told in full where the whole could not be attached", () => {
    const contents = partsOf({ text: prose(60_000), uploads: [{ failed: true }] });
    expect(contents.length).toBeGreaterThan(5);
    expect(markdownOf(contents).join("").replace(/\s/g, "")).toBe(prose(60_000).replace(/\s/g, ""));
    expect(JSON.stringify(contents.at(-1))).toMatch(/could not attach this file of the answer: `answer\.md`/);
  });

  it("is cut after twenty messages where the whole could not be attached, and says so", () => {
    const text = prose(400_000);
    const contents = partsOf({ text, uploads: [{ failed: true }] });
    expect(contents).toHaveLength(20);
    expect(JSON.stringify(contents.at(-1))).toMatch(/The answer goes on, but it is too long/);
    expect(JSON.stringify(contents.slice(0, -1))).not.toMatch(/The answer goes on/);
    const plain = partsOf({ text, uploads: [{ failed: true }] }, { mrkdwnFallback: true });
    expect(plain.length).toBeLessThanOrEqual(21);
    expect(plain.at(-1)?.text).toMatch(/The answer goes on, but it is too long/);
    expect(JSON.stringify(partsOf({ text: prose(150_000), uploads: [{ failed: true }] }))).not.toMatch(/goes on/);
  });

  const wideRow = (cell: string) => `|${`${cell}|`.repeat(100)}\n`;
  const large: [string, string][] = [
    ["a wide table", `${wideRow("x")}${wideRow("-")}${wideRow("y".repeat(48))}${wideRow("z").repeat(30)}`],
    ["a table of one long cell and many short rows", `|a|b|\n|-|-|\n|${"x".repeat(48)}|c|\n${"|d|e|\n".repeat(1600)}`],
    ["many small tables", `|a|b|\n|-|-|\n|${"x".repeat(48)}|c|\n${"|d|e|\n".repeat(15)}\n`.repeat(60)],
    ["a table of thousands of columns", `|${"a|".repeat(2700)}\n|${"-|".repeat(2700)}\n`],
    ["many short rows below a wide header", `|${"a|".repeat(100)}\n|${"-|".repeat(100)}\n${"|b\n".repeat(199)}`],
    ["a quote that goes on in bare lines", `${"> ".repeat(11)}${"a\n".repeat(5000)}`],
    ["signs that are escaped", "&".repeat(57_000)],
    [
      "signs that are escaped, in cells",
      `|${"&|".repeat(15)}\n|${"-|".repeat(15)}\n${`|${"&|".repeat(15)}\n`.repeat(340)}`,
    ],
    ["a list in lists", "- a\n    - b\n        - c\n".repeat(2000)],
    ["references to a long address", `[x]: https://${"a".repeat(5000)}.example\n\n${"[x] ".repeat(1000)}`],
  ];

  it.each(large)("has a bounded number of messages in each form: %s", (_, text) => {
    const uploads = [{ failed: true as const }];
    for (const plain of [undefined, true] as const) {
      const changes = plain === undefined ? {} : { mrkdwnFallback: plain };
      expect(partsOf({ text }, changes).length).toBeLessThanOrEqual(plain ? 19 : 5);
      expect(partsOf({ text, uploads }, changes).length).toBeLessThanOrEqual(plain ? 21 : 20);
    }
  });

  it.each(large.filter(([, text]) => text.includes("|")))("is hardly longer than its text: %s", (_, text) => {
    const shown = markdownOf(partsOf({ text, uploads: [{ failed: true }] })).join("");
    expect(shown.length).toBeLessThanOrEqual(4 * text.length);
  });

  it("names the files that could not be attached, and how many were too many", () => {
    const artifacts = Array.from({ length: 22 }, (_, index) => ({ name: `${index}.txt`, text: `file ${index}` }));
    const uploads = artifacts.map((_, index) => (index < 2 ? { failed: true as const } : { fileId: `F${index}` }));
    const [part] = partsOf({ text: "Done.", artifacts, uploads });
    expect(wordsIn(part?.blocks?.[1])).toMatch(/`0\.txt`, `1\.txt`/);
    expect(wordsIn(part?.blocks?.[1])).toMatch(/2 more files of the answer could not be attached/);
    const [plain] = partsOf({ text: "Done.", artifacts, uploads }, { mrkdwnFallback: true });
    expect(plain?.text).toMatch(/`0\.txt`, `1\.txt`/);
  });

  it("without text says so, or speaks of its files", () => {
    expect(partsOf({ text: " \n " })[0]?.text).toBe("The agent answered, but without any text.");
    expect(partsOf({ artifacts: [{ text: "x" }] })[0]?.text).toBe("The agent answered with a file.");
  });

  it("says of a retry that it is one, since the thread has an answer already", () => {
    const retryOf = "7d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
    const outcomes: TaskOutcome[] = [
      { type: "answer", text: "A checkpoint." },
      { type: "answer", text: "" },
      { type: "failed", reason: "timeout", lost: false },
      { type: "unreadable" },
    ];
    for (const locale of ["en", "ja"] as const)
      for (const outcome of outcomes)
        for (const form of [{}, { mrkdwnFallback: true as const }]) {
          const [again] = parts(sampleTask({ outcome, retryOf, locale, ...form }));
          expect(again?.text).toMatch(/^_.*7d1c2b3a.*_\n./);
          if (again?.blocks !== undefined) expect(wordsIn(again.blocks[0])).toMatch(/7d1c2b3a/);
        }
  });

  it("is told in the language of whoever asked, else in the workspace's", () => {
    const japanese = createTaskText({ locale: "ja" });
    const task = sampleTask({ outcome: { type: "refused" } });
    expect(japanese.parts(task)[0]?.text).toMatch(/管理者/);
    expect(japanese.parts({ ...task, locale: "en" })[0]?.text).toMatch(/administrator/);
  });
});

describe("words instead of an answer", () => {
  it("carry the short request id below them, with blocks and without", () => {
    const task = sampleTask({ outcome: { type: "refused" } });
    const [part] = parts(task);
    expect(typesOf(part ?? { text: "" })).toEqual(["section", "context"]);
    expect(part?.text).toMatch(/Hanako.*\n_Reference: 0d1c2b3a_$/);
    expect(parts({ ...task, mrkdwnFallback: true })).toEqual([{ text: part?.text }]);
  });

  it("are there without an outcome too", () => {
    expect(parts(sampleTask())[0]?.text).toMatch(/Something went wrong/);
  });
});
