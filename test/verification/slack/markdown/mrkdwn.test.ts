import { describe, expect, it } from "@jest/globals";
import { safeMarkdown } from "@sekisho/verification/slack/markdown/safe-markdown.ts";
import { splitMarkdown } from "@sekisho/verification/slack/markdown/safe-parts.ts";
import { maxMarkdownLength } from "@sekisho/verification/slack/markdown/split.ts";
import { displayWidth } from "@sekisho/verification/slack/markdown/tables.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { drawnText, mrkdwnText, safeText, splitDrawnText } from "./as-text.ts";

const space = "\u200B";

describe("Markdown as mrkdwn", () => {
  it.each([
    ["**bold** and __bold__", "*bold* and *bold*"],
    ["*italic* and _italic_", "_italic_ and _italic_"],
    ["~~gone~~", "~gone~"],
    ["**bold with _italic_ in it**", "*bold with _italic_ in it*"],
    ["`a < b`", "`a &lt; b`"],
    ["# A **heading**", "*A heading*"],
    ["A heading\n===", "*A heading*"],
    ["[label](https://a.example/?b=1&c=2)", "<https://a.example/?b=1&amp;c=2|label>"],
    ["https://a.example", "<https://a.example>"],
    ["<https://a.example>", "<https://a.example>"],
    ["[r][1]\n\n[1]: https://a.example", "<https://a.example|r>"],
    ["[x](javascript:alert)", "x (javascript:alert)"],
    ["![A gate](https://a.example/gate.png)", "<https://a.example/gate.png|A gate>"],
    ["![](https://a.example/gate.png)", "<https://a.example/gate.png>"],
    ["\\*no emphasis\\*", "∗no emphasis∗"],
    ["from ~$36k to ~$40k", "from ∼$36k to ∼$40k"],
    ["\\_private\\_ and \\`code\\`", "ˍprivateˍ and ˋcodeˋ"],
    ["snake_case_name, 2 * 3 * 4, 5\\* and ~/dir", "snake_case_name, 2 * 3 * 4, 5* and ~/dir"],
    ["**bold \\*x\\***", "*bold ∗x∗*"],
    ["**bold**\\*", `*bold*${space}∗`],
    ["# 5\\* hotel", "*5∗ hotel*"],
    ["[my \\_label\\_](https://a.example/_a_)", "<https://a.example/_a_|my ˍlabelˍ>"],
    [
      "https://a.example/_a and https://a.example/~b",
      "<https://a.example/_a> and <https://a.example/~b>",
    ],
    ["`_a_` and \\_b\\_", "`_a_` and ˍbˍ"],
    ["\\> not quoted", "\u2060&gt; not quoted"],
    ["AT&amp;T &copy; &#169;", "AT&amp;T &amp;copy; ©"],
    ["one\\\ntwo<br>three", "one\ntwo\nthree"],
    ["one\n\ntwo\nthree", "one\n\ntwo\nthree"],
    ["one\n| a |\n|---|\n| 1 |", "one\n```\na\n---\n1\n```"],
    ["a\n\n---\n\nb", "a\n\n────────────\n\nb"],
    ["> said\n> > before", "> said\n> > before"],
    ["- one\n- two\n  - three", "• one\n• two\n    ◦ three"],
    ["3. three\n4. four", "3. three\n4. four"],
    ["- [x] done\n- [ ] to do", "☑ done\n☐ to do"],
    ["- one\n\n  more of it", "• one\nmore of it"],
    ["```ts\nconst a = 1 < 2;\n```", "```\nconst a = 1 &lt; 2;\n```"],
    ["- ```\n  code\n  ```", "• \n```\ncode\n```"],
    ["Hello <!channel> & <@U1>", "Hello &lt;!channel&gt; &amp; &lt;@U1&gt;"],
    ["<details>x</details>", "&lt;details&gt;x&lt;/details&gt;"],
  ])("renders %j as %j", (markdown, mrkdwn) => {
    expect(mrkdwnText(safeText(markdown))).toBe(mrkdwn);
  });

  it("separates emphasis from adjacent letters, since Slack would show the asterisks", () => {
    expect(mrkdwnText("これは**太字**です。")).toBe(`これは${space}*太字*${space}です。`);
    expect(mrkdwnText("（**太字**）")).toBe("（*太字*）");
  });

  it("formats each line separately, because Slack formats no further", () => {
    expect(mrkdwnText("**two\nlines**")).toBe("*two*\n*lines*");
  });

  it("does not let code end its own fence", () => {
    for (const marks of ["```", "````", "``````", "`".repeat(100)]) {
      const text = mrkdwnText(`~~~\n${marks}\ninner\n${marks}\n~~~`);
      expect(text.match(/```/g)).toHaveLength(2);
      expect(text).toContain("inner");
    }
  });

  it("aligns the columns of a table and counts Japanese letters as two wide", () => {
    const text = mrkdwnText(
      "| 名前 | n | note |\n|:--|--:|:-:|\n| 箱根関所 | 10 | **x** |\n| a | 2 | [l](https://a.example) |",
    );
    expect(text.split("\n")).toEqual([
      "```",
      "名前     |   n | note",
      "---------+-----+-----",
      "箱根関所 |  10 |  x",
      "a        |   2 |  l",
      "```",
    ]);
    expect(
      new Set(
        text
          .split("\n")
          .slice(1, -1)
          .map((line) => displayWidth(line.split("|")[0]?.split("+")[0] ?? "")),
      ),
    ).toEqual(new Set([9]));
  });

  it("allows an agent only text and links that show where they lead", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ...[
          "<",
          ">",
          "&",
          "!channel",
          "@U1",
          "|",
          "[a](",
          ")",
          "`",
          "```\n",
          "\n",
          "- ",
          "> ",
          "**",
        ],
        ...["https://a.example", "&lt;"],
      ),
      fc.string({ unit: "grapheme", maxLength: 5 }),
    );
    forAll(fc.array(piece, { maxLength: 25 })).hold((pieces) => {
      const text = mrkdwnText(safeText(pieces.join("")));
      const withoutLinks = text
        .replace(/<(?:https?|mailto|tel):[^<>|\s]*(?:\|[^<>]*)?>/gi, "")
        .replace(/^(?:> ?)+/gm, "");
      expect(withoutLinks).not.toMatch(/</);
      expect(withoutLinks).not.toMatch(/&(?!(?:amp|lt|gt);)/);
    }, 500);
  });

  it("keeps every word", () => {
    const word = fc.stringMatching(/^[a-z]{3,8}$/);
    const block = fc.oneof(
      fc
        .tuple(fc.constantFrom("# ", "## ", "", "> ", "- ", "1. ", "  - "), word)
        .map(([mark, text]) => mark + text),
      fc
        .tuple(fc.constantFrom("**", "_", "~~", "`"), word)
        .map(([mark, text]) => `a ${mark}${text}${mark} b`),
      fc.tuple(word, word).map(([head, cell]) => `\n| ${head} | x |\n|---|---|\n| ${cell} | y |\n`),
      fc.tuple(word, word).map(([first, second]) => `\n\`\`\`\n${first}\n${second}\n\`\`\`\n`),
    );
    forAll(fc.array(block, { maxLength: 15 }), fc.constantFrom("\n", "\n\n")).hold(
      (blocks, joint) => {
        const markdown = blocks.join(joint);
        const words = (text: string) => text.match(/[a-z]{3,}/g) ?? [];
        expect(words(mrkdwnText(markdown))).toEqual(words(markdown));
      },
      300,
    );
  });

  it("renders hostile texts without dropping much of them", () => {
    for (const text of [
      ">".repeat(20_000),
      "[".repeat(11_000),
      `|${"a|".repeat(5000)}\n|${"-|".repeat(5000)}\n${"|b|\n".repeat(5000)}`,
    ])
      expect(mrkdwnText(safeText(text)).length).toBeGreaterThan(text.length / 2);
  });
});

