import { describe, expect, it } from "@jest/globals";
import { escapeMrkdwn } from "@sekisho/verification/slack/markdown/characters.ts";
import { parseMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import { mrkdwnBlocks } from "@sekisho/verification/slack/markdown/mrkdwn.ts";
import { walkBlocks } from "@sekisho/verification/slack/markdown/nodes.ts";
import { safeMarkdown } from "@sekisho/verification/slack/markdown/safe-markdown.ts";
import { splitMarkdown } from "@sekisho/verification/slack/markdown/safe-parts.ts";
import {
  maxMarkdownLength,
  maxMrkdwnLength,
  splitBlocks,
} from "@sekisho/verification/slack/markdown/split.ts";
import { sourceBlocks } from "@sekisho/verification/slack/markdown/text-blocks.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { createStepCounter, findGrowth } from "../../../lab/campaign/count-steps.ts";
import { splitDrawnText, splitText } from "./as-text.ts";
import { fragments } from "./markdown-fragments.ts";

const maxLength = 200;

/** What must survive a split: everything but white space and the repair of code blocks. */
function essence(text: string): string {
  return text.replace(/```\w*|\s/g, "");
}

const blocks = [
  ...[
    "word ".repeat(30),
    "text",
    "\n",
    "\n\n",
    "## A heading\n",
    "> a quoted line\n",
    "> - ",
    "---\n",
  ],
  ...["- an item\n", "  - a nested item\n", "1. a step\n", "    more of it\n", "`code` **bold**"],
  ...[
    "```ts\n",
    "```\n",
    "  ```\n",
    "| a | b |\n|---|---|\n| one | two |\n",
    "<div>\nx\n</div>\n\n",
  ],
];

/** Texts as agents write them: prose in two scripts, lists, code blocks, emoji, and whatever else. */
const answers = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "A sekisho was a checkpoint. ",
        ...[
          "関所とは、街道に設けられた検問所です。",
          "\n\n",
          "\n",
          " ",
          "\n## What it was\n",
          "\n```\n",
          "\n```ts\n",
        ],
      ),
      fc.constantFrom(
        "- an item\n",
        "1. a step\n",
        "const gate = 1;\n",
        "👩‍👩‍👧‍👦",
        "**bold words** and [a link](https://example.com/a)",
        "https://example.com/a/long/path?with=query ",
        "word ".repeat(30),
      ),
      fc.string({ unit: "grapheme", maxLength: 80 }).map((text) => text.replaceAll("`", "'")),
      fc.string({ unit: "binary", maxLength: 300 }).map((text) => text.replaceAll("`", "'")),
    ),
    { maxLength: 60 },
  )
  // A table's header may be told twice: tables have their own property.
  .map((pieces) => pieces.join("").replaceAll("|", "/").replaceAll("~", "-"));

