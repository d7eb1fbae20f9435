import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { escapeMrkdwn } from "../../../lambdas/verification/slack/escape.ts";
import { splitAnswer } from "../../../lambdas/verification/slack/split-answer.ts";

const maxLength = 200;

/** What must survive a split: everything but white space and the repair of code blocks. */
function essence(text: string): string {
  return text.replace(/```|\s/g, "");
}

/** Texts as agents write them: prose in two scripts, lists, code blocks, emoji, and whatever else. */
const answers = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "A sekisho was a checkpoint. ",
        "関所とは、街道に設けられた検問所です。",
        "\n\n",
        "\n",
        " ",
        "```\n",
      ),
      fc.constantFrom(
        "- an item\n",
        "const gate = 1;\n",
        "👩‍👩‍👧‍👦",
        "https://example.com/a/long/path?with=query ",
        "word ".repeat(30),
      ),
      fc.string({ unit: "grapheme", maxLength: 80 }).map((text) => text.replaceAll("`", "'")),
      fc.string({ unit: "binary", maxLength: 300 }).map((text) => text.replaceAll("`", "'")),
    ),
    { maxLength: 60 },
  )
  .map((pieces) => pieces.join(""));

describe("splitting an answer", () => {
  it("leaves a text that fits as it is", () => {
    expect(splitAnswer({ text: "A checkpoint.\n\n```\ncode\n```" })).toEqual(["A checkpoint.\n\n```\ncode\n```"]);
  });

  it("makes no part of a text of white space alone", () => {
    expect(splitAnswer({ text: "" })).toEqual([]);
    expect(splitAnswer({ text: " \n\t\n" })).toEqual([]);
  });

  it("makes three parts of 9,999 characters, whatever they are", () => {
    for (const text of [
      "x".repeat(9999),
      "word ".repeat(2000).slice(0, 9999),
      "関所。".repeat(3333),
      `${"line\n".repeat(1999)}line`,
    ]) {
      expect(splitAnswer({ text }).length).toBeLessThanOrEqual(4);
      expect(splitAnswer({ text }).length).toBeGreaterThanOrEqual(3);
    }
  });

  it("cuts between paragraphs rather than between lines", () => {
    const text = `${"a".repeat(140)}\n\n${"b".repeat(20)}\n${"c".repeat(120)}`;
    expect(splitAnswer({ text, maxLength })).toEqual(["a".repeat(140), `${"b".repeat(20)}\n${"c".repeat(120)}`]);
  });

  it("cuts between lines rather than between sentences", () => {
    const text = `${"a".repeat(140)}\nShort. ${"c".repeat(120)}`;
    expect(splitAnswer({ text, maxLength })).toEqual(["a".repeat(140), `Short. ${"c".repeat(120)}`]);
  });

  it("cuts between sentences rather than between words", () => {
    const text = `${"a ".repeat(70)}end. Then ${"b ".repeat(70)}`;
    expect(splitAnswer({ text, maxLength })[0]).toMatch(/end\.$/);
  });

  it("knows where a Japanese sentence ends", () => {
    const text = `${"関".repeat(140)}です。${"所".repeat(140)}`;
    expect(splitAnswer({ text, maxLength })).toEqual([`${"関".repeat(140)}です。`, "所".repeat(140)]);
  });

  it("closes a code block that it has to cut, and opens it again", () => {
    const code = Array.from({ length: 40 }, (_, line) => `  line ${line}`).join("\n");
    const parts = splitAnswer({ text: `Look:\n\`\`\`\n${code}\n\`\`\`\nDone.`, maxLength });
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) expect((part.match(/```/g) ?? []).length % 2).toBe(0);
    expect(parts[1]).toMatch(/^```\n {2}line \d+/);
    expect(parts.at(-1)).toMatch(/Done\.$/);
  });

  it("cuts before a code block rather than within it", () => {
    const text = `${"a".repeat(140)}\n\`\`\`\n${"b\n".repeat(60)}\`\`\``;
    expect(splitAnswer({ text, maxLength })[0]).toBe("a".repeat(140));
  });

  it("keeps characters of several code points whole", () => {
    const family = "👩‍👩‍👧‍👦";
    for (const part of splitAnswer({ text: family.repeat(100), maxLength }))
      expect(part.replaceAll(family, "")).toBe("");
  });

  it("keeps an escaped character whole", () => {
    for (const part of splitAnswer({ text: escapeMrkdwn("<".repeat(500)), maxLength })) {
      expect(part.replaceAll("&lt;", "")).toBe("");
    }
  });

  it("keeps every part within the bound and never cuts a surrogate pair", () => {
    fc.assert(
      fc.property(answers, (text) => {
        for (const part of splitAnswer({ text, maxLength })) {
          expect(part.length).toBeLessThanOrEqual(maxLength);
          expect(part.trim()).not.toBe("");
          expect(part.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("loses nothing but white space, and changes no order", () => {
    fc.assert(
      fc.property(answers, (text) => {
        expect(essence(splitAnswer({ text, maxLength }).join(""))).toBe(essence(text));
      }),
      { numRuns: 300 },
    );
  });

  it("makes at most twice as many parts as the length needs", () => {
    fc.assert(
      fc.property(answers, fc.integer({ min: 200, max: 4000 }), (text, length) => {
        const needed = Math.ceil(text.length / length);
        expect(splitAnswer({ text, maxLength: length }).length).toBeLessThanOrEqual(2 * needed);
      }),
      { numRuns: 300 },
    );
  });

  it("takes no nicer place that would leave a part short", () => {
    const block = `${"p".repeat(20)}\n\n${"l".repeat(60)}\n${"x".repeat(185)} `;
    const text = block.repeat(20);
    expect(splitAnswer({ text, maxLength }).length).toBeLessThanOrEqual(2 * Math.ceil(text.length / maxLength));
  });

  it("takes hostile texts in its stride", () => {
    for (const text of [
      "`".repeat(5000),
      "``` ".repeat(2000),
      `${"\n".repeat(9000)}x`,
      " x".repeat(9000),
      `e${"\u0301".repeat(9000)}`,
    ]) {
      const parts = splitAnswer({ text, maxLength });
      expect(parts.length).toBeLessThanOrEqual(2 * Math.ceil(text.length / maxLength) + 1);
      for (const part of parts) expect(part.length).toBeLessThanOrEqual(maxLength);
    }
  });
});
