import { describe, expect, it } from "@jest/globals";
import { isAmbiguousOrTooDeep } from "@sekisho/runtime/repeated-keys.ts";
import {
  escapeActiveCharacters,
  isNestedTooDeep,
  isTooDeep,
  parseUrl,
  repairHalfCharacters,
  sanitizeLine,
  sanitizeLines,
} from "@sekisho/runtime/untrusted-input.ts";
import fc from "fast-check";
import { forAll } from "../doubles/for-all.ts";

const longHost = "a".repeat(501);

describe("an untrusted URL", () => {
  it.each([
    ["after a scheme", `https://${longHost}/`],
    ["with a path", `http://${longHost}/path?query#fragment`],
    ["without slashes", `https:${longHost}`],
    ["with backslashes", `https:\\\\${longHost}\\a`],
    ["after blanks", `  https://${longHost}/`],
    ["after line breaks in the scheme", `ht\ntps:/\t/${longHost}/`],
    ["of a web socket", `WSS://${longHost}/`],
    ["of a file", `file://${longHost}/`],
    ["after a user", `https://user@${longHost}/`],
  ])("refuses a URL with an oversized host: %s", (_what, address) => {
    expect(URL.parse(address)).not.toBeNull();
    expect(parseUrl(address)).toBeNull();
  });

  it("refuses a relative URL that begins with a host that is too long", () => {
    expect(URL.parse(`//${longHost}/a`, "https://files.example/")).not.toBeNull();
    expect(parseUrl(`//${longHost}/a`, "https://files.example/")).toBeNull();
  });

  it.each([
    ["a host as long as the DNS allows", `https://${"a.".repeat(123)}example/`, undefined],
    ["a host of 500 characters", `https://${"a".repeat(500)}/`, undefined],
    ["a long path", `https://files.example/${longHost}`, undefined],
    ["a long query", `https://files.example?${longHost}`, undefined],
    ["a long relative path", `/${longHost}`, "https://files.example/"],
    ["a mail address", `mailto:somebody@mail.example?body=${longHost}`, undefined],
  ])("parses a URL with %s as usual", (_what, address, base) => {
    expect(parseUrl(address, base)?.href).toBe(new URL(address, base).href);
  });

  it("returns null for a text that is not a URL", () => {
    expect(parseUrl("nowhere")).toBeNull();
  });
});

/** By the Unicode names of what acts, not by the implementation's own expression. */
function isActing(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  const ranges = [
    [0x00, 0x1f],
    [0x7f, 0x9f],
    [0x61c, 0x61c],
    [0x200e, 0x200f],
    [0x2028, 0x202e],
    [0x2066, 0x206f],
    [0xfeff, 0xfeff],
    [0xfff9, 0xfffb],
  ] as const;
  return ranges.some(([first, last]) => first <= code && code <= last);
}

const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\r",
        "\n",
        "\r\n",
        "\t",
        "\u001b[2J",
        "\u009b31m",
        "\u202e",
        "\u2028",
        "a",
        "関",
        "é",
        "👩‍👩‍👧",
      ),
      fc.string(),
    ),
  )
  .map((parts) => parts.join(""));

describe("control and format characters", () => {
  it("removes exactly the active characters from a line", () => {
    forAll(text).hold((value) => {
      expect(sanitizeLine(value)).toBe([...value].filter((one) => !isActing(one)).join(""));
    });
  });

  it("removes active characters from lines except tabs and line ends", () => {
    forAll(text).hold((value) => {
      const sanitizedText = sanitizeLines(value);
      expect(
        [...sanitizedText.replaceAll("\r\n", "\n")].filter(
          (one) => isActing(one) && one !== "\n" && one !== "\t",
        ),
      ).toEqual([]);
      expect(sanitizeLine(sanitizedText)).toBe(sanitizeLine(value));
      expect(sanitizeLines(sanitizedText)).toBe(sanitizedText);
    });
  });

  it("escapes active characters without changing the meaning of the JSON", () => {
    forAll(fc.array(text), fc.constantFrom(undefined, 2)).hold((value, indent) => {
      const escapedJson = escapeActiveCharacters(JSON.stringify(value, undefined, indent));
      expect([...escapedJson].filter((one) => isActing(one) && one !== "\n")).toEqual([]);
      expect(JSON.parse(escapedJson)).toEqual(value);
    });
  });

  it.each([
    ["progress\rdone", "progress\ndone"],
    ["one\r\ntwo\tthree\n", "one\r\ntwo\tthree\n"],
    ["one\u2028two\u2029", "one\ntwo\n"],
    ["seven\veight\fnine\u0085ten", "seven\neight\nnine\nten"],
    ["\u001b]0;title\u0007\u001b[2Jtext", "]0;title[2Jtext"],
    ["invoice\u202efdp.exe", "invoicefdp.exe"],
  ])("shows %j as %j", (value, sanitizedText) => {
    expect(sanitizeLines(value)).toBe(sanitizedText);
  });
});

describe("nested JSON", () => {
  const nest = (levels: number, [open, close]: readonly [string, string]) =>
    `${open.repeat(levels)}"[[{\\"{"${close.repeat(levels)}`;

  it.each([
    ["lists", ["[", "]"] as const],
    ["objects", ['{"a":', "}"] as const],
    ["lists in objects", ['{"a":[1,', "]}"] as const],
  ])("allows exactly a hundred levels of %s", (_what, brackets) => {
    const perTime = brackets[1].length;
    for (const [levels, isDeep] of [
      [100, false],
      [100 + perTime, true],
    ] as const) {
      const json = nest(levels / perTime, brackets);
      const value: unknown = JSON.parse(json);
      expect(isTooDeep(Buffer.from(json))).toBe(isDeep);
      expect(isNestedTooDeep(value)).toBe(isDeep);
      expect(isAmbiguousOrTooDeep({ json, value })).toBe(isDeep);
      const long = json + " ".repeat(16_384);
      expect(isAmbiguousOrTooDeep({ json: long, value })).toBe(isDeep);
    }
  });
});

describe("half a surrogate pair in JSON text", () => {
  it.each([
    ["a first half", String.raw`"a\ud83db"`, "a\ufffdb"],
    ["a second half", String.raw`"\uDE00"`, "\ufffd"],
    ["halves in the wrong order", String.raw`"\ude00\ud83d"`, "\ufffd\ufffd"],
    ["a half before a pair", String.raw`"\ud83d\ud83d\ude00"`, "\ufffd\u{1f600}"],
    ["a half after a backslash", String.raw`"\\\ud83d"`, "\\\ufffd"],
  ])("replaces half a surrogate pair in JSON text: %s", (_what, json, text) => {
    expect(JSON.parse(repairHalfCharacters(json))).toBe(text);
  });

  it("repairs texts and keys in the same way as JavaScript", () => {
    forAll(
      fc.string({ unit: fc.constantFrom("\\", "u", "d83d", "\ud83d", "\ude00", '"', "\n") }),
    ).hold((text) => {
      const repaired = JSON.parse(repairHalfCharacters(JSON.stringify({ [text]: text })));
      expect(repaired).toEqual({ [text.toWellFormed()]: text.toWellFormed() });
    });
  });
});
