/** A reader takes what touches for one word: an address is not hidden by making links of parts of it. */
import { describe, expect, it } from "@jest/globals";
import { parseMarkdown } from "@sekisho/verification/slack/markdown/markdown.ts";
import { canNameAddress } from "@sekisho/verification/slack/markdown/visible-text.ts";
import fc from "fast-check";
import { lexer, type Token, type Tokens } from "marked";
import { forAll } from "../../../doubles/for-all.ts";
import { mrkdwnText, safeText } from "./as-text.ts";

const evil = "(https://evil.example)";

/** `E` stands for the address. */
const split: readonly (readonly [what: string, markdown: string])[] = [
  ["two links", "[bank]E[.com]E"],
  ["a link for each letter", "[b]E[a]E[n]E[k]E[.]E[c]E[om]E"],
  ["text, then a link", "bank.[com]E"],
  ["a link, then text", "[bank]E.com"],
  ["a link in the middle", "www.[bank]E.com"],
  ["bold text between links", "[ba]E**nk**[.com]E"],
  ["a bold stop", "[bank]E**.**com"],
  ["nested emphasis", "bank.**_[com]E_**"],
  ["struck text", "~~bank.~~[com]E"],
  ["code", "`bank.`[com]E"],
  ["code as the label", "[`bank`]E`.com`"],
  ["images", "![bank]E![.com]E"],
  ["an image, then text", "![bank]E.com"],
  ["an image within a link", "[![bank](https://a.example/i.png)]E.com"],
  ["an entity", "bank&#46;[com]E"],
  ["a named entity", "bank&period;[com]E"],
  ["an unknown entity", "bank&centerdot;[com]E"],
  ["an invisible entity", "[bank]E&#8203;.com"],
  ["an escape", "bank\\.[com]E"],
  ["an HTML tag", "bank.<b></b>[com]E"],
  ["an HTML comment", "bank.<!-- x -->[com]E"],
  ["an HTML line break", "bank.<br>[com]E"],
  ["a blank at the edge of the label", "bank[ .com]E"],
  ["a hair space", "bank.\u200a[com]E"],
  ["a thin space", "bank.\u2009[com]E"],
  ["a zero-width space", "bank.\u200b[com]E"],
  ["a Hangul filler", "bank.\u3164[com]E"],
  ["a tag character", "bank.\u{e0041}[com]E"],
  ["a scheme before the link", "https:[//bank]E"],
  ["slashes before the link", "https://[bank]E"],
  ["a user name before the link", "support@[bank]E"],
  ["a path behind the link", "bank.[com]E/login"],
  ["brackets", "bank(.)[com]E"],
  ["quotes", '"bank."[com]E'],
  ["numbers", "192.0.2.[10]E"],
  ["fullwidth letters", "\uff42\uff41\uff4e\uff4b\uff0e[\uff43\uff4f\uff4d]E"],
  ["a host of Japanese letters", "銀行.[コム]E"],
  ["text written from right to left", "\u2067[com]E.bank\u2069"],
  ["a title", 'bank.[com](https://evil.example "x")'],
  ["brackets around the address", "bank.[com](<https://evil.example>)"],
  ["references", "[bank][x][.com][x]\n\n[x]: https://evil.example"],
  ["a shortcut reference", "bank.[com]\n\n[com]: https://evil.example"],
  ["a heading", "# bank.[com]E"],
  ["an item", "- bank.[com]E"],
  ["a task", "- [ ] bank.[com]E"],
  ["a quote", "> bank.[com]E"],
  ["more text before the link's own host", "my[evil.example]E"],
  ["more text behind the link's own host", "[evil.example]E.bank"],
  ["links to two addresses", "[evil.example]E[/login](https://other.example)"],
];