describe("splitting an answer", () => {
  it("leaves a text that fits as it is", () => {
    const markdown = parseMarkdown("A checkpoint.\n\n\n```\ncode\n```");
    expect([...splitMarkdown({ markdown, maxLength })]).toEqual([markdown]);
  });

  it("keeps a block that fills a message in one part", () => {
    const filling = `\`\`\`\n${"x".repeat(maxLength - 8)}\n\`\`\``;
    expect(filling).toHaveLength(maxLength);
    expect(splitText({ text: `Before.\n\n${filling}`, maxLength })).toEqual(["Before.", filling]);
  });

  it("ends a part after a line that fills it", () => {
    const filling = `${"a".repeat(99)} ${"b".repeat(100)}`;
    expect(filling).toHaveLength(maxLength);
    expect(splitText({ text: `${filling}\nAfter.`, maxLength })).toEqual([filling, "After."]);
  });

  it("splits a character that is longer than a part between its code points", () => {
    const text = `e${"\u0301".repeat(3 * maxLength)}`;
    expect(splitText({ text, maxLength }).join("")).toBe(text);
  });

  it("makes no part of a text that is only white space", () => {
    expect(splitText({ text: "", maxLength })).toEqual([]);
    expect(splitText({ text: ` \n\t\n${"\n".repeat(500)}`, maxLength })).toEqual([]);
  });

  it("makes one part with blocks and three parts in mrkdwn of 9,999 characters", () => {
    for (const text of [
      "x".repeat(9999),
      "word ".repeat(2000).slice(0, 9999),
      "関所。".repeat(3333),
      `${"line\n".repeat(1999)}line`,
    ]) {
      expect(splitText({ text, maxLength: maxMarkdownLength })).toHaveLength(1);
      expect(splitText({ text, maxLength: maxMrkdwnLength })).toHaveLength(3);
    }
  });

  it("cuts between paragraphs rather than between lines", () => {
    const text = `${"a".repeat(140)}\n\n${"b".repeat(20)}\n${"c".repeat(120)}`;
    expect(splitText({ text, maxLength })).toEqual([
      "a".repeat(140),
      `${"b".repeat(20)}\n${"c".repeat(120)}`,
    ]);
  });

  it("starts a paragraph in a part that would stay almost empty without it", () => {
    const text = `The gate of Hakone.\n\n${"A sentence. ".repeat(16).trimEnd()}`;
    expect(splitText({ text, maxLength })[0]).toMatch(
      /^The gate of Hakone\.\n\n(A sentence\. )+A sentence\.$/,
    );
  });

  it("starts no paragraph in the last few lines of a part", () => {
    const text = `${"a".repeat(170)}\n\n${"A sentence. ".repeat(30).trimEnd()}`;
    expect(splitText({ text, maxLength })[0]).toBe("a".repeat(170));
  });

  it("cuts between lines rather than between sentences", () => {
    const text = `${"a".repeat(140)}\nShort. ${"c".repeat(120)}`;
    expect(splitText({ text, maxLength })).toEqual(["a".repeat(140), `Short. ${"c".repeat(120)}`]);
  });

  it("cuts between sentences rather than between words", () => {
    const text = `${"a ".repeat(70)}end. Then ${"b ".repeat(70)}`;
    expect(splitText({ text, maxLength })[0]).toMatch(/end\.$/);
  });

  it("recognizes the end of a Japanese sentence", () => {
    const text = `${"関".repeat(140)}です。${"所".repeat(140)}`;
    expect(splitText({ text, maxLength })).toEqual([`${"関".repeat(140)}です。`, "所".repeat(140)]);
  });

  it("keeps the items of a list whole if they fit", () => {
    const text = Array.from(
      { length: 12 },
      (_, item) => `- item ${item}\n  with a second line. And more.`,
    ).join("\n");
    for (const part of splitText({ text, maxLength }))
      expect(part).toMatch(/^- item (.|\n)*more\.$/);
  });

  it("keeps a heading with the text below it", () => {
    const text = `${"a".repeat(150)}\n\n## The gate\n\n${"b".repeat(100)}`;
    expect(splitText({ text, maxLength })).toEqual([
      "a".repeat(150),
      `## The gate\n\n${"b".repeat(100)}`,
    ]);
  });

  it("cuts no link, no code and no emphasis that fits", () => {
    const link = "[the gate of Hakone on the map](https://example.com/hakone)";
    for (let before = 100; before < 200; before += 7) {
      const parts = splitText({
        text: `${"a ".repeat(before / 2)}${link} **two words** ${"b ".repeat(80)}`,
        maxLength,
      });
      expect(parts.filter((part) => part.includes(link))).toHaveLength(1);
      expect(parts.filter((part) => part.includes("**two words**"))).toHaveLength(1);
    }
  });

  it("cuts between links without blanks", () => {
    const markdown = parseMarkdown("[a](https://b.example)".repeat(30));
    for (const blocks of [sourceBlocks(markdown), mrkdwnBlocks(markdown)]) {
      const parts = [...splitBlocks({ blocks, maxLength })];
      expect(parts.length).toBeGreaterThan(2);
      for (const { text } of parts)
        expect(text).toMatch(/^(?:\[a\]\(https:\/\/b\.example\)|<https:\/\/b\.example\|a>)+$/);
    }
  });

  it("closes a code block at a cut and opens it again with its language", () => {
    const code = Array.from({ length: 40 }, (_, line) => `  line ${line}`).join("\n");
    const parts = splitText({ text: `Look:\n\`\`\`ts\n${code}\n\`\`\`\nDone.`, maxLength });
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect((part.match(/```/g) ?? []).length % 2).toBe(0);
    expect(parts[1]).toMatch(/^```ts\n {2}line \d+/);
    expect(parts.at(-1)).toMatch(/Done\.$/);
  });

  it("adds no empty line if only the first line of a code block fits", () => {
    const [first = "", second = ""] = splitText({
      text: `\`\`\`\n${"a".repeat(50)}\n${"b".repeat(180)}\n\`\`\``,
      maxLength,
    });
    expect(first).toBe(`\`\`\`\n${"a".repeat(50)}\n\`\`\``);
    expect(second).toBe(`\`\`\`\n${"b".repeat(180)}\n\`\`\``);
  });

  it("closes a code block that the text leaves open", () => {
    const parts = splitText({ text: `\`\`\`\n${"code\n".repeat(60)}`, maxLength });
    for (const part of parts) expect(part).toMatch(/^```\n(code\n)+```$/);
  });

  it("cuts before a code block rather than within it", () => {
    const text = `${"a".repeat(140)}\n\`\`\`\n${"b\n".repeat(60)}\`\`\``;
    expect(splitText({ text, maxLength })[0]).toBe("a".repeat(140));
  });

  it("shows a very long header only once and keeps every part in the fence", () => {
    const header = `| ${"h".repeat(40)} | ${"n".repeat(40)} |\n|---|---|`;
    const rows = Array.from({ length: 100 }, (_, row) => `| row ${row} | n |`).join("\n");
    const parts = splitDrawnText({ text: `${header}\n${rows}`, maxLength });
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.join("\n").split("h".repeat(40))).toHaveLength(2);
    for (const part of parts) expect(part).toMatch(/^```\n(.|\n)*\n```$/);
  });

  it("repeats the header of a table that it cuts, drawn or in a fence", () => {
    const rows = Array.from({ length: 100 }, (_, row) => `| row ${row} | ${row} |`);
    const text = ["| name | n |", "|---|--:|", ...rows].join("\n");
    const written = splitText({ text, maxLength });
    const drawn = splitDrawnText({ text, maxLength });
    for (const part of written)
      expect(part).toMatch(/^\| name \| n \|\n\|---\|--:\|\n(\| row \d+ \| \d+ \|\n?)+$/);
    for (const part of drawn)
      expect(part).toMatch(/^```\nname +\| +n\n-+\+-+\n(row \d+ +\| +\d+\n)+```$/);
    for (const parts of [written, drawn])
      expect(parts.join("\n").match(/row \d+/g)).toEqual(rows.map((_, row) => `row ${row}`));
  });

  it("keeps every row once and in order, however long rows are", () => {
    const cell = fc
      .string({ unit: "grapheme-ascii", maxLength: 120 })
      .map((text) => text.replace(/[|`\s]/g, "-"));
    forAll(fc.array(cell, { minLength: 1, maxLength: 40 })).hold((cells) => {
      const text = [
        "| header | n |",
        "|---|---|",
        ...cells.map((word, row) => `| ${word} | =${row}= |`),
      ].join("\n");
      const parts = splitText({ text, maxLength });
      const numbers = [...parts.join("\n").matchAll(/\| =(\d+)= \|/g)].map((match) =>
        Number(match[1]),
      );
      expect(numbers).toEqual(cells.map((_, row) => row));
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(maxLength);
    });
  });

  it("keeps characters of several code points whole", () => {
    const family = "👩‍👩‍👧‍👦";
    for (const part of splitText({ text: family.repeat(100), maxLength }))
      expect(part.replaceAll(family, "")).toBe("");
  });

  it.each([200, 201, 202, 203])("keeps an escaped character whole, in parts of %d", (length) => {
    for (const part of splitText({ text: escapeMrkdwn("<".repeat(500)), maxLength: length }))
      expect(part.replaceAll("&lt;", "")).toBe("");
  });

  it.each([200, 201, 202, 203])(
    "cuts an endless character but no surrogate pair, in parts of %d",
    (length) => {
      const text = "👩\u200D".repeat(500);
      const parts = splitText({ text, maxLength: length });
      expect(parts.join("")).toBe(text);
      for (const part of parts) expect(part.isWellFormed()).toBe(true);
    },
  );

  it("keeps every part within the limit and never cuts a surrogate pair", () => {
    forAll(answers).hold((text) => {
      for (const part of splitText({ text, maxLength })) {
        expect(part.length).toBeLessThanOrEqual(maxLength);
        expect(part.trim()).not.toBe("");
        expect(part.isWellFormed()).toBe(true);
      }
    }, 300);
  });

  it("loses only white space and keeps the order", () => {
    forAll(answers).hold((text) => {
      expect(essence(splitText({ text, maxLength }).join("\n"))).toBe(essence(text));
    }, 300);
  });

  it("makes at most about twice as many parts as the length needs", () => {
    forAll(answers, fc.integer({ min: 300, max: 4000 })).hold((text, length) => {
      const needed = Math.ceil(text.length / length);
      expect(splitText({ text, maxLength: length }).length).toBeLessThanOrEqual(2 * needed + 1);
    }, 300);
  });

  it("splits hostile texts into few parts within the limit", () => {
    for (const text of [
      "`".repeat(5000),
      "``` ".repeat(2000),
      "```\n".repeat(2000),
      `\`\`\`${"x".repeat(5000)}`,
      `${"\n".repeat(9000)}x`,
      " x".repeat(9000),
      "x\n\n".repeat(3000),
      "| a |\n|---|\n".repeat(1000),
      `|${"a|".repeat(3000)}\n|${"-|".repeat(3000)}\n|b|`,
      "# h\n".repeat(2000),
      "<".repeat(9000),
      "[".repeat(9000),
      `e${"\u0301".repeat(9000)}`,
    ]) {
      const parts = splitText({ text, maxLength });
      expect(parts.length).toBeLessThanOrEqual(2 * Math.ceil(text.length / maxLength) + 1);
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(maxLength);
    }
  });
});

describe("parts of the tree", () => {
  const show = (value: unknown) =>
    JSON.stringify(value, (key, entry) =>
      key === "place" || key === "at" || key === "isApart" || key === "isClosed"
        ? undefined
        : typeof entry === "string"
          ? entry.trimEnd()
          : entry,
    );

  it("each part has the nodes that a parser reads in it, and they are still safe", () => {
    const pieces = fc.array(fc.constantFrom(...blocks, ...fragments), { maxLength: 60 });
    forAll(pieces, fc.integer({ min: 200, max: 600 })).hold((texts, length) => {
      const safe = safeMarkdown(texts.join(""));
      if (safe.definitionEnds.length > 0) return;
      for (const { text, nodes } of splitBlocks({
        blocks: sourceBlocks(safe),
        maxLength: length,
      })) {
        if (nodes === undefined) continue;
        expect(show(parseMarkdown(text).blocks)).toBe(show(nodes));
        expect(safeMarkdown(text).text).toBe(text);
      }
    }, 300);
  });

  it("keep every word, in order", () => {
    const texts = fc.array(fc.constantFrom(...blocks), { maxLength: 60 });
    const wordsOf = (text: string) => text.match(/[a-z]+/gi);
    forAll(texts).hold((written) => {
      const text = written.join("").replaceAll("```ts", "```").replaceAll("|", "/");
      expect(wordsOf(splitText({ text, maxLength }).join("\n"))).toEqual(wordsOf(text));
    }, 300);
  });

  it("continue a quote that has to be cut", () => {
    for (const part of splitText({ text: `> ${"word ".repeat(100)}\n> end`, maxLength }))
      expect(parseMarkdown(part).blocks.map(({ type }) => type)).toEqual(["quote"]);
  });

  it("close and open code in a list or quote again", () => {
    const lines = (indent: string) => `${indent}a line of code\n`.repeat(30);
    for (const text of [
      `- Look:\n  \`\`\`ts\n${lines("  ")}  \`\`\`\n- Done.`,
      `- \`\`\`ts\n${lines("  ")}`,
      `> \`\`\`ts\n${lines("> ")}`,
      `>- \`\`\`ts\n${lines(">   ")}>   \`\`\``,
      `>>1. \`\`\`ts\n${lines(">>    ")}`,
    ]) {
      const parts = splitText({ text, maxLength });
      expect(parts.length).toBeGreaterThan(2);
      for (const part of parts) {
        const code = walkBlocks(parseMarkdown(part).blocks).filter(({ type }) => type === "code");
        expect(code).toEqual([expect.objectContaining({ lang: "ts" })]);
        expect(code).toEqual([
          expect.objectContaining({ fence: { marks: "```", isClosed: true } }),
        ]);
      }
    }
  });

  it("show text of a nested list as text, where a part begins with it", () => {
    const text = `1. one\n${"    - a nested item\n\n      with more\n".repeat(20)}`;
    const parts = splitText({ text, maxLength });
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts)
      expect(walkBlocks(parseMarkdown(part).blocks).map(({ type }) => type)).not.toContain("code");
  });

  it("keep code in a later item of the list, where a part begins with indented text", () => {
    const fence = "- ```ts\n  code\n  ```\n\n  more";
    for (const text of [
      `- one\n\n  ${"word ".repeat(35)}\n\n  ${"more ".repeat(10)}\n\n${fence}`,
      `- one\n  - two\n\n    ${"word ".repeat(35)}\n\n    ${"more ".repeat(10)}\n\n${fence}`,
    ]) {
      const end = splitText({ text, maxLength }).at(-1) ?? "";
      expect(end).toMatch(/^more/);
      expect(end).toContain(fence);
    }
  });
});

describe("the work of splitting", () => {
  it.each<[title: string, unit: string, start?: string]>([
    ["one line", "a"],
    ["short lines", "a\n"],
    ["short lines of code", "a\n", "```\n"],
    ["empty lines of code", "\n", "```\n"],
    ["a long line of blanks in code", " ", "```\n"],
    ["paragraphs", "a\n\n"],
    ["a list", "- a\n"],
    ["nested lists and quotes", "- > - a\n"],
    ["rows of a table", "|a|b|\n|-|-|\n|c|d|\n"],
    ["fences", "```\na\n```\n"],
    ["fences in a list", "- ```\n"],
    ["an open fence", "```\n\n\n"],
    ["blanks before text", `${" ".repeat(1000)}a\n\n`],
  ])("splits a text in steps proportional to its length: %s", (_title, unit, start = "") => {
    const counter = createStepCounter({
      isSource: (url) => /markdown\/(?:split|cut|text-blocks|tables)\.ts/.test(url),
    });
    const doublings = [16_000, 32_000, 64_000].map((length) =>
      counter.count(() =>
        splitDrawnText({
          text: `${start}${unit.repeat(length / unit.length)}a`,
          maxLength: 3000,
        }),
      ),
    );
    counter.close();
    expect(findGrowth({ doublings, maxGrowth: 2.5, minSteps: 20_000 })).toEqual([]);
  });
});
