import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { mailAround } from "@sekisho/verification/slack/markdown/addresses.ts";
import { inlineTarget } from "@sekisho/verification/slack/markdown/inline-syntax.ts";
import { parseMarkdown, readMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import { createWork } from "@sekisho/verification/slack/markdown/nodes.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { hangMs } from "../../../tooling/hang.ts";
import { mrkdwnText } from "./as-text.ts";
import { fragments } from "./markdown-fragments.ts";

/** As long as two messages: beyond the length at which the constant part of the work counts. */
const length = 20_000;

function repeated(unit: string, size: number): string {
  return unit.repeat(Math.ceil(size / unit.length)).slice(0, size);
}

function steps(text: string): number {
  return readMarkdown({ text, work: createWork(text.length) }).steps;
}

/** Twice the text is at most twice the work. */
function expectLinear(unit: string): void {
  const [once, twice] = [steps(repeated(unit, length)), steps(repeated(unit, 2 * length))];
  expect(twice).toBeLessThanOrEqual(2.2 * once);
  expect(parseMarkdown(repeated(unit, length)).blocks.map(({ type }) => type)).not.toContain(
    "as_written",
  );
}

const slow = [
  ...[
    "&lt;(|a|b|\n|\n|-|\nwww.a.b",
    "[[[[](|a|b|\n|-|-|\n",
    "- a\n  ",
    "> - ",
    "  - a\n    ",
    "*a **b ",
  ],
  ...[
    "*a_ ",
    "**a *b ",
    "~a ~~b ",
    "[a](b ",
    "[a](b '",
    '[a](<b "',
    "[a](((",
    "![[a](b) ",
    "[x]: a 'b\n",
  ],
  ...["[a][", "` `` ``` ", "<a b='", "<!-- ", "<a@b", "a@b."],
  `${"a".repeat(53)}!${"@".repeat(26)}`,
  `${"a".repeat(70)}@${"b".repeat(70)}`,
  ...[
    "www.a ",
    "http://a.",
    "|a|\n|-|\n",
    "a|b\n-|-\n",
    "a\n---\n",
    "    a\n\n",
    "```\n~~~\n",
    "\\",
    "a\n",
  ],
];

describe("the work of reading Markdown", () => {
  it.each(slow)("reads repetitions of %j in steps proportional to their length", expectLinear);

  it("needs steps in proportion to the length, whatever text is repeated", () => {
    const unit = fc
      .array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(""));
    forAll(unit).hold(expectLinear, 60);
  });

  it("does not inspect each character of plain words", () => {
    const words = "word ".repeat(length / 5);
    expect(steps(words)).toBeLessThan(5.1 * length);
  });

  it("stops at its work limit and returns the whole text as it was written", () => {
    const text = "# A *heading*\n\n- one\n- two";
    const work = createWork(text.length);
    work.spend(12_550);
    expect(readMarkdown({ text, work })).toMatchObject({
      blocks: [{ type: "as_written", text }],
      isPartial: true,
    });
  });
});

describe("a mail address in a text", () => {
  const found = (text: string, at = text.indexOf("@")) => {
    const place = mailAround({ text, from: 0, at, work: createWork(text.length) });
    return place && text.slice(place.start, place.end);
  };

  it.each([
    ["ask a.b-c_d+e@f-g.example.", "a.b-c_d+e@f-g.example"],
    ["(mailto:Me@Bank.example)", "mailto:Me@Bank.example"],
    ["xmailto:a@b.c", "mailto:a@b.c"],
    ["関所a@b.c", "a@b.c"],
    ["a!@b.c", undefined],
    ["a@b", undefined],
    ["a@b.c_d", undefined],
    ["@b.c", undefined],
  ])("finds in %j the mail address %j", (text, mail) => {
    expect(found(text)).toBe(mail);
  });

  it("limits the name in a mail address to 64 characters", () => {
    expect(found(`${"a".repeat(100)}@b.c`)).toBe(`${"a".repeat(64)}@b.c`);
  });

  it("does not look for a mail address before the remaining text", () => {
    expect(mailAround({ text: "ab@c.d", from: 1, at: 2, work: createWork(6) })).toEqual({
      start: 1,
      end: 6,
    });
  });

  it.each([
    `${"a".repeat(53)}!${"@".repeat(26)}`,
    `${"a".repeat(70)}@${"b".repeat(70)}`,
    "a@",
    "@",
    "a@b.",
    "a.@-.",
  ])("searches each part of a text once for a mail address: %j", (unit) => {
    const text = repeated(unit, length);
    const work = createWork(text.length);
    for (const { index } of text.matchAll(/@/g)) mailAround({ text, from: 0, at: index, work });
    expect(work.steps()).toBeLessThanOrEqual(3 * text.length);
  });
});

it.each(["", " ", "\t", "\n", " \t\n "])(
  "reads the target of a link with blanks around it: %j",
  (blank) => {
    const href = "https://a.example";
    const title = blank === "" ? "" : "'A title'";
    const text = `(${blank}${href}${blank}${title}${blank})`;
    expect(inlineTarget(text, 0, createWork(text.length))).toEqual({ href, end: text.length });
  },
);

describe("a text that is slow to parse", () => {
  it("shows the whole of a text that makes parsers slow, as plain words if need be", () => {
    forAll(fc.array(fc.constantFrom(...fragments, "word"), { maxLength: 40 })).hold((parts) => {
      const text = parts.join("");
      const words = (said: string) => said.match(/word/g)?.length ?? 0;
      // An address is told once, or in its link and beside it; the name of a definition is not shown.
      if (!text.includes("]:") && !text.includes("<"))
        expect(words(mrkdwnText(text))).toBeGreaterThanOrEqual(
          words(text) -
            parts.filter((part) => part.includes("`") || part.includes("~") || part.includes("("))
              .length,
        );
    }, 200);
  });
});

it("shows texts of 15 to 100 KB that keep a parser busy without growing them", () => {
  const run = () =>
    execFileSync(process.execPath, [join(import.meta.dirname, "children/hostile-texts.ts")], {
      stdio: "pipe",
      timeout: hangMs,
      killSignal: "SIGKILL",
    });
  expect(run).not.toThrow();
});
