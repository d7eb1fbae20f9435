/** The text of a message for an agent: all that people see, once, in Markdown, within the limits. */
import { describe, expect, it } from "@jest/globals";
import { readMessageText } from "@sekisho/verification/slack/context/message.ts";
import fc from "fast-check";
import { samples } from "./messages.ts";

const maxLength = 40_000;
const readValue = (message: unknown, max = maxLength) =>
  readMessageText({ message, botUsers: ["U0BOT"], maxLength: max });

/** The points of the first series stand for the rows of all of them. */
const manySeries = Array.from({ length: 200 }, (_, index) => ({
  name: "s",
  data: index === 0 ? Array(200).fill({ label: "x", value: 1 }) : [],
}));

describe("the text of a message", () => {
  it.each(samples)("the agent reads $name", ({ message, shown: text }) => {
    expect(readValue(message)).toBe(text);
  });

  it.each([
    ["<https://a.example/x|the docs>", "[the docs](https://a.example/x)"],
    ["<https://a.example/x>", "https://a.example/x"],
    [
      "<https://a.example/?a=1&amp;b=2|https://a.example/?a=1&amp;b=2>",
      "https://a.example/?a=1&b=2",
    ],
    ["<https://evil.example|https://good.example>", "[https://good.example](https://evil.example)"],
    [
      "<https://a.example/x_(y)|y> <https://a.example/x)|z>",
      "[y](https://a.example/x_(y)) [z](https://a.example/x%29)",
    ],
    ["<mailto:kim@a.example|kim@a.example> <tel:+4930|call>", "kim@a.example [call](tel:+4930)"],
    ["<@U1> <@W1|boss> <#C1> <#C1|ops> <#C1|>", "@U1 @W1 #C1 #ops (C1) #C1"],
    ["<!subteam^S1> <!subteam^S1|@oncall>", "@S1 @oncall (S1)"],
    ["<!here> <!channel|channel> <!everyone>", "@here @channel @everyone"],
    ["<!date^1392734382^{date_num} {time}|yesterday>", "2014-02-18T14:39:42Z"],
    ["<!date^1392734382^{date}^https://a.example|x>", "[2014-02-18T14:39:42Z](https://a.example)"],
    ["<!date^99999999999999999^{date}|at dawn>", "at dawn"],
    ["*bold* _italic_ ~gone~ `*code*`", "**bold** _italic_ ~~gone~~ `*code*`"],
    ["*see <https://a.example|x> now*", "**see [x](https://a.example) now**"],
    ["2*3*4 *.ts and *.js a~b~c", "2*3*4 *.ts and *.js a~b~c"],
    ["• one\n    ◦ two", "- one\n    - two"],
    [
      "see ```a &lt; b <https://a.example|a.example>``` there",
      "see \n```\na < b a.example\n```\n there",
    ],
    ["&amp;lt;@U1&amp;gt; &lt;@U1&gt;", "&lt;@U1&gt; <@U1>"],
    ["<not slack> <> < ```", "<not slack> <> < ```"],
  ])("converts mrkdwn %j to Markdown %j", (text, readText) => {
    expect(readValue({ text })).toBe(readText);
  });

  it("the text keeps the mention of the bot in a forwarded message and drops it elsewhere", () => {
    const attachments = [{ is_share: true, author_name: "robin", text: "<@U0BOT> cancel" }];
    expect(readValue({ text: "<@U0BOT> look", attachments })).toBe(
      "look\n\nForwarded message from robin:\n> @U0BOT cancel",
    );
  });

  it("a preview by itself gives no text", () => {
    expect(
      readValue({
        text: "<@U0BOT>",
        attachments: [{ from_url: "https://a.example", title: "A page" }],
      }),
    ).toBe("");
  });

  it("a forwarded message stays in its quotation, whatever is in it", () => {
    const hostile = "a\r\nb\rc\u2028d\n\n```\n> x\n\u202eevil";
    const attachments = [
      { is_share: true, author_name: "x\n\nrobin\u202e (admin)", text: hostile },
    ];
    const [first, ...lines] = readValue({ text: "", attachments }).split("\n");
    expect(first).toBe("Forwarded message from x robin admin:");
    for (const line of lines) expect(line).toMatch(/^>/);
    expect(lines.join("\n")).not.toMatch(/[\r\u2028\u202e]/);
  });

  it("reads nested forwards down to a maximum level", () => {
    const nestForwards = (depth: number): object => ({
      is_share: true,
      text: `level ${depth}`,
      ...(depth < 9 && { attachments: [nestForwards(depth + 1)] }),
    });
    const agentText = readValue({ text: "", attachments: [nestForwards(0)] });
    expect(agentText).toContain("> > level 1");
    expect(agentText).not.toContain("level 9");
  });

  it("marks a cut quotation, and leaves a text that is too long itself one character over the limit", () => {
    const attachments = [{ is_share: true, author_name: "robin", text: "word ".repeat(30_000) }];
    const agentText = readValue({ text: "look", attachments });
    expect(agentText.length).toBeLessThanOrEqual(maxLength);
    expect(agentText).toMatch(/^look\n\nForwarded message from robin:\n> word .*…\(cut\)$/s);
    expect(readValue({ text: "x".repeat(50_000), attachments })).toBe("x".repeat(maxLength + 1));
  });

  it("shows no address of a file or a sign-in, and no token", () => {
    const secret = "https://secret.example/token";
    const hiddenFields = {
      url_private: secret,
      auth_url: secret,
      action_token: secret,
      permalink: secret,
      value: secret,
    };
    const message = {
      text: "",
      ...hiddenFields,
      files: [hiddenFields],
      blocks: [
        { type: "auth_provider", ...hiddenFields, title: "Sign in" },
        { type: "unknown", ...hiddenFields },
      ],
      attachments: [
        { ...hiddenFields, text: "x", callback_id: secret },
        { is_share: true, text: "y", files: [hiddenFields] },
      ],
    };
    expect(readValue(message)).not.toContain("secret");
  });

  it("reads nested lists to the third level, because each level makes every line longer", () => {
    const listIn = (elements: object[]) => ({ type: "rich_text_list", indent: 8, elements });
    const words = { type: "rich_text_section", elements: [{ type: "text", text: "deep\nlines" }] };
    const nestLists = (levels: number): object =>
      levels === 0 ? words : listIn([nestLists(levels - 1)]);
    const readLists = (levels: number) =>
      readValue({ bot_id: "B1", blocks: [{ type: "rich_text", elements: [nestLists(levels)] }] });
    expect(readLists(3)).toContain("lines");
    expect(readLists(4)).not.toContain("lines");
  });

  it.each([
    [
      "data_table",
      { rows: Array.from({ length: 1000 }, () => Array(1000).fill({ text: "x" })) },
      [103, 22],
    ],
    ["data_visualization", { chart: { series: manySeries } }, [103, 23]],
  ])(
    "limits the rows and columns of a %s, so that its cells do not multiply",
    (type, fields, size) => {
      const userMessage = readValue({ bot_id: "B1", blocks: [{ type, ...fields }] });
      const rows = userMessage.split("\n");
      expect([rows.length, Math.max(...rows.map((row) => row.split("|").length))]).toEqual(size);
    },
  );

  it("keeps other blocks readable beside blocks nested a thousand deep", () => {
    const deep = (member: string, type: string) => {
      let block: object = { type: "section", text: { type: "mrkdwn", text: "inside" } };
      for (let depth = 0; depth < 1000; depth++) block = { type, [member]: [block] };
      return block;
    };
    const blocks = [
      deep("elements", "rich_text"),
      deep("elements", "rich_text_list"),
      deep("child_blocks", "container"),
      deep("elements", "carousel"),
      deep("elements", "unknown"),
      { type: "section", text: { type: "mrkdwn", text: "outside" } },
    ];
    expect(readValue({ blocks })).toContain("outside");
  });

  it("cuts ten megabytes of blocks and marks the cut", () => {
    const blocks = Array.from({ length: 1000 }, () => ({
      type: "section",
      text: { type: "mrkdwn", text: "x".repeat(10_000) },
    }));
    expect(readValue({ blocks })).toHaveLength(maxLength + 1);
    const attachments = [{ is_share: true, message_blocks: [{ message: { blocks } }] }];
    const agentText = readValue({ text: "look", attachments });
    expect(agentText.length).toBeLessThanOrEqual(maxLength);
    expect(agentText).toMatch(/…\(cut\)$/);
  });

  it("accepts whatever Slack sends and keeps the length limit", () => {
    const key = fc.constantFrom(
      ...[
        "type",
        "text",
        "elements",
        "rows",
        "fields",
        "blocks",
        "attachments",
        "is_share",
        "style",
        "title",
        "chart",
      ],
      ...[
        "message_blocks",
        "message",
        "child_blocks",
        "unicode",
        "timestamp",
        "ts",
        "indent",
        "offset",
        "files",
        "series",
      ],
    );
    const word = fc.constantFrom(
      ...[
        "rich_text",
        "rich_text_list",
        "rich_text_section",
        "text",
        "emoji",
        "date",
        "link",
        "section",
        "table",
        "card",
      ],
      ...[
        "data_visualization",
        "mrkdwn",
        "<@U1>",
        "```",
        "*a*",
        "\ud800",
        "1f600-zz",
        "1e400",
        "\u0000",
        "__proto__",
      ],
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: "medium", withCrossShrink: true },
        word,
        fc.constantFrom(null, true, 0, -1, Number.POSITIVE_INFINITY, 9e99),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 5 }),
      ),
    }));
    const message = fc.record({ text: tree, blocks: fc.array(tree), attachments: fc.array(tree) });
    fc.assert(
      fc.property(message, (values) => {
        const agentText = readValue(values, 100);
        expect(agentText.length).toBeLessThanOrEqual(101);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: those that SQS refuses.
        expect(agentText).not.toMatch(/[\u0000-\u0008\uFFFE\uFFFF]/);
        expect(agentText.isWellFormed()).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
