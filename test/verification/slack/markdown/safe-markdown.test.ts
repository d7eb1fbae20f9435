import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { decodeEntities, removeJoiners } from "@sekisho/verification/slack/markdown/characters.ts";
import { exposeLinkTargets } from "@sekisho/verification/slack/markdown/safe-markdown.ts";
import {
  canNameAddress,
  isNamingOtherAddress,
} from "@sekisho/verification/slack/markdown/visible-text.ts";
import { shorten } from "@sekisho/verification/slack/messages/blocks.ts";
import fc from "fast-check";
import { lexer, walkTokens } from "marked";
import { forAll } from "../../../doubles/for-all.ts";
import { mrkdwnText, safeText } from "./as-text.ts";

/** What Slack takes for more than text, however it is spelled. */
const live = /(?:<|&lt;|&#60;|&#x3c;)\\?(?:[@#!]\w|https?:[^\s<>]*\|)/i;

describe("an agent's Markdown", () => {
  it.each([
    "<!channel>",
    "<!here|here>",
    "<!subteam^S1>",
    "<!date^0^{date}|now>",
    "<@U012AB3CD>",
    "<@U012AB3CD|somebody>",
    "<#C012AB3CD>",
    ...["`<https://evil.example|bank>`", "\\<https://evil.example|bank>", "<slack://evil|bank>"],
    ...["&lt;!channel&gt;", "&#60;!channel>", "&#x3C;@U012AB3CD>", "<\\!channel>", "`<!channel>`"],
    ...["```\n<!channel>\n```", "> <!here>"],
  ])("disarms the Slack notation %s", (text) => {
    expect(text).toMatch(live.test(text) ? live : /slack:/);
    expect(safeText(text)).not.toMatch(live);
    expect(safeText(text).replaceAll("\u2060", "")).toBe(text);
  });

  it.each([
    "<!&#99;hannel>",
    ..."<&#33;channel> <&excl;here> <!&#x68;ere> <@&#85;012AB3CD> <&#64;U012AB3CD>".split(" "),
    ..."<&commat;U012AB3CD> <&num;C012AB3CD> <#&#67;012AB3CD> &lt;!&#99;hannel&gt;".split(" "),
    "&#60;&#33;&#99;&#104;annel&#62;",
    "&LT;!channel&GT;",
    "<!\\channel>",
    "<h&#116;tps://evil.example|https://bank.example>",
    "<&#104;ttps://evil.example|https://bank.example>",
    "<https&#58;//evil.example|https://bank.example>",
    "<https&colon;//evil.example|bank>",
    "<https://evil.example&#124;bank>",
    "<https://evil.example&vert;bank>",
    "<!subteam&#94;S1>",
  ])("disarms Slack notation that is partly written as an entity: %s", (text) => {
    const safe = safeText(text);
    expect(safe).toMatch(/^(?:<|&lt;|&#60;)\u2060/i);
    expect(safe.replaceAll("\u2060", "")).toBe(text);
    expect(decodeEntities(decodeEntities(safe))).not.toMatch(/<[@#!\w]/);
  });

  it("disarms notifications, whatever surrounds them", () => {
    const piece = fc.constantFrom(
      ...["<", "!", "channel", "@U1", "#C1", ">", "|", "&lt;", "\\", "`", "[", "](", ")", " "],
      ...["https://a.example"],
    );
    forAll(fc.array(piece, { maxLength: 20 })).hold((pieces) => {
      expect(safeText(pieces.join(""))).not.toMatch(live);
    }, 500);
  });

  it.each([
    ["<https://a.example/b|the docs>", "[the docs](https://a.example/b)"],
    ["**<https://a.example|docs>**", "**[docs](https://a.example)**"],
    ["<https://a.example/?a=1&amp;b=2|x>", "[x](https://a.example/?a=1&amp;b=2)"],
    ["<https://a.example/Foo_(bar)|Foo>", "[Foo](https://a.example/Foo_\\(bar\\))"],
    ["<https://a.example|a [b] `c>", "[a \\[b\\] \\`c](https://a.example)"],
    ["<https://a.example| >", "<https://a.example>"],
    ["<mailto:a@b.example|write us>", "[write us](mailto:a@b.example)"],
    ["<tel:+8112345678|call>", "[call](tel:+8112345678)"],
    ["!<https://a.example|x>", "!\u2060[x](https://a.example)"],
    ["| a |\n|---|\n| <https://a.example|x> |", "| a |\n|---|\n| [x](https://a.example) |"],
    [
      "`<https://a.example|x>` <https://a.example|y>",
      "`<\u2060https://a.example|x>` [y](https://a.example)",
    ],
    ["```\n<https://a.example|x>\n```", "```\n<\u2060https://a.example|x>\n```"],
    ["<https://evil.example|https://bank.example>", "https://bank.example (https://evil.example)"],
    ["<mailto:a@evil.example|b@bank.example>", "b@bank.example (mailto:a@evil.example)"],
    ["bank.<https://evil.example|example>", "bank.example (https://evil.example)"],
  ])("converts a link in Slack notation to Markdown: %j", (text, markdown) => {
    expect(safeText(text)).toBe(markdown);
  });

  it.each([
    ["詳細は https://a.example/b。次の文", "https://a.example/b", "。次の文"],
    ["https://a.example/b、次", "https://a.example/b", "、次"],
    ["（https://a.example/b）次", "https://a.example/b", "）次"],
    ["「https://a.example/b」次", "https://a.example/b", "」次"],
    ["https://a.example/b：次", "https://a.example/b", "：次"],
    ["https://a.example/b？次", "https://a.example/b", "？次"],
    ["https://a.example/b…", "https://a.example/b", "…"],
    ["“https://a.example/b”", "https://a.example/b", "”"],
    ["(https://a.example/b)。次", "https://a.example/b", ")。次"],
    ["https://a.example/b_(c)。次", "https://a.example/b_(c)", "。次"],
    ["https://a.example/bを参照", "https://a.example/b", "を参照"],
    ["https://a.example/を参照", "https://a.example/", "を参照"],
    ["https://a.example/b를 보세요", "https://a.example/b", "를 보세요"],
    ["https://a.example/b,请看", "https://a.example/b", ",请看"],
    ["https://ja.example/wiki/東京。次", "https://ja.example/wiki/東京", "。次"],
    ["https://日本語.jp/?q=大阪&x=1#概要。次", "https://日本語.jp/?q=大阪&x=1#概要", "。次"],
    ["https://a.example/%E6%9D%B1。次", "https://a.example/%E6%9D%B1", "。次"],
    ["https://a.example/?a=1&amp;copy;=2。次", "https://a.example/?a=1&amp;copy;=2", "。次"],
    ["https://a.example/b|c。次", "https://a.example/b%7Cc", "。次"],
    ["www.a.example/b。次", "http://www.a.example/b", "。次"],
    ["https://bank.example。evil.example/", "https://bank.example", "。evil.example/"],
  ])("ends a bare address where the sentence continues: %j", (text, address, behind) => {
    const safe = safeText(text);
    expect(safe).toContain(`<${address}>${behind}`);
    const shown = mrkdwnText(safe);
    expect(shown).toContain(`<${decodeEntities(address).replaceAll("&", "&amp;")}>${behind}`);
  });

  it.each([
    ["**https://a.example/b**です", "*<https://a.example/b>*"],
    ["は**https://a.example/b**です", "*<https://a.example/b>*"],
    ["~~https://a.example/b~~です", "~<https://a.example/b>~"],
    ["は*https://a.example/b*です", "_<https://a.example/b>_"],
    ["**詳細: https://a.example/b**です", "*詳細: <https://a.example/b>*"],
    ["_https://a.example/b_。次", "_<https://a.example/b>_"],
  ])("keeps the emphasis around a bare address: %j", (text, mrkdwn) => {
    expect(mrkdwnText(safeText(text))).toContain(mrkdwn);
  });

  it.each([
    "https://ja.wikipedia.org/wiki/東京 と",
    "https://example.com/日本語/ページ",
    "https://example.com/?q=東京&r=大阪#概要",
    "https://日本語.jp/東京　次",
    "https://en.wikipedia.org/wiki/Foo_(bar)",
    "https://example.com/__init__.py, https://example.com/~user/*.js.",
    "(https://example.com/foo) [https://example.com/foo]",
    "<https://example.com/foo。bar> [x](https://example.com/foo。bar) `https://example.com/foo。`",
    "a@b.example、次",
  ])("keeps a complete bare address unchanged: %j", (text) => {
    expect(safeText(text)).toBe(text);
  });

  it("writes bare addresses so that every parser ends them at the same place", () => {
    const piece = fc.constantFrom(
      ...[
        "https://a.example",
        "/b",
        "東京",
        "ページ",
        "を",
        "。",
        "、",
        "（",
        "）",
        "」",
        "，",
        "：",
        "…",
        "”",
        "次",
        "가",
      ],
      ...[
        "?q=",
        "&",
        "#",
        "%E6",
        "(",
        ")",
        ".",
        ",",
        "!",
        "**",
        "~~",
        "__",
        "*",
        "_",
        " ",
        "　",
        "a",
        "1",
        "|",
        "www.a.example",
      ],
    );
    forAll(fc.array(piece, { maxLength: 12 })).hold((pieces) => {
      const safe = safeText(`x ${pieces.join("")}`);
      for (const [, target = ""] of mrkdwnText(safe).matchAll(/<(https?:[^<>|]*)/g))
        expect(target).not.toMatch(/[。、（）」，：…”]/);
      expect(addressesOf(safe).filter((address) => /[。、（）」，：…”]/.test(address))).toEqual([]);
      expect(safeText(safe)).toBe(safe);
    }, 1000);
  });

  it.each([
    "[https://bank.example](https://evil.example)",
    "[README.md](https://git.example/README.md)",
    "[bank.example/login](https://evil.example)",
    "[**www.bank.example**](https://evil.example)",
    "[Log in at https://bank.example](https://evil.example)",
    "[https://bank.example](<https://evil.example>)",
    '[https://bank.example](https://evil.example "the bank")',
    "[https://bank.example](https://bank.example.evil.example)",
    "[https://bank.example/a](https://bank.example/b)",
    "[https://bank。example](https://evil.example)",
    "[ｈｔｔｐｓ://bank.example/](https://evil.example)",
    "![https://bank.example](https://evil.example/a.png)",
    "[see [https://bank.example]](https://evil.example)",
    "<div>[https://bank.example](https://evil.example)</div>",
    "[https://bank.example][1]\n\n[1]: https://evil.example",
    "[https://bank.example]\n\n[https://bank.example]: https://evil.example",
    "[https://bank.example][]\n\n> [https://bank.example]: https://evil.example",
  ])("shows the target of a link with a misleading label: %s", (text) => {
    const [first = ""] = safeText(text).split("\n");
    expect(first).toMatch(/ \(https:\/\/[a-z.]+(example)?[^)]*\)/);
    expect(first).not.toMatch(/\]\(|\]\[/);
  });

  it.each([
    "[the docs](https://docs.example/a)",
    "[https://docs.example](https://docs.example/a?b=c)",
    "[docs.example](https://www.docs.example/)",
    "[index.html](https://git.example/index.html)",
    "[v1.2.3 notes](https://git.example/releases)",
    "[1]: https://docs.example",
    "<https://docs.example>",
    "<!DOCTYPE html> <!-- note --> <b>bold</b> a < b && c > d",
    "<https://docs.example/?a=1&vertical=2> and <a@b.example>",
    "List<String> x = a[0](b)",
  ])("keeps text that misleads nobody: %s", (text) => {
    expect(safeText(text)).toBe(text);
  });

  it("removes the signs that reverse the direction of text", () => {
    expect(safeText("https://evil.example/\u202Egpj.exe")).toBe("https://evil.example/gpj.exe");
  });

  it("makes text bold that Markdown would leave between asterisks for lack of blanks", () => {
    expect(mrkdwnText(safeText("これは**「関所」**です。"))).toMatch(
      /^これは\s\*「関所」\*\sです。$/,
    );
    expect(mrkdwnText(safeText("ここは**（関所）**"))).toMatch(/^ここは\s\*（関所）\*$/);
    for (const text of ["これは**関所**です。", "a**(b)**c", "**「関所」**", "2 ** 3、4 ** 5"])
      expect(safeText(text)).toBe(text);
  });

  it("restores the typed text when its joiners are removed", () => {
    expect(removeJoiners(safeText("<!channel> <@U1>"))).toBe("<!channel> <@U1>");
  });
});

/** The bare addresses as the other parser reads them. */
function addressesOf(markdown: string): string[] {
  const found: string[] = [];
  void walkTokens(lexer(markdown), (token) => {
    if (token.type === "link" && token.raw === token.text) found.push(String(token.text));
  });
  return found;
}

/** The labels of all links that lead to the wrong place, as the parser by itself reads them. */
function labelsToEvil(markdown: string): string[] {
  const labels: string[] = [];
  void walkTokens(lexer(markdown), (token) => {
    const isNamed = (token.type === "link" || token.type === "image") && /^!?\[/.test(token.raw);
    if (isNamed && token.href.includes("evil.example")) labels.push(token.text);
  });
  return labels;
}

const label = "https://bank.example";

const disguised = [
  `[${label}](https://evil.example/(a)(b))`,
  `[${label}](https://evil.example/((a)))`,
  `[${label} [x [y]]](https://evil.example)`,
  `[${label}](<https://evil.example/a b>)`,
  `[${label}](\nhttps://evil.example)`,
  `[${label}](https://evil.example 'a\nb')`,
  `[${label}\\]](https://evil.example)`,
  `[${label}](https://evil.example/${"a".repeat(3000)})`,
  `[x]:\nhttps://evil.example\n\n[${label}][x]`,
  `- [x]: https://evil.example\n\n[${label}][x]`,
  `> see [${label}](\n> https://evil.example)`,
  `- see [${label}\n  again](https://evil.example)`,
  `[![${label}](https://a.example/i.png)](https://evil.example)`,
  `\`[${label}](https://evil.example)\` and [${label}](https://evil.example)`,
  `a|b\n-|-\n[${label}](https://evil.example)|\\|`,
  "[https&#58;//bank.example](https://evil.example)",
  "[bank&#46;example](https://evil.example)",
  "[bank&period;example](https://evil.example)",
  "[bank&mldr;example](https://evil.example)",
  "[bank.exam<b></b>ple](https://evil.example)",
  "[bank。example](https://evil.example)",
  "[https:⁄⁄bank.example](https://evil.example)",
  "[https://evil.example or https://bank.example](https://evil.example)",
];

const titled = disguised.map((markdown) => [markdown.slice(0, 60), markdown]);

describe("a link with a misleading label", () => {
  it.each(titled)(
    "removes a Markdown link whose label is another address: %s",
    (_, markdown = "") => {
      const safe = safeText(markdown);
      expect(labelsToEvil(markdown)).not.toEqual([]);
      expect(labelsToEvil(safe)).toEqual([]);
      expect(safe).toMatch(/evil\.example/);
      expect(safeText(safe)).toBe(safe);
    },
  );

  it.each(titled)(
    "removes a link whose label is another address from mrkdwn, before or after sanitizing: %s",
    (_, markdown = "") => {
      for (const text of [markdown, safeText(markdown)])
        expect(mrkdwnText(text)).not.toMatch(
          /<https:\/\/evil\.example[^<>]*\|[^<>]*(?:bank|again)/,
        );
    },
  );

  it.each([
    ["a plain address", "good.example"],
    ["an address that is a link itself", "https://good.example"],
    ["an address without a scheme", "www.good.example"],
    ["the address of a person", "kim@good.example"],
    ["an address in pointed brackets", "<https://good.example>"],
    ["words with an address", "see https://good.example"],
  ])(
    "leaves no syntax that another parser may read as a link, with %s as the label",
    (_what, label) => {
      // CommonMark takes no such target.
      expect(exposeLinkTargets(`[${label}](https://evil.example x y)`).text).toBe(
        `[${label}] (https://evil.example x y)`,
      );
    },
  );

  it("leaves no link whose label is another address, whatever surrounds it", () => {
    const piece = fc.constantFrom(
      ...[
        "[",
        "]",
        "(",
        ")",
        "](",
        "![",
        "][",
        "]: ",
        "<",
        ">",
        "\\",
        "`",
        "```\n",
        "\n",
        "\n\n",
        " ",
        "> ",
      ],
      ...["- ", "|", "\n-|-\n"],
      ...["x", "**", "*", "'", '"', "&#58;", "<div>", "<b>"],
      label,
      ...[
        "bank.example",
        "b\u0430nk.example",
        "user@bank",
        "bank&#46;example",
        "~~~\n",
        "    ",
        "1. ",
        "``",
      ],
      ...["\\[", "<!--", "-->", "</div>", "# ", "\n===\n", "https://evil.example"],
      "[x]: https://evil.example\n\n",
      ...[`[${label}](https://evil.example)`, `[${label}][x]`],
    );
    forAll(fc.array(piece, { maxLength: 30 })).hold((pieces) => {
      const labels = labelsToEvil(safeText(pieces.join("")));
      expect(
        labels.filter((said) =>
          isNamingOtherAddress({ label: said, address: "https://evil.example" }),
        ),
      ).toEqual([]);
    }, 1500);
  });

  it("leaves no link syntax if an address is repeated too often to read all links", () => {
    const definition = `[x]: https://docs.example/${"a".repeat(30_000)}`;
    const { text: safe } = exposeLinkTargets(
      `[${label}](https://evil.example) ${"[x] ".repeat(10)}[${label}][x]\n\n${definition}`,
    );
    expect(safe).toContain(`[${label}] (https://evil.example)`);
    expect(safe).toContain(`[${label}] [x]`);
    expect(safe).toContain("[x] : https");
  });
});

describe("a link without a misleading label", () => {
  it.each([
    "[設定の手順。](https://docs.example)",
    "[AT&amp;T](https://att.example)",
    "[https://docs.example/a](https://docs.example/a?x=1&y=2)",
    "see [docs][1]\n\n[1]: https://docs.example",
    "```\n[https://bank.example](https://evil.example)\n```",
    "`[https://bank.example](https://evil.example)`",
    "a[0](b) and a[0][1] and x[1:]: y",
    "| a | b |\n|---|---|\n| [docs](https://docs.example) | x\\|y |",
    "\ttabs\tand trailing blanks  \n\n\n- a\n\n  b\n",
  ])("keeps a link whose label names no other address: %s", (markdown) => {
    expect(exposeLinkTargets(markdown).text).toBe(markdown);
  });
});

describe("a long label", () => {
  it("treats a long label as misleading without comparing it word by word", () => {
    expect(
      isNamingOtherAddress({ label: "word ".repeat(200), address: "https://x.example/" }),
    ).toBe(true);
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

  it("parses the address of a link once, however many words the label has", () => {
    const address = "https://x.example/";
    isNamingOtherAddress({ label: "a b ".repeat(100), address: "https://x.example/" });
    isNamingOtherAddress({ label: "a.b ".repeat(100), address });
    expect(parse.mock.calls.filter(([given]) => given === address)).toHaveLength(1);
  });

  it("shows an address whose host is too long without parsing it", () => {
    const host = `${"関".repeat(5000)}.example`;
    const shown = safeText(`[${"a.b ".repeat(120)}](https://${host}/)`);
    expect(shown).toContain(`(https://${encodeURIComponent(host)}/)`);
    expect(parse.mock.calls.filter(([given]) => String(given).length > 600)).toEqual([]);
  });
});

describe("a text with very many marks on a letter", () => {
  it.each([
    ["of two kinds", "\u0301".repeat(20_000) + "\u0323".repeat(20_000)],
    ["produced by normalization", "\u0301\uFF9E".repeat(20_000)],
  ])(
    "treats a text with very many combining marks as an address without normalizing it: %s",
    (_what, marks) => {
      const normalize = jest.spyOn(String.prototype, "normalize");
      expect(canNameAddress(`x${marks}`)).toBe(true);
      expect(normalize).not.toHaveBeenCalled();
      normalize.mockRestore();
      expect(safeText(`[x${marks}](https://evil.example)`)).toContain("(https://evil.example)");
    },
  );

  it("keeps a label with as many marks as languages use", () => {
    expect(canNameAddress(`x${"\u0301\u0323".repeat(14)}`)).toBe(false);
  });
});

describe("Slack's own notation", () => {
  it.each([10, 1990, 5000])(
    "disarms Slack notation with an address of %i more characters",
    (length) => {
      const written = `<https://evil.example/${"a".repeat(length)}|bank.com>`;
      expect(safeText(written)).not.toContain(written);
    },
  );
});

it("a shortened text contains no active characters", () => {
  expect(shorten({ text: "Delete \u202eeverything\u0007\u009b31m", maxLength: 75 })).toBe(
    "Delete everything31m",
  );
});
