import { describe, expect, it } from "@jest/globals";
import { safeMarkdown } from "../../../../lambdas/verification/slack/markdown/safe-markdown.ts";
import { hasVisibleText } from "../../../../lambdas/verification/slack/markdown/visible-text.ts";
import { createTaskText } from "../../../../lambdas/verification/slack/messages/task-text.ts";
import { askedAtMs, sampleTask } from "../../task/sample.ts";

const text = createTaskText({ locale: "en" });
const nothing: readonly (readonly [what: string, text: string])[] = [
  ["a mark that turns the direction", "\u202e"],
  ["zero-width characters", "\u200b\u200d\ufeff\u2060"],
  ["blanks of other kinds", "\u00a0\u3000\u2028\u2800"],
  ["a letter that is drawn as nothing", "\u3164"],
  ["combining marks alone", "\u0301\u0302"],
  ["variation selectors", "\ufe0f\ufe0f"],
  ["a lone link definition", "[a]: http://x"],
  ["empty code fences", "```\n```\n".repeat(1500)],
  ["fences of blanks", "```\n \n\u200b\n```"],
  ["an HTML comment", "<!-- nothing -->"],
  ["an HTML comment over several messages", `<!-- ${"never shown ".repeat(2000)} -->`],
  ["an HTML comment that does not end", `<!-- ${"never shown\n\n".repeat(1000)}`],
  ["5,001 empty headings", "#\n".repeat(5001)],
  ["blanks as entities", "&nbsp;&#8203;&#x200B; &nbsp;"],
  ["blanks as named entities", "&zwnj;&shy;&ensp;&emsp;&thinsp;&zwj;&lrm;&rlm;&Tab;"],
  ["line breaks in HTML", "<br>\n<br/> <BR />"],
  ["an empty heading", "#"],
  ["empty list items", "- \n- \n* "],
  ["rules", "---\n\n***"],
  ["a table without cells", "| | |\n|-|-|\n| | |"],
  ["an empty quote", "> \n> "],
  ["a link of nothing", "[]()"],
  ["an image of nothing", "![]()"],
];
const something: readonly string[] = [
  "a",
  "関所",
  "🏯",
  "42.",
  "**",
  "☑",
  "•",
  "~",
  "`",
  "────",
  "\\*",
  "?",
  "`x`",
  "```\nx\n```",
  "- x",
  "> x",
  "&amp;",
  "<b></b>",
  "https://example.com",
  "[x](https://example.com)",
  "| a |\n|-|\n| |",
  "[](https://example.com)",
  "![](https://example.com/a.png)",
  "[\u200b](https://example.com)",
];

describe("an answer of which nobody would see anything", () => {
  it.each(nothing)("is told in words, with blocks and without: %s", (_what, shown) => {
    for (const form of [{}, { mrkdwnFallback: true as const }]) {
      const task = sampleTask({ outcome: { type: "answer", text: shown, artifacts: [{ text: "x" }] }, ...form });
      const [part, ...others] = text.parts(task);
      expect(others).toEqual([]);
      expect(part?.text).toMatch(/^The agent answered with a file\./);
      expect(JSON.stringify(part?.blocks ?? part?.text)).toMatch(/answered with a file/);
    }
  });

  it("is told in words after a retry too", () => {
    const task = sampleTask({ outcome: { type: "answer", text: "\u202e" }, retryOf: "7d1c2b3a", mrkdwnFallback: true });
    expect(text.parts(task)[0]?.text).toMatch(/^_Tried again.*_\nThe agent answered, but without any text\./);
  });

  it("is told in words where it is so long that it becomes a file", () => {
    const task = sampleTask({ outcome: { type: "answer", text: "\u200b ".repeat(40_000) } });
    expect(text.parts(task).map((part) => part.text)).toEqual(["The agent answered with a file."]);
  });
});

describe("words of ours in place of an answer", () => {
  it("fit into an edit, whatever the files are called that could not be attached", () => {
    const artifacts = Array.from({ length: 20 }, (_, n) => ({ name: `${"&".repeat(99)}${n}`, text: "x" }));
    const uploads = artifacts.map(() => ({ failed: true as const }));
    for (const form of [{}, { mrkdwnFallback: true as const }]) {
      const task = sampleTask({ outcome: { type: "answer", text: "", artifacts, uploads }, ...form });
      const [part] = text.parts(task);
      expect(part?.text.length).toBeLessThanOrEqual(4000);
      expect(JSON.stringify(part)).toContain("Reference");
    }
  });
});

describe("an answer of which somebody sees something", () => {
  it.each(something)("is shown: %s", (shown) => {
    expect(hasVisibleText(safeMarkdown(shown))).toBe(true);
    for (const form of [{}, { mrkdwnFallback: true as const }]) {
      const parts = text.parts(sampleTask({ outcome: { type: "answer", text: shown }, ...form }));
      expect(parts).toHaveLength(1);
      expect(parts[0]?.text).not.toMatch(/^The agent answered/);
      // The answer itself, not only the reference below it.
      expect(parts[0]?.text).toMatch(/^(?!_Reference)\S/);
    }
  });

  it("shows nothing of a comment that does not fit into a message", () => {
    const comment = `<!-- ${"never shown\n\n".repeat(2000)} -->`;
    const shown = `first\n\n${comment}\n\n> quoted ${comment.replaceAll("\n", " ")}\n\n\`<!-- code -->\` last`;
    const parts = text.parts(sampleTask({ outcome: { type: "answer", text: shown } }));
    expect(JSON.stringify(parts)).not.toContain("never shown");
    expect(JSON.stringify(parts)).toMatch(/first.*quoted.*<!-- code -->.*last/);
  });

  it("has no part of which nobody sees anything", () => {
    const shown = `first\n\n${"```\n```\n".repeat(4000)}\n\nlast`;
    for (const form of [{}, { mrkdwnFallback: true as const }]) {
      const parts = text.parts(sampleTask({ outcome: { type: "answer", text: shown }, ...form }));
      expect(parts.length).toBeLessThanOrEqual(2);
      expect(parts[0]?.text).toMatch(/^first/);
      expect(parts.at(-1)?.text).toMatch(/last/);
    }
  });
});

describe("what is asked and told on the way", () => {
  it.each(nothing)("has words of ours where nobody would see anything: %s", (_what, unseen) => {
    const question = {
      index: 0,
      prompt: unseen,
      options: [{ id: unseen, label: unseen }],
      askedAtMs,
      expiresAtMs: askedAtMs + 1000,
    };
    const asked = text.question({ task: sampleTask({ state: "asking", question }), nowMs: askedAtMs });
    expect(asked.text).toMatch(/^The agent needs an answer to go on\./);
    const [, actions] = asked.blocks ?? [];
    expect(JSON.stringify(actions)).not.toMatch(/"text":"[\s\p{C}\p{M}\p{Z}\u3164\u2800]*"/u);
    const progress = { text: unseen, partialText: unseen, shownAtMs: askedAtMs };
    const { text: words, blocks = [] } = text.placeholder(sampleTask({ state: "waiting", progress }));
    expect(words).toMatch(/\p{L}/u);
    expect(blocks.map(({ type }) => type)).not.toContain("markdown");
  });
});
