/** What is long or acts on a screen is bounded before it is looked at, or taken out before it is shown. */
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { safeMarkdown } from "../../../../lambdas/verification/slack/markdown/safe-markdown.ts";
import { canNameAddress, isNamingOtherAddress } from "../../../../lambdas/verification/slack/markdown/visible-text.ts";
import { shorten } from "../../../../lambdas/verification/slack/messages/blocks.ts";

describe("a long label", () => {
  it("shows the address beside it without being compared word by word", () => {
    expect(isNamingOtherAddress({ label: "word ".repeat(200), address: "https://x.example/" })).toBe(true);
    expect(isNamingOtherAddress({ label: "a word", address: "https://x.example/" })).toBe(false);
    const long = `https://x.example/${"a".repeat(1000)}`;
    expect(isNamingOtherAddress({ label: long, address: long })).toBe(false);
  });
});

describe("the address of a link", () => {
  const parse = jest.spyOn(URL, "parse");
  afterEach(() => {
    parse.mockClear();
  });

  it("is parsed once, however many words the label has", () => {
    const address = "https://x.example/";
    isNamingOtherAddress({ label: "a b ".repeat(100), address: "https://x.example/" });
    isNamingOtherAddress({ label: "a.b ".repeat(100), address });
    expect(parse.mock.calls.filter(([given]) => given === address)).toHaveLength(1);
  });

  it("is shown without being parsed where its host is too long", () => {
    const host = `${"関".repeat(5000)}.example`;
    const shown = safeMarkdown(`[${"a.b ".repeat(120)}](https://${host}/)`);
    expect(shown).toContain(`(https://${encodeURIComponent(host)}/)`);
    expect(parse.mock.calls.filter(([given]) => String(given).length > 600)).toEqual([]);
  });
});

describe("a text with very many marks on a letter", () => {
  it.each([
    ["of two kinds", "\u0301".repeat(20_000) + "\u0323".repeat(20_000)],
    ["that normalization makes", "\u0301\uFF9E".repeat(20_000)],
  ])("counts as an address without being normalized: %s", (_what, marks) => {
    const normalize = jest.spyOn(String.prototype, "normalize");
    expect(canNameAddress(`x${marks}`)).toBe(true);
    expect(normalize).not.toHaveBeenCalled();
    normalize.mockRestore();
    expect(safeMarkdown(`[x${marks}](https://evil.example)`)).toContain("(https://evil.example)");
  });

  it("stays a label with as many as languages use", () => {
    expect(canNameAddress(`x${"\u0301\u0323".repeat(14)}`)).toBe(false);
  });
});

describe("Slack's own notation", () => {
  it.each([10, 1990, 5000])("does nothing with an address of %i more characters", (length) => {
    const written = `<https://evil.example/${"a".repeat(length)}|bank.com>`;
    expect(safeMarkdown(written)).not.toContain(written);
  });
});

it("a shortened text has no character that acts on a screen", () => {
  expect(shorten({ text: "Delete \u202eeverything\u0007\u009b31m", maxLength: 75 })).toBe("Delete everything31m");
});