describe("links that together look like an address", () => {
  it.each(split)(
    "shows the targets of links that together look like an address: %s",
    (_what, written) => {
      const markdown = written.replaceAll("]E", `]${evil}`);
      const safe = safeText(markdown);
      expect(wordsWithLinks(markdown).filter(canNameAddress)).not.toEqual([]);
      expect(wordsWithLinks(safe).filter(canNameAddress)).toEqual([]);
      expect(safe).toMatch(/ \(https:\/\/(?:evil|other)\.example[^)]*\)/);
      expect(safeText(safe)).toBe(safe);
      for (const mrkdwn of [mrkdwnText(markdown), mrkdwnText(safe)]) {
        expect(mrkdwn).not.toMatch(/<https:\/\/evil\.example\|/);
        expect(mrkdwn).toMatch(/\(<?https:\/\/evil\.example/);
      }
    },
  );

  it.each(["[銀行]E。コム", "銀行。[コム]E"])(
    "shows the target of a link beside an ideographic full stop: %s",
    (written) => {
      expect(safeText(written.replaceAll("]E", `]${evil}`))).toMatch(/ \(https:\/\/evil\.example/);
    },
  );

  it("shows where a link in the cell of a table leads", () => {
    const safe = safeText(`|a|b|\n|-|-|\n|bank.[com]${evil} | x|`);
    expect(safe).toBe("|a|b|\n|-|-|\n|bank.com (https://evil.example) | x|");
  });

  it("shows where such links lead, whatever surrounds them", () => {
    const piece = fc.constantFrom(
      ...[
        "bank",
        ".",
        "com",
        ".com",
        "bank.",
        "@",
        "//",
        "&#46;",
        "\\.",
        "\u200b",
        "\u200a",
        "\u2024",
        "。",
        "銀行",
      ],
      ...[
        `[com]${evil}`,
        `[bank]${evil}`,
        `[.]${evil}`,
        `![com]${evil}`,
        "[com][x]",
        "[com]",
        `[ com ]${evil}`,
      ],
      ...["**", "*", "_", "`", "~~", "<b>", "<br>", "[", "]", "(", ")", "\\", " ", "\n", "|"],
      "\n\n[x]: https://evil.example\n\n",
    );
    forAll(fc.array(piece, { maxLength: 12 })).hold((pieces) => {
      expect(wordsWithLinks(safeText(pieces.join(""))).filter(canNameAddress)).toEqual([]);
    }, 2000);
  });

  it("shows where such links lead, however an address was cut into pieces", () => {
    const host = fc.constantFrom(
      ..."bank.com https://bank user@bank.com www.bank.co.uk 192.0.2.10 銀行.コム BANK.COM".split(
        " ",
      ),
      "\u0431\u0430\u043d\u043a.\u0440\u0444",
    );
    const form = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => `[${text}]${evil}`,
      (text) => `![${text}]${evil}`,
      (text) => `[${text}][r]`,
      (text) => `[ **${text}** ]${evil}`,
      (text) => `**[${text}]${evil}**`,
      (text) => `_${text}_`,
      (text) => `\`${text}\``,
      (text) => text.replace(/[^\p{L}\p{N}]/gu, "\\$&"),
      (text) => text.replace(/./gu, (sign) => `&#${sign.codePointAt(0)};`),
    );
    const joint = fc.constantFrom(
      ...[
        "",
        "",
        "\u200b",
        "\u00ad",
        "\u200a",
        "\u202f",
        "\u3164",
        "\ufe0f",
        "\u0378",
        "\u{1d159}",
        "<b></b>",
      ],
      ...["&zwj;"],
    );
    const cuts = fc.array(fc.tuple(fc.nat(20), form, joint), { minLength: 1, maxLength: 5 });
    forAll(
      host,
      cuts,
      fc.constantFrom("", "Go to ", "- ", "「", "は"),
      fc.constantFrom("", ".", " now", "」", "を"),
    ).hold((name, all, before, after) => {
      const letters = [...name];
      const ends = [...new Set(all.map(([at]) => at % letters.length))].sort((a, b) => a - b);
      const pieces = [0, ...ends].map((start, index) =>
        letters.slice(start, ends[index] ?? letters.length).join(""),
      );
      const made = pieces.filter(Boolean).map((piece, index) => {
        const [, wrap, behind] = all[index % all.length] ?? [0, String, ""];
        return wrap(piece) + (index === pieces.length - 1 ? "" : behind);
      });
      const body = `${before}${made.join("")}${after}`;
      const safe = safeText(`${body}\n\n[r]: https://evil.example`);
      expect(safe.replace(/^\[r\]:.*$/m, "")).not.toMatch(/\](?:\(|\[)/);
      for (const text of [`${body}\n\n[r]: https://evil.example`, safe])
        expect(mrkdwnText(text)).not.toMatch(/<https:\/\/evil\.example\|/);
    }, 1500);
  });

  it.each([
    "<https://evil.example|bank><https://evil.example|.com>",
    "bank.<https://evil.example|com>",
  ])("leaves no disguised link in Slack notation: %s", (text) => {
    expect(safeText(text)).not.toMatch(/<https:[^<>\u2060]*\|/);
    expect(mrkdwnText(safeText(text))).not.toMatch(/<https:\/\/[^<>|]*\|(?!https:)/);
  });
});

describe("a link that touches other text", () => {
  it.each([
    "See [docs]E. Then go on.",
    "([docs]E), “[docs]E”: [docs]E!",
    "**Docs:** [docs]E",
    "[docs]E/[api](https://other.example) and [docs]E|[api](https://other.example)",
    "🚀[Deploy]E→[docs]E",
    "Go to https://bank.example, then read [docs]E",
    "Use [package.json]E.",
    "([evil.example]E), [https://evil.example]E.",
    "詳細は[手順]Eを参照。次に[設定]Eを開く。",
    "bank.exampleは銀行です。まず、[手順]Eを見る。",
    "参照：[手順]E、「[設定]E」・「[管理]E」",
    "a.b\n[docs]E",
    "- a.\n- [docs]E",
    "|a.|[docs]E|\n|-|-|\n|a.|[docs]E|",
    "as it says.[1]E[2](https://other.example)",
  ])("keeps a link that touches other text without forming an address: %s", (written) => {
    const markdown = written.replaceAll("]E", `]${evil}`);
    expect(safeText(markdown)).toBe(markdown);
  });
});

describe("the shown address", () => {
  it("ends the shown address before the text that touches the link", () => {
    expect(safeText(`[bank]${evil}.com`)).toBe("bank (https://evil.example ).com");
    expect(safeText(`**[bank.com]${evil}**, or`)).toBe("**bank.com (https://evil.example)**, or");
    expect(safeText(`bank[]${evil}.com`)).toBe("bank https://evil.example .com");
  });

  it("decodes the entities in a shown address", () => {
    const markdown = "[bank.example](https://bank.example&#64;evil.example/?a&amp;#64;b)";
    expect(safeText(markdown)).toBe("bank.example (https://evil.example/?a&amp;#64;b)");
    expect(mrkdwnText(markdown)).toBe("bank.example (<https://evil.example/?a&amp;#64;b>)");
    expect(mrkdwnText(`[\u200b]${evil}`)).toBe("<https://evil.example>");
    expect(mrkdwnText("[a](https://a.example/?a=1&amp;b=2)")).toBe(
      "<https://a.example/?a=1&amp;b=2|a>",
    );
  });
});

describe("a bare address", () => {
  it.each([
    ["a user name", "https://bank.example@evil.example/x", "https://evil.example/x"],
    [
      "a user name in angle brackets",
      "<https://bank.example:443@evil.example/x>",
      "https://evil.example/x",
    ],
    ["an escaped sign", "https://bank.example\\@evil.example/x", "https://evil.example/x"],
    ["an entity", "https://bank.example&#64;evil.example/x", "https://evil.example/x"],
    ["a user name without a scheme", "www.bank.example@evil.example/x", "http://evil.example/x"],
    ["a Cyrillic letter", "https://b\u0430nk.example/x", "https://xn--bnk-6cd.example/x"],
    [
      "a Cyrillic letter at the beginning",
      "https://\u0430pple.example/x",
      "https://xn--pple-43d.example/x",
    ],
    ["an invisible character", "https://bank.\u200bexample/x", "https://bank.example/x"],
    [
      "a fraction slash",
      "https://bank.example\u2044login.evil.example/",
      "https://bank.xn--examplelogin-xk0g.evil.example/",
    ],
    [
      "a division slash",
      "https://bank.example\u2215login.evil.example/",
      "https://bank.xn--examplelogin-ni5g.evil.example/",
    ],
    [
      "a line drawn across",
      "https://bank.example\u2571a.evil.example/",
      "https://bank.xn--examplea-9q3e.evil.example/",
    ],
    [
      "a big slash",
      "https://bank.example\u29f8a.evil.example/",
      "https://bank.xn--examplea-b91f.evil.example/",
    ],
    [
      "a Japanese letter like a slash",
      "https://bank.example\u30cea.evil.example/",
      "https://bank.xn--examplea-b44g.evil.example/",
    ],
    [
      "a Chinese letter like a slash",
      "https://bank.example\u4e3fa.evil.example/",
      "https://bank.xn--examplea-ei0m.evil.example/",
    ],
    [
      "a Chinese radical like a slash",
      "https://bank.example\u2f03a.evil.example/",
      "https://bank.xn--examplea-ei0m.evil.example/",
    ],
    ["a user name of another scheme", "ftp://bank.example@evil.example/x", "ftp://evil.example/x"],
    ["a text that is not an address", "https://bank.example@:x", "https://bank.example%40:x"],
  ])("shows only the real host of a bare address, in ASCII: %s", (_what, written, shown) => {
    expect(safeText(`see ${written} now`)).toBe(`see ${shown} now`);
    expect(safeText(safeText(written))).toBe(safeText(written));
    const link = shown.startsWith("ftp") ? shown : `<${shown}>`;
    for (const text of [written, safeText(written)]) expect(mrkdwnText(text)).toBe(link);
  });

  it.each([
    ["a bare address", "https://bank.example@evil.example/"],
    ["a label that becomes one", "[https://bank.example@evil.example/](https://evil.example)"],
  ])(
    "shows only the real host even if the parser stops reading references: %s",
    (_what, written) => {
      const references = `${"[a] ".repeat(40)}\n\n[a]: https://x.example/${"y".repeat(400)}\n`;
      const safe = safeText(`see ${written} and https://docs.example/\n\n${references}`);
      expect(parseMarkdown(references).isPartial).toBe(true);
      expect(safe).not.toContain("@");
      expect(safe).toMatch(/^see \[?https:\/\/evil\.example\/.* and https:\/\/docs\.example\/\n/);
      expect(safeText(safe)).toBe(safe);
    },
  );

  it("shows the real address even beside an identical label", () => {
    const same = "https://bank.example@evil.example/x";
    expect(safeText(`[${same}](${same})`)).toMatch(/\(https:\/\/evil\.example\/x\)$/);
  });

  it.each([
    "https://日本語.example/関所",
    "https://日本ノ関所.example/",
    "https://docs.example/@user",
    "https://docs.example\u2600\ufe0f and https://docs.example\u{1f389}",
    "（<https://docs.example>）を参照、<https://docs.example>を見る。",
    "ดูที่https://docs.exampleที่นี่",
    "https://docs.example/?q=\u0430",
    "a@b.example",
  ])("keeps a bare address that misleads nobody: %s", (text) => {
    expect(safeText(text)).toBe(text);
  });
});

it("puts no link into the label of another link in mrkdwn", () => {
  expect(mrkdwnText(`[![x](https://bank.example/i.png) y]${evil}`)).toBe(
    "<https://evil.example|x y>",
  );
});

it("leaves no split label for a parser that ends code elsewhere", () => {
  const beside = "and [docs](https://docs.example)";
  expect(safeText(`\`bank.[com]${evil}\` ${beside}`)).toBe(`\`bank.[com] ${evil}\` ${beside}`);
  expect(safeText(`\`[text]${evil}\` ${beside}`)).toBe(`\`[text]${evil}\` ${beside}`);
});

it("leaves no reference with an address as its label for a parser that knows no HTML", () => {
  const safe = safeText("<div>\n[bank.com]\n</div>\n\n[bank.com]: https://evil.example");
  expect(safe).toContain("[bank.com] : https://evil.example");
});

/** As another parser reads them: the words of the text that have a link to the wrong place in them. */
function wordsWithLinks(markdown: string): string[] {
  const found: string[] = [];
  lexer(markdown).forEach(visit);
  return found;

  function visit(token: Token): void {
    if (
      token.type === "paragraph" ||
      token.type === "heading" ||
      (token.type === "text" && "tokens" in token)
    )
      found.push(...linkedText(token.tokens ?? []));
    else if (token.type === "table")
      for (const cell of [token.header, ...token.rows].flat())
        found.push(...linkedText(cell.tokens));
    else if (token.type === "list")
      for (const item of (token as Tokens.List).items) item.tokens.forEach(visit);
    else if ("tokens" in token) token.tokens?.forEach(visit);
  }
}

const linkStart = "\u{f0000}";

function linkedText(tokens: readonly Token[]): string[] {
  const words = shown(tokens).split(/[ \t\n\u3000]+|(?<=[\p{L}ー])。(?=\p{L})/u);
  return words
    .filter((word) => word.includes(linkStart))
    .map((word) => word.replaceAll(linkStart, ""));
}

function shown(tokens: readonly Token[]): string {
  return tokens
    .map((token): string => {
      if (token.type === "html") return "";
      if (token.type === "br") return "\n";
      const inner =
        "tokens" in token && token.tokens !== undefined ? shown(token.tokens) : decoded(token);
      const isNamed = (token.type === "link" || token.type === "image") && /^!?\[/.test(token.raw);
      return isNamed && token.href.includes("evil") ? `${linkStart}${inner.trim()}` : inner;
    })
    .join("");
}

function decoded(token: Token): string {
  const text = "text" in token ? String(token.text) : token.raw;
  return text.replaceAll("&#46;", ".").replaceAll("&period;", ".").replaceAll("&#8203;", "\u200b");
}
