import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { decodeEntities, removeJoiners } from "../../../../lambdas/verification/slack/markdown/characters.ts";
import { toMrkdwn } from "../../../../lambdas/verification/slack/markdown/mrkdwn.ts";
import { safeMarkdown } from "../../../../lambdas/verification/slack/markdown/safe-markdown.ts";

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
    "<https://evil.example|https://bank.example>",
    "<mailto:a@evil.example|b@bank.example>",
    "&lt;!channel&gt;",
    "&#60;!channel>",
    "&#x3C;@U012AB3CD>",
    "<\\!channel>",
    "`<!channel>`",
    "```\n<!channel>\n```",
    "> <!here>",
  ])("cannot notify or hide by Slack's own notation: %s", (text) => {
    expect(text).toMatch(live.test(text) ? live : /mailto/);
    expect(safeMarkdown(text)).not.toMatch(live);
    expect(safeMarkdown(text).replaceAll("\u2060", "")).toBe(text);
  });

  it.each([
    "<!&#99;hannel>",
    "<&#33;channel>",
    "<&excl;here>",
    "<!&#x68;ere>",
    "<@&#85;012AB3CD>",
    "<&#64;U012AB3CD>",
    "<&commat;U012AB3CD>",
    "<&num;C012AB3CD>",
    "<#&#67;012AB3CD>",
    "&lt;!&#99;hannel&gt;",
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
  ])("cannot notify or hide by notation of which a part is written as an entity: %s", (text) => {
    const safe = safeMarkdown(text);
    expect(safe).toMatch(/^(?:<|&lt;|&#60;)\u2060/i);
    expect(safe.replaceAll("\u2060", "")).toBe(text);
    expect(decodeEntities(decodeEntities(safe))).not.toMatch(/<[@#!\w]/);
  });

  it("cannot notify, whatever is around it", () => {
    const piece = fc.constantFrom(
      "<",
      "!",
      "channel",
      "@U1",
      "#C1",
      ">",
      "|",
      "&lt;",
      "\\",
      "`",
      "[",
      "](",
      ")",
      " ",
      "https://a.example",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        expect(safeMarkdown(pieces.join(""))).not.toMatch(live);
      }),
      { numRuns: 500 },
    );
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
  ])("shows where a link leads whose label says something else: %s", (text) => {
    const [first = ""] = safeMarkdown(text).split("\n");
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
  ])("keeps what misleads nobody: %s", (text) => {
    expect(safeMarkdown(text)).toBe(text);
  });

  it("loses the signs that turn text around", () => {
    expect(safeMarkdown("https://evil.example/\u202Egpj.exe")).toBe("https://evil.example/gpj.exe");
  });

  it("is bold where Markdown between letters without blanks would show asterisks", () => {
    expect(toMrkdwn(safeMarkdown("これは**「関所」**です。"))).toMatch(/^これは\s\*「関所」\*\sです。$/);
    expect(toMrkdwn(safeMarkdown("ここは**（関所）**"))).toMatch(/^ここは\s\*（関所）\*$/);
    for (const text of ["これは**関所**です。", "a**(b)**c", "**「関所」**", "2 ** 3、4 ** 5"])
      expect(safeMarkdown(text)).toBe(text);
  });

  it("comes back as it was typed where it is escaped anyway", () => {
    expect(removeJoiners(safeMarkdown("<!channel> <@U1>"))).toBe("<!channel> <@U1>");
  });
});
