import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { lexer, walkTokens } from "marked";
import { toMrkdwn } from "../../../../lambdas/verification/slack/markdown/mrkdwn.ts";
import { exposeLinkTargets, safeMarkdown } from "../../../../lambdas/verification/slack/markdown/safe-markdown.ts";
import { isNamingOtherAddress } from "../../../../lambdas/verification/slack/markdown/visible-text.ts";

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

describe("a link whose label is an address of elsewhere", () => {
  it.each(disguised.map((markdown) => [markdown.slice(0, 60), markdown]))(
    "is none in Markdown: %s",
    (_, markdown = "") => {
      const safe = safeMarkdown(markdown);
      expect(labelsToEvil(markdown)).not.toEqual([]);
      expect(labelsToEvil(safe)).toEqual([]);
      expect(safe).toMatch(/evil\.example/);
      expect(safeMarkdown(safe)).toBe(safe);
    },
  );

  it.each(disguised.map((markdown) => [markdown.slice(0, 60), markdown]))(
    "is none in mrkdwn, whether it was made safe before or not: %s",
    (_, markdown = "") => {
      for (const text of [markdown, safeMarkdown(markdown)])
        expect(toMrkdwn(text)).not.toMatch(/<https:\/\/evil\.example[^<>]*\|[^<>]*(?:bank|again)/);
    },
  );

  it("is none, whatever stands around it", () => {
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
        "- ",
        "|",
        "\n-|-\n",
      ],
      ...[
        "x",
        "**",
        "*",
        "'",
        '"',
        "&#58;",
        "<div>",
        "<b>",
        label,
        "bank.example",
        "b\u0430nk.example",
        "user@bank",
        "bank&#46;example",
        "~~~\n",
        "    ",
        "1. ",
        "``",
        "\\[",
        "<!--",
        "-->",
        "</div>",
        "# ",
        "\n===\n",
        "https://evil.example",
        "[x]: https://evil.example\n\n",
      ],
      ...[`[${label}](https://evil.example)`, `[${label}][x]`],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const labels = labelsToEvil(safeMarkdown(pieces.join("")));
        expect(labels.filter((said) => isNamingOtherAddress({ label: said, address: "https://evil.example" }))).toEqual(
          [],
        );
      }),
      { numRuns: 1500 },
    );
  });

  it("has no syntax left where not all links are read, since an address is repeated too often", () => {
    const definition = `[x]: https://docs.example/${"a".repeat(30_000)}`;
    const safe = exposeLinkTargets(
      `[${label}](https://evil.example) ${"[x] ".repeat(10)}[${label}][x]\n\n${definition}`,
    );
    expect(safe).toContain(`[${label}] (https://evil.example)`);
    expect(safe).toContain(`[${label}] [x]`);
    expect(safe).toContain("[x] : https");
  });
});

describe("a link whose label is none of an address of elsewhere", () => {
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
  ])("stays as it is: %s", (markdown) => {
    expect(exposeLinkTargets(markdown)).toBe(markdown);
  });
});
