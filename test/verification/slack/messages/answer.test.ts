import { describe, expect, it } from "@jest/globals";
import type { Artifact } from "@sekisho/contracts/methods.ts";
import type { MessageContent, SlackBlock } from "@sekisho/verification/slack/api/slack.ts";
import { createOutgoingFiles } from "@sekisho/verification/slack/messages/answer.ts";
import { listFiles } from "@sekisho/verification/slack/messages/answer-files.ts";
import { needsManyMessages, readAnswer } from "@sekisho/verification/slack/messages/answer-text.ts";
import { continuedText, cutAnswerText } from "@sekisho/verification/slack/messages/outcome-text.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import type { Task, TaskOutcome } from "@sekisho/verification/task/task.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
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

const shownIn = (block: SlackBlock | undefined) => JSON.stringify(block);
const forms = [{}, { mrkdwnFallback: true as const }];
const paragraph =
  "A sekisho was a checkpoint on an old highway. 関所は、街道に設けられた検問所です。";
const prose = (length: number) =>
  `${paragraph}\n\n`.repeat(Math.ceil(length / paragraph.length)).slice(0, length);

describe("a text of at most 5,000 characters", () => {
  const pieces =
    "& < > * ** _ ` ~~ [a](http://b.c) [https://a.b](https://evil.c) - 1. # あ <!channel> ``` \\ <b> <!-- --> a@b.cd 😀"
      .split(" ")
      .concat(["\n", "\n\n", "> ", "    ", "word "]);

  it("never needs so many messages that it becomes a file, without tables and definitions", () => {
    forAll(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 4 })).hold((pieces) => {
      const text = pieces.join("").repeat(5000).slice(0, 5000);
      expect(needsManyMessages(readAnswer({ type: "answer", text }).read())).toBe(false);
    });
  });
});

