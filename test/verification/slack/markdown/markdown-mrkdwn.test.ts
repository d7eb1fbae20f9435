import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { displayWidth, toMrkdwn } from "../../../../lambdas/verification/slack/markdown/mrkdwn.ts";
import { safeMarkdown } from "../../../../lambdas/verification/slack/markdown/safe-markdown.ts";

const space = "\u200B";

describe("Markdown as mrkdwn", () => {
  it.each([
    ["**bold** and __bold__", "*bold* and *bold*"],
    ["*italic* and _italic_", "_italic_ and _italic_"],
    ["~~gone~~", "~gone~"],
    ["**bold with _italic_ in it**", "*bold with _italic_ in it*"],
    ["`a < b`", "`a &lt; b`"],
    ["# A **heading**", "*A heading*"],
    ["A heading\n===", "*A heading*"],
    ["[label](https://a.example/?b=1&c=2)", "<https://a.example/?b=1&amp;c=2|label>"],
    ["https://a.example", "<https://a.example>"],
    ["<https://a.example>", "<https://a.example>"],
    ["[r][1]\n\n[1]: https://a.example", "<https://a.example|r>"],
    ["[x](javascript:alert)", "x (javascript:alert)"],
    ["![A gate](https://a.example/gate.png)", "<https://a.example/gate.png|A gate>"],
    ["![](https://a.example/gate.png)", "<https://a.example/gate.png>"],
    ["\\*no emphasis\\*", "*no emphasis*"],
    ["AT&amp;T &copy; &#169;", "AT&amp;T &amp;copy; ©"],
    ["one\\\ntwo<br>three", "one\ntwo\nthree"],
    ["one\n\ntwo\nthree", "one\n\ntwo\nthree"],
    ["a\n\n---\n\nb", "a\n\n────────────\n\nb"],
    ["> said\n> > before", "> said\n> > before"],
    ["- one\n- two\n  - three", "• one\n• two\n    ◦ three"],
    ["3. three\n4. four", "3. three\n4. four"],
    ["- [x] done\n- [ ] to do", "☑ done\n☐ to do"],
    ["- one\n\n  more of it", "• one\nmore of it"],
    ["```ts\nconst a = 1 < 2;\n```", "```\nconst a = 1 &lt; 2;\n```"],
    ["- ```\n  code\n  ```", "• \n```\ncode\n```"],
    ["Hello <!channel> & <@U1>", "Hello &lt;!channel&gt; &amp; &lt;@U1&gt;"],
    ["<details>x</details>", "&lt;details&gt;x&lt;/details&gt;"],
  ])("%j is %j", (markdown, mrkdwn) => {
    expect(toMrkdwn(safeMarkdown(markdown))).toBe(mrkdwn);
  });

  it("parts emphasis from letters that touch it, since Slack would show the asterisks", () => {
    expect(toMrkdwn("これは**太字**です。")).toBe(`これは${space}*太字*${space}です。`);
    expect(toMrkdwn("（**太字**）")).toBe("（*太字*）");
  });

  it("formats each line by itself, as Slack formats no further", () => {
    expect(toMrkdwn("**two\nlines**")).toBe("*two*\n*lines*");
  });

  it("does not let code end its own fence", () => {
    const text = toMrkdwn("````\n```\ninner\n```\n````");
    expect(text.match(/```/g)).toHaveLength(2);
    expect(text).toContain("inner");
  });

  it("sets a table in columns, in which Japanese letters take two places", () => {
    const text = toMrkdwn(
      "| 名前 | n | note |\n|:--|--:|:-:|\n| 箱根関所 | 10 | **x** |\n| a | 2 | [l](https://a.example) |",
    );
    expect(text.split("\n")).toEqual([
      "```",
      "名前     |   n | note",
      "---------+-----+-----",
      "箱根関所 |  10 |  x",
      "a        |   2 |  l",
      "```",
    ]);
    expect(
      new Set(
        text
          .split("\n")
          .slice(1, -1)
          .map((line) => displayWidth(line.split("|")[0]?.split("+")[0] ?? "")),
      ),
    ).toEqual(new Set([9]));
  });

  it("lets nothing of an agent be more than text but links that say where they lead", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "<",
        ">",
        "&",
        "!channel",
        "@U1",
        "|",
        "[a](",
        ")",
        "`",
        "```\n",
        "\n",
        "- ",
        "> ",
        "**",
        "https://a.example",
        "&lt;",
      ),
      fc.string({ unit: "grapheme", maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        const text = toMrkdwn(safeMarkdown(pieces.join("")));
        const withoutLinks = text
          .replace(/<(?:https?|mailto|tel):[^<>|\s]*(?:\|[^<>]*)?>/gi, "")
          .replace(/^(?:> ?)+/gm, "");
        expect(withoutLinks).not.toMatch(/</);
        expect(withoutLinks).not.toMatch(/&(?!(?:amp|lt|gt);)/);
      }),
      { numRuns: 500 },
    );
  });

  it("loses no word", () => {
    const word = fc.stringMatching(/^[a-z]{3,8}$/);
    const block = fc.oneof(
      fc.tuple(fc.constantFrom("# ", "## ", "", "> ", "- ", "1. ", "  - "), word).map(([mark, text]) => mark + text),
      fc.tuple(fc.constantFrom("**", "_", "~~", "`"), word).map(([mark, text]) => `a ${mark}${text}${mark} b`),
      fc.tuple(word, word).map(([head, cell]) => `\n| ${head} | x |\n|---|---|\n| ${cell} | y |\n`),
      fc.tuple(word, word).map(([first, second]) => `\n\`\`\`\n${first}\n${second}\n\`\`\`\n`),
    );
    fc.assert(
      fc.property(fc.array(block, { maxLength: 15 }), fc.constantFrom("\n", "\n\n"), (blocks, joint) => {
        const markdown = blocks.join(joint);
        const words = (text: string) => text.match(/[a-z]{3,}/g) ?? [];
        expect(words(toMrkdwn(markdown))).toEqual(words(markdown));
      }),
      { numRuns: 300 },
    );
  });

  it("takes hostile texts in its stride", () => {
    for (const text of [
      ">".repeat(20_000),
      "[".repeat(11_000),
      `|${"a|".repeat(5000)}\n|${"-|".repeat(5000)}\n${"|b|\n".repeat(5000)}`,
    ])
      expect(toMrkdwn(safeMarkdown(text)).length).toBeGreaterThan(text.length / 2);
  });
});
