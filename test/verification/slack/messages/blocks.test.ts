import { describe, expect, it } from "@jest/globals";
import { cut, shorten } from "../../../../lambdas/verification/slack/messages/blocks.ts";

describe("a text in a block", () => {
  it("stays whole if it fits exactly, and is cut at a line or a word otherwise", () => {
    const fitting = `${"a".repeat(149)} ${"b".repeat(150)}`;
    expect(cut({ text: fitting, maxLength: 300 })).toBe(fitting);
    expect(cut({ text: `${fitting} c`, maxLength: 300 })).toMatch(/^a+( b+)?\n…$/);
  });
});

describe("a text in one line", () => {
  it("stays whole if it fits exactly, and has an ellipsis within the limit otherwise", () => {
    expect(shorten({ text: "a".repeat(10), maxLength: 10 })).toBe("a".repeat(10));
    expect(shorten({ text: "a".repeat(11), maxLength: 10 })).toBe(`${"a".repeat(9)}…`);
    expect(shorten({ text: "one\n two", maxLength: 10 })).toBe("one two");
  });

  it("splits no character", () => {
    expect(shorten({ text: `${"a".repeat(8)}👩‍👧${"b".repeat(9)}`, maxLength: 12 })).toBe(
      `${"a".repeat(8)}…`,
    );
  });
});
