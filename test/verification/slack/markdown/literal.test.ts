import { describe, expect, it } from "@jest/globals";
import { createMrkdwnTree } from "@sekisho/local/page/display-tree.ts";
import type { DisplayNode } from "@sekisho/local/web/display-node.ts";
import { literalMrkdwn } from "@sekisho/verification/slack/markdown/literal.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { mrkdwnText, safeText } from "./as-text.ts";

const lookalikes: Record<string, string> = {
  "\u2217": "*",
  "\u02CD": "_",
  "\u223C": "~",
  "\u02CB": "`",
};

/** Returns the text as a person reads it: with the signs that the lookalikes stand for, and without invisible characters. */
function readSigns(text: string): string {
  return text
    .replace(/[\u2217\u02CD\u223C\u02CB]/g, (sign) => lookalikes[sign] ?? sign)
    .replace(/[\u200B\u2060]/g, "");
}

/** Finds formatting by the loosest rules that Slack could have: from a sign before anything but a blank to any later one. */
function couldFormat(mrkdwn: string): boolean {
  const text = mrkdwn.replace(/<[^<>\n]*>/g, "x");
  if (/`|^(?:>|&gt;)/m.test(text)) return true;
  return ["\\*", "_", "~"].some((sign) =>
    new RegExp(`(?<![a-zA-Z0-9${sign}])${sign}+[^\\s${sign}].*${sign}`).test(text),
  );
}

function readTree(mrkdwn: string): DisplayNode[] {
  return createMrkdwnTree(mrkdwn, (id) => id);
}

const signs = fc.constantFrom("*", "_", "~", "`", "**", "__", "~~", "```", "> ", ">");
const words = fc.constantFrom(
  "a",
  "word",
  "$36k",
  "é",
  "関所",
  "。",
  "(",
  ")",
  ".",
  "5",
  "😀",
  "x_y",
);
const blanks = fc.constantFrom(" ", "  ", "\n");
const texts = fc
  .array(fc.oneof(signs, words, blanks), { maxLength: 20 })
  .map((pieces) => pieces.join(""));

describe("literalMrkdwn", () => {
  it.each([
    ["*a* _b_ ~c~ `d`", "∗a∗ ˍbˍ ∼c∼ ˋdˋ"],
    ["＊a＊ ＿b＿ ｀c｀", "﹡a﹡ ˍbˍ ˋcˋ"],
    ["~$36k to ~$40k", "∼$36k to ∼$40k"],
    ["__init__.py", "ˍˍinitˍˍ.py"],
    ["> quote", "\u2060&gt; quote"],
    ["a < b & c", "a &lt; b &amp; c"],
  ])("replaces the signs of formatting: %j becomes %j", (text, shown) => {
    expect(literalMrkdwn`${text}`).toBe(shown);
  });

  it.each([
    "snake_case_name",
    "~/dir",
    "2 * 3 * 4",
    "5* and 6*",
    "* item",
    "a*b*c",
    "**",
    "_ _",
    "*one\nline*",
  ])("keeps signs that format nothing: %j", (text) => {
    expect(literalMrkdwn`${text}`).toBe(text);
  });

  it("keeps the formatting of the template", () => {
    expect(literalMrkdwn`> ${"a"}: _${"b"}_ *${"c"}*`).toBe("> a: _b_ *c*");
    expect(literalMrkdwn`*${"5*"}* _${"snake_case"}_`).toBe("*5∗* _snake_case_");
  });

  it("shows no formatting and loses no character of any text", () => {
    forAll(texts).hold((text) => {
      const literalText = literalMrkdwn`${text}`;
      expect(couldFormat(literalText)).toBe(false);
      expect(readTree(literalText).filter((node) => typeof node !== "string")).toEqual([]);
      expect(readSigns(readTree(literalText).join(""))).toBe(text);
    }, 1000);
  });

  it("handles a text of any length", () => {
    for (const text of [
      "*".repeat(50_000),
      "* ".repeat(50_000),
      "*a ".repeat(50_000),
      "_\n".repeat(50_000),
    ])
      expect(readSigns(literalMrkdwn`${text}`)).toBe(text);
  });
});

describe("literal signs in Markdown", () => {
  it("never formats escaped signs of Markdown in mrkdwn", () => {
    forAll(texts).hold((text) => {
      // Blanks at the start of a line would make it code.
      const markdown = text.replace(/^ +/gm, "").replace(/[!-/:-@[-`{-~]/g, "\\$&");
      const shown = mrkdwnText(safeText(markdown));
      expect(couldFormat(shown)).toBe(false);
      expect(readTree(shown).filter((node) => typeof node !== "string")).toEqual([]);
    }, 1000);
  });

  it("keeps the formatting around literal signs", () => {
    const formatted = fc.constantFrom("**bold**", "_italic_", "~~gone~~");
    const literal = fc.constantFrom(
      "\\*",
      "\\_",
      "\\~",
      "\\`",
      "\\*x",
      "x\\*",
      "\\_x\\_",
      "~$5",
      "(\\*)",
      "snake_case",
    );
    forAll(fc.array(fc.oneof(formatted, literal), { maxLength: 12 })).hold((pieces) => {
      const mrkdwnTree = readTree(mrkdwnText(safeText(pieces.join(" "))));
      const names = { strong: "**bold**", em: "_italic_", del: "~~gone~~" } as const;
      const nodes = mrkdwnTree.flatMap((node) => (typeof node === "string" ? [] : [node.tag]));
      expect(nodes.map((tag) => names[tag as keyof typeof names])).toEqual(
        pieces.filter((piece) => Object.values<string>(names).includes(piece)),
      );
    }, 500);
  });
});
