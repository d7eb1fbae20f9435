/** Unicode's own list of characters that look like a full stop, a colon, a slash or a backslash. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { isNamingOtherAddress } from "@sekisho/verification/slack/markdown/visible-text.ts";

const file = readFileSync(join(import.meta.dirname, "confusables.txt"), "utf8");
const rows = [...file.matchAll(/^([0-9A-F]+) ;\t([0-9A-F ]+) ;/gm)].map(
  ([, source = "", target = ""]) => {
    const read = (codes: string) =>
      codes.split(" ").map((code) => String.fromCodePoint(Number.parseInt(code, 16)));
    return { code: source, sign: read(source).join(""), looksLike: read(target).join("") };
  },
);
const target = "https://evil.example/login";

/** The signs that a reader takes for this one, by their code points. */
function signsLike(looks: RegExp): { code: string; sign: string }[] {
  return rows.filter(({ looksLike }) => looks.test(looksLike));
}

/** Letters that look like a low dot, a colon or a comma. Unicode does not list them. */
const unlisted = ["\u02cc", "\u02cd", "\u02ce", "\u02cf", "\u1c79", "\u1c7a"].map((sign) => ({
  code: sign,
  sign,
}));

describe("a sign that Unicode lists as confusable", () => {
  const dots = signsLike(/\./);
  const colons = signsLike(/^:/);
  const slashes = signsLike(/^[/\\]+$/);

  it("lists the confusable signs of Unicode 17", () => {
    expect([dots.length, colons.length, slashes.length]).toEqual([35, 20, 30]);
  });

  it("detects a label that any confusable dot makes look like a host", () => {
    const missed = [...dots, ...unlisted].filter(({ sign }) =>
      [`bank${sign}example`, `b\u0430nk${sign}example`, `\u9280\u884c${sign}\u30b3\u30e0`].some(
        (label) => !isNamingOtherAddress({ label, address: target }),
      ),
    );
    expect(missed).toEqual([]);
  });

  it("detects a label that confusable signs make look like an address with a scheme", () => {
    const missed = [
      ...[...colons, ...unlisted].flatMap(({ code, sign }) =>
        [`https${sign}bank`, `https${sign}//bank`].map((label) => ({ code, label })),
      ),
      ...slashes.map(({ code, sign }) => ({ code, label: `https:${sign}${sign}bank` })),
    ].filter(({ label }) => !isNamingOtherAddress({ label, address: target }));
    expect(missed).toEqual([]);
  });

  it("detects a confusable sign that seems to end the host of a bare address", () => {
    const missed = [...colons, ...slashes].filter(({ sign }) => {
      const address = `https://bank.example${sign}login.evil.example`;
      // An address that no browser opens misleads nobody.
      return URL.canParse(address) && !isNamingOtherAddress({ label: address, address });
    });
    expect(missed).toEqual([]);
  });

  it("accepts labels that name no address", () => {
    for (const label of [
      "ʻOkina",
      "Hawaiʻi",
      "ᱥᱟᱱᱛᱟᱲᱤ ᱟᱹᱰᱤ",
      "คนๆ OK",
      "اـلسلام",
      "データー",
      "人々",
      "いすゞ",
      "d’accord ʼn",
      "Maˇ",
    ]) {
      expect({ label, other: isNamingOtherAddress({ label, address: target }) }).toEqual({
        label,
        other: false,
      });
    }
  });
});