describe("an answer", () => {
  it("shows the Markdown of the agent in a markdown block with the short request id below", () => {
    const [part, ...others] = partsOf({ text: "## Gate\n\n**bold** <!channel>" });
    expect(others).toEqual([]);
    expect(part).toEqual({
      text: "*Gate*\n\n*bold* &lt;!channel&gt;",
      blocks: [
        { type: "markdown", text: "## Gate\n\n**bold** <\u2060!channel>" },
        {
          type: "context",
          elements: [{ type: "mrkdwn", text: "Reference: 0d1c2b3a", verbatim: true }],
        },
      ],
    });
  });

  it("uses only mrkdwn if Slack does not accept its blocks", () => {
    expect(partsOf({ text: "**bold** <!channel>" }, { mrkdwnFallback: true })).toEqual([
      { text: "*bold* &lt;!channel&gt;\n\n_Reference: 0d1c2b3a_" },
    ]);
  });

  it("exposes a disguised link if a cut turns code into text", () => {
    const text = `\`\`${"word ".repeat(2500)}[https://bank.example](https://evil.example)${" word".repeat(500)}\`\``;
    const [first = "", second = "", ...others] = markdownOf(partsOf({ text }));
    expect(others).toEqual([]);
    expect(first).toMatch(/^``word/);
    expect(second).toContain("https://bank.example (https://evil.example)");
    expect(second).not.toContain("](");
  });

  it("stays within the limits of Slack in blocks, their fallback and mrkdwn", () => {
    for (const text of [
      prose(50_000),
      "<&>".repeat(5000),
      `\`\`\`\n${"<".repeat(20_000)}`,
      "x".repeat(40_000),
    ]) {
      const contents = partsOf({ text });
      for (const markdown of markdownOf(contents))
        expect(markdown.length).toBeLessThanOrEqual(12_000);
      for (const part of [...contents, ...partsOf({ text }, { mrkdwnFallback: true })]) {
        expect(part.text.length).toBeLessThanOrEqual(3900);
        expect(part.text.trim()).not.toBe("");
      }
    }
  });

  it("starts another mrkdwn message for the notices if the last one is full", () => {
    const contents = partsOf(
      { text: "word ".repeat(779), artifacts: [{ text: "x" }], uploads: [{ failed: true }] },
      { mrkdwnFallback: true },
    );
    expect(contents).toHaveLength(2);
    expect(contents[1]?.text).toMatch(/^I couldn't attach this file.*\n_Reference: 0d1c2b3a_$/);
    for (const { text } of contents) expect(text.length).toBeLessThanOrEqual(3900);
  });

  it("shows the reference on the last message only", () => {
    const contents = partsOf({ text: prose(30_000) });
    expect(contents.length).toBeGreaterThan(1);
    for (const part of contents)
      expect(typesOf(part).includes("context")).toBe(part === contents.at(-1));
  });

  it("shows the beginning of an answer that needs more than five messages, and attaches the whole", () => {
    for (const form of forms) {
      const contents = partsOf({ text: prose(60_000), uploads: [{ fileId: "F1" }] }, form);
      expect(contents).toHaveLength(1);
      expect(JSON.stringify(contents)).toContain(
        continuedText({ locale: "en", name: "answer.md" }),
      );
      expect(contents[0]?.text).toContain("A sekisho was a checkpoint");
    }
    expect(partsOf({ text: prose(50_000) })).toHaveLength(5);
  });

  it("shows the full answer if the whole could not be attached", () => {
    const contents = partsOf({ text: prose(60_000), uploads: [{ failed: true }] });
    expect(contents.length).toBeGreaterThan(5);
    expect(markdownOf(contents).join("").replace(/\s/g, "")).toBe(prose(60_000).replace(/\s/g, ""));
    expect(JSON.stringify(contents.at(-1))).toMatch(/couldn't attach this file: `answer\.md`/);
  });

  it("cuts an answer after twenty messages if the whole could not be attached, and says so", () => {
    const text = prose(400_000);
    const contents = partsOf({ text, uploads: [{ failed: true }] });
    expect(contents).toHaveLength(20);
    expect(JSON.stringify(contents.at(-1))).toContain(cutAnswerText.en);
    expect(JSON.stringify(contents.slice(0, -1))).not.toContain(cutAnswerText.en);
    const plain = partsOf({ text, uploads: [{ failed: true }] }, { mrkdwnFallback: true });
    expect(plain.length).toBeLessThanOrEqual(21);
    expect(plain.at(-1)?.text).toContain(cutAnswerText.en);
    expect(
      JSON.stringify(partsOf({ text: prose(150_000), uploads: [{ failed: true }] })),
    ).not.toContain(cutAnswerText.en);
  });

  const wideRow = (cell: string) => `|${`${cell}|`.repeat(100)}\n`;
  const large: [string, string][] = [
    [
      "a wide table",
      `${wideRow("x")}${wideRow("-")}${wideRow("y".repeat(48))}${wideRow("z").repeat(30)}`,
    ],
    [
      "a table of one long cell and many short rows",
      `|a|b|\n|-|-|\n|${"x".repeat(48)}|c|\n${"|d|e|\n".repeat(1600)}`,
    ],
    [
      "many small tables",
      `|a|b|\n|-|-|\n|${"x".repeat(48)}|c|\n${"|d|e|\n".repeat(15)}\n`.repeat(60),
    ],
    ["a table of thousands of columns", `|${"a|".repeat(2700)}\n|${"-|".repeat(2700)}\n`],
    [
      "many short rows below a wide header",
      `|${"a|".repeat(100)}\n|${"-|".repeat(100)}\n${"|b\n".repeat(199)}`,
    ],
    ["a quote that goes on in bare lines", `${"> ".repeat(11)}${"a\n".repeat(5000)}`],
    ["signs that are escaped", "&".repeat(57_000)],
    [
      "signs that are escaped, in cells",
      `|${"&|".repeat(15)}\n|${"-|".repeat(15)}\n${`|${"&|".repeat(15)}\n`.repeat(340)}`,
    ],
    ["a list in lists", "- a\n    - b\n        - c\n".repeat(2000)],
    [
      "references to a long address",
      `[x]: https://${"a".repeat(5000)}.example\n\n${"[x] ".repeat(1000)}`,
    ],
  ];

  it.each(large)("limits the number of messages in each form: %s", (_, text) => {
    const uploads = [{ failed: true as const }];
    for (const form of forms) {
      expect(partsOf({ text }, form).length).toBeLessThanOrEqual("mrkdwnFallback" in form ? 19 : 5);
      expect(partsOf({ text, uploads }, form).length).toBeLessThanOrEqual(
        "mrkdwnFallback" in form ? 21 : 20,
      );
    }
  });

  it.each(large.filter(([, text]) => text.includes("|")))(
    "shows a text at most four times as long as the answer: %s",
    (_, text) => {
      const shownText = markdownOf(partsOf({ text, uploads: [{ failed: true }] })).join("");
      expect(shownText.length).toBeLessThanOrEqual(4 * text.length);
    },
  );

  it("says that an empty file is missing, because Slack does not accept any", () => {
    const about = (artifacts: Artifact[]) =>
      shownIn(partsOf({ text: "Done.", artifacts })[0]?.blocks?.[1]);
    expect(about([{ name: "empty.txt", text: "" }])).toMatch(/couldn't attach 1 more file/);
    expect(about([{ name: "empty.bin", base64: "" }])).toMatch(/couldn't attach 1 more file/);
    expect(
      about([{ text: "" }, { name: "a.txt", text: "", url: "https://files.example/a.txt" }]),
    ).not.toMatch(/attach/);
  });

  it("names the files that could not be attached and counts those over the limit", () => {
    const artifacts = Array.from({ length: 22 }, (_, index) => ({
      name: `${index}.txt`,
      text: `file ${index}`,
    }));
    const uploads = artifacts.map((_, index) =>
      index < 2 ? { failed: true as const } : { fileId: `F${index}` },
    );
    const [part] = partsOf({ text: "Done.", artifacts, uploads });
    expect(shownIn(part?.blocks?.[1])).toMatch(/`0\.txt`, `1\.txt`/);
    expect(shownIn(part?.blocks?.[1])).toMatch(/couldn't attach 2 more files/);
    const [plain] = partsOf({ text: "Done.", artifacts, uploads }, { mrkdwnFallback: true });
    expect(plain?.text).toMatch(/`0\.txt`, `1\.txt`/);
  });

  it("marks the answer of a retry, since the thread already has an answer", () => {
    const retryOf = "7d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
    const outcomes: TaskOutcome[] = [
      { type: "answer", text: "A checkpoint." },
      { type: "answer", text: "" },
      { type: "failed", reason: "timeout", lost: false },
      { type: "unreadable" },
    ];
    for (const locale of ["en", "ja"] as const)
      for (const outcome of outcomes)
        for (const form of forms) {
          const [again] = parts(sampleTask({ outcome, retryOf, locale, ...form }));
          expect(again?.text).toMatch(/^_.*7d1c2b3a.*_\n./);
          if (again?.blocks !== undefined) expect(shownIn(again.blocks[0])).toMatch(/7d1c2b3a/);
        }
  });

  it("uses the language of the asker, or else of the workspace", () => {
    const japanese = createTaskText({ locale: "ja" });
    const task = sampleTask({ outcome: { type: "refused" } });
    expect(japanese.parts(task)[0]?.text).toMatch(/管理者/);
    expect(japanese.parts({ ...task, locale: "en" })[0]?.text).toMatch(/your admin|Hanako/);
  });
});

describe("a text instead of an answer", () => {
  it("shows the short request id below a notice, with and without blocks", () => {
    const task = sampleTask({ outcome: { type: "refused" } });
    const [part] = parts(task);
    expect(typesOf(part ?? { text: "" })).toEqual(["section", "context"]);
    expect(part?.text).toMatch(/Hanako.*\n_Reference: 0d1c2b3a_$/);
    expect(parts({ ...task, mrkdwnFallback: true })).toEqual([{ text: part?.text }]);
  });

  it("shows a notice if there is no outcome", () => {
    expect(parts(sampleTask())[0]?.text).toMatch(/Something went wrong/);
  });
});

const filesOf = (artifacts: Artifact[], text = "Here it is.") =>
  createOutgoingFiles(sampleTask({ outcome: { type: "answer", text, artifacts } }));

const namesOf = (artifacts: Artifact[]) => filesOf(artifacts).map(({ name }) => name);
const long = "A sekisho was a checkpoint. ".repeat(3000);

describe("the files of an answer", () => {
  it("lists the files of the agent in its order", () => {
    expect(
      filesOf([
        { name: "a.csv", mimetype: "text/csv", text: "a,b\n" },
        { name: "b.png", mimetype: "image/png", base64: "AAAA" },
        { name: "c.json", data: { gate: 1 } },
        { name: "d.pdf", url: "https://files.example/d.pdf" },
      ]),
    ).toEqual([
      { name: "a.csv", mimetype: "text/csv", content: { text: "a,b\n" } },
      { name: "b.png", mimetype: "image/png", content: { base64: "AAAA" } },
      { name: "c.json", mimetype: "application/json", content: { data: { gate: 1 } } },
      { name: "d.pdf", content: { url: "https://files.example/d.pdf" } },
    ]);
  });

  it("starts with the answer as a file if it is very long, as the agent wrote it", () => {
    const [first, second] = filesOf([{ name: "answer.md", text: "another" }], long);
    expect(first).toEqual({
      name: "answer.md",
      mimetype: "text/markdown",
      content: { text: long },
    });
    expect(second?.name).toBe("answer (2).md");
  });

  it("lists the same files for any language, form and attempt", () => {
    const outcome = { type: "answer", text: long, artifacts: [{ text: "x" }] } as const;
    const [plain, again] = [
      sampleTask({
        outcome: { ...outcome, artifacts: [{ text: "x" }] },
        mrkdwnFallback: true,
        locale: "ja",
      }),
      sampleTask({
        outcome: { ...outcome, artifacts: [{ text: "x" }], uploads: [{ failed: true }] },
      }),
    ];
    expect(createOutgoingFiles(plain)).toEqual(createOutgoingFiles(again));
  });

  it("leaves out files that repeat the message or are empty", () => {
    expect(
      filesOf([
        { text: " Here it is.\n" },
        { name: "empty" },
        { text: " " },
        { base64: "" },
        { data: null },
      ]),
    ).toEqual([]);
  });

  it("lists at most twenty files and counts the others", () => {
    const outcome = {
      type: "answer" as const,
      text: "",
      artifacts: Array.from({ length: 23 }, (_, index) => ({ text: `file ${index}` })),
    };
    expect(createOutgoingFiles(sampleTask({ outcome }))).toHaveLength(20);
    expect(listFiles(outcome, false).leftOut).toBe(3);
    // With what did not get as far as the record.
    expect(listFiles({ ...outcome, leftOut: 4 }, false).leftOut).toBe(7);
  });

  it("writes the content of a file only at its upload, not for its name", () => {
    const data = Object.defineProperty({}, "gate", {
      enumerable: true,
      get: () => {
        throw new Error("written");
      },
    });
    const outcome = {
      type: "answer" as const,
      text: "",
      artifacts: Array.from({ length: 30 }, () => ({ data })),
    };
    expect(createOutgoingFiles(sampleTask({ outcome })).map(({ name }) => name)).toContain(
      "file (20).json",
    );
  });

  it("lists no files without an answer", () => {
    expect(createOutgoingFiles(sampleTask())).toEqual([]);
    expect(createOutgoingFiles(sampleTask({ outcome: { type: "refused" } }))).toEqual([]);
  });
});

describe("the name of a file", () => {
  it.each<[Artifact, string]>([
    [{ text: "x" }, "file.txt"],
    [{ base64: "AAAA" }, "file.bin"],
    [{ data: 1 }, "file.json"],
    [{ name: "report", mimetype: "text/csv; charset=utf-8", text: "x" }, "report.csv"],
    [{ name: "report.tar.gz", mimetype: "application/gzip", base64: "AAAA" }, "report.tar.gz"],
    [{ name: "../../etc/passwd", text: "x" }, "passwd.txt"],
    [{ name: "C:\\temp\\a.txt", text: "x" }, "a.txt"],
    [{ name: "..", text: "x" }, "file.txt"],
    [{ name: "a\u0000b\n\u202Egpj.exe", text: "x" }, "abgpj.exe"],
    [{ name: '<a>:"b"|?*`$.md', text: "x" }, "_a___b______.md"],
    [{ name: "報告書.pdf", base64: "AAAA" }, "報告書.pdf"],
    [{ url: "https://files.example/a/%E5%A0%B1%E5%91%8A.pdf?x=1" }, "報告.pdf"],
    [{ url: "https://files.example/" }, "file.bin"],
    [{ name: "chart", url: "https://files.example/x.png" }, "chart.png"],
  ])("names the file %j as %s", (artifact, name) => {
    expect(namesOf([artifact])).toEqual([name]);
  });

  it("gives every file a different name, also in lower case", () => {
    expect(
      namesOf([
        { name: "a.csv", text: "1" },
        { name: "A.CSV", text: "2" },
        { name: "a.csv", text: "3" },
      ]),
    ).toEqual(["a.csv", "A (2).CSV", "a (3).csv"]);
  });

  it("gives safe and unique names, whatever the agent says", () => {
    const artifact = fc.record({
      name: fc.string({ unit: "binary", maxLength: 300 }),
      text: fc.constant("x"),
    });
    forAll(fc.array(artifact, { maxLength: 25 })).hold((artifacts) => {
      const names = namesOf(artifacts);
      for (const name of names) {
        expect(name).toMatch(/^[^/\\<>:"|?*\p{C}]{3,150}$/u);
        expect(name).toMatch(/[^.\s]\.[\p{L}\p{N}]{1,10}$/u);
      }
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
    });
  });
});