const table = (name: string, rows = 1) =>
  [
    `| ${name} | n |`,
    "|---|---|",
    ...Array.from({ length: rows }, (_, row) => `| a | ${row} |`),
  ].join("\n");

const rule = /^\|---\|---\|$/gm;

describe("tables in an answer", () => {
  it("keeps the only table of an answer", () => {
    const text = `Look:\n\n${table("gate")}\n\nDone.`;
    expect(drawnText(text)).toBe(text);
  });

  it("keeps one table per message and fences the others, since Slack draws only one", () => {
    const text = drawnText([table("gate"), "between", table("road"), table("post")].join("\n\n"));
    expect(text.match(rule)).toHaveLength(1);
    expect(text).toContain("| gate | n |");
    expect(text).toContain("```\nroad | n\n-----+----\na    | 0\n```");
  });

  it("keeps at most one table per message in an answer of many messages", () => {
    const prose = "A sekisho was a checkpoint on a highway. ".repeat(60);
    const text = Array.from(
      { length: 20 },
      (_, index) => `${prose}\n\n${table(`t${index}`, 30)}`,
    ).join("\n\n");
    const parts = splitDrawnText({ text, maxLength: maxMarkdownLength });
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) expect((part.match(rule) ?? []).length).toBeLessThanOrEqual(1);
    expect(parts.join("\n").match(rule)?.length).toBeGreaterThan(1);
  });

  it.each([
    ["more than a hundred rows", table("gate", 100)],
    ["more than twenty columns", `|${"a|".repeat(21)}\n|${"-|".repeat(21)}\n|${"b|".repeat(21)}`],
    ["more than ten thousand characters", `${table("gate")}\n| ${"x".repeat(9_500)} | 1 |`],
  ])("fences a table with %s", (_, text) => {
    expect(drawnText(text)).toMatch(/^```\n/);
  });

  it("fences a table with a row of too many cells and keeps all cells", () => {
    expect(drawnText("| a | b |\n|---|---|\n| 1 | 2 | third | [x](https://c.d) |\n| 3 |")).toBe(
      "```\na   | b\n----+----\n1   | 2   | third | x\n3\n```",
    );
    const empty = "| a | b |\n|---|---|\n| 1 | 2 | |\n| 1 | 2 ||";
    expect(drawnText(empty)).toBe(empty);
  });

  it("ignores what only looks like a table or stands in code", () => {
    for (const text of ["a | b", "```\n| a |\n|---|\n```", "> | a |\n> |---|"]) {
      const twice = `${table("gate")}\n\n${text}`;
      expect(drawnText(twice)).toBe(twice);
    }
  });

  it.each([
    ["bold text", "<**!channel**>"],
    ["code", "<`@U1`>"],
    ["an entity", "&amp;lt;!channel>"],
    ["an entity of a direction mark", "&amp;#8238;"],
    ["cells that fill a message", "<**!channel**> ".repeat(700)],
  ])("shows no Slack notation that was hidden by %s", (_title, cell) => {
    const text = `| a |\n|---|\n| ${cell} | further |`;
    const parts = [...splitMarkdown({ markdown: safeMarkdown(text), maxLength: 8000 })];
    expect(parts.map((part) => part.text).join("\n")).toContain("further");
    for (const part of parts) expect(safeText(part.text)).toBe(part.text);
  });

  it("grows fenced tables only in proportion to their text", () => {
    const text = `${table("first")}\n\n| a | b |\n|---|---|\n| ${"x".repeat(5000)} | y |\n${"| z | z |\n".repeat(500)}`;
    expect(drawnText(text).length).toBeLessThan(text.length * 10);
  });
});
