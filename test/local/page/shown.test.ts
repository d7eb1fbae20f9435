import { describe, expect, it } from "@jest/globals";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import {
  createLinkNodes,
  createMarkdownTree,
  createMrkdwnTree,
} from "@sekisho/local/page/display-tree.ts";
import { createMessageView } from "@sekisho/local/page/message-view.ts";
import type { DisplayNode } from "@sekisho/local/web/display-node.ts";
import fc from "fast-check";

const nameOf = (id: string) => `name of ${id}`;

/** As a person would write it down: tags around, text as it is. */
function flat(nodes: readonly DisplayNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === "string") return node;
      const { tag, children, href = "", lang = "" } = node;
      return `[${[tag, href, lang].filter(Boolean).join(" ")}:${flat(children)}]`;
    })
    .join("");
}

function hrefsOf(nodes: readonly DisplayNode[]): string[] {
  return nodes.flatMap((node) =>
    typeof node === "string"
      ? []
      : [...(node.href === undefined ? [] : [node.href]), ...hrefsOf(node.children)],
  );
}

it("names a user group that is mentioned", () => {
  expect(flat(createMrkdwnTree("<!subteam^S1> <!here>", nameOf))).toBe(
    "[mention:@name of S1] [mention:@here]",
  );
});

describe("Markdown on the page", () => {
  it.each([
    ["# Title", "[h:Title]"],
    ["**b** *i* ~~s~~ `c<d`", "[p:[strong:b] [em:i] [del:s] [code:c<d]]"],
    ["- a\n- b\n  1. c", "[ul:[li:a][li:b[ol:[li:c]]]]"],
    ["- [x] done\n- [ ] open", "[ul:[li:☑ done][li:☐ open]]"],
    ["```ts\nif (a < b) {}\n```", "[pre ts:if (a < b) {}]"],
    ["> quoted", "[blockquote:[p:quoted]]"],
    ["| a | b |\n|---|---|\n| 1 | **2** |", "[table:[tr:[th:a][th:b]][tr:[td:1][td:[strong:2]]]]"],
    ["[here](https://example.com/a)", "[p:[a https://example.com/a:here]]"],
    ["![alt](https://example.com/a.png)", "[p:[a https://example.com/a.png:alt]]"],
    ["[run](javascript:alert(1))", "[p:run (javascript:alert(1))]"],
    ["a<script>alert(1)</script>b", "[p:a<script>alert(1)</script>b]"],
    ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
    ["関所は **検問所** です。", "[p:関所は [strong:検問所] です。]"],
    ["&lt;@U1&gt; \\*not\\*", "[p:<@U1> *not*]"],
  ])("renders the markup %j", (markdown, expected) => {
    expect(flat(createMarkdownTree(markdown)).replaceAll("\n", "")).toBe(expected);
  });

  it("links only to http, https and mailto for any Markdown", () => {
    const scheme = fc.constantFrom(
      "javascript:",
      "JaVaScRiPt:",
      "data:text/html,",
      "vbscript:",
      "https://",
      "file://",
    );
    fc.assert(
      fc.property(
        scheme,
        fc.string(),
        fc.constantFrom("[x](%)", "<%>", "[x]: %\n\n[x]", "![x](%)"),
        (start, rest, form) => {
          const hrefs = hrefsOf(createMarkdownTree(form.replace("%", `${start}${rest}`)));
          expect(hrefs.filter((href) => !/^(https?|mailto):/i.test(href))).toEqual([]);
        },
      ),
    );
    expect(createLinkNodes({ href: "java\nscript:alert(1)", children: ["x"] })).toEqual([
      "x",
      " (java\nscript:alert(1))",
    ]);
  });
});

describe("mrkdwn on the page", () => {
  it.each([
    ["*b* _i_ ~s~ `c` a_b_c 2*3*4", "[strong:b] [em:i] [del:s] [code:c] a_b_c 2*3*4"],
    ["2 * 3 * 4 ___ _ a _ ~ b ~", "2 * 3 * 4 ___ _ a _ ~ b ~"],
    [
      "<@U1> in <#C1|general>, <!here>",
      "[mention:@name of U1] in [mention:#general], [mention:@here]",
    ],
    ["<https://example.com|here> &lt;b&gt;", "[a https://example.com:here] <b>"],
    ["<javascript:alert(1)|x>", "x (javascript:alert(1))"],
    ["&gt; quoted\n&gt; more\nafter", "[blockquote:quoted\nmore]after"],
    ["```\na *b* <c\n```", "[pre:a *b* <c]"],
    ["<!date^1700000000^{time}|at noon> :eyes:", "at noon 👀"],
  ])("renders the markup %j", (text, expected) => {
    expect(flat(createMrkdwnTree(text, nameOf))).toBe(expected);
  });
});

describe("a message on the page", () => {
  const message: FakeSlackMessage = {
    channel: workspace.channel.id,
    ts: "1.000001",
    threadTs: undefined,
    user: workspace.botUser,
    text: "the fallback",
    metadata: undefined,
    edited: true,
    reactions: ["eyes"],
  };

  it("shows the blocks of a message instead of its text, with buttons that can be clicked", () => {
    const button = {
      type: "button",
      text: { type: "plain_text", text: "Yes" },
      action_id: "a",
      value: "v",
      style: "primary",
    };
    const blocks = [
      { type: "markdown", text: "**b**" },
      { type: "context", elements: [{ type: "mrkdwn", text: "Request `1`" }] },
      { type: "actions", elements: [button] },
    ];
    expect(createMessageView({ ...message, blocks }).parts).toMatchObject([
      { type: "text" },
      { type: "context", shown: ["Request ", { tag: "code" }] },
      { type: "buttons", buttons: [{ actionId: "a", label: "Yes", style: "primary" }] },
    ]);
    expect(createMessageView(message).parts).toEqual([{ type: "text", shown: ["the fallback"] }]);
  });

  it("shows an alert and a forwarded alert as the agent reads them, with links only to websites", () => {
    const attachments = [
      { color: "danger", title: "DiskFull", title_link: "javascript:alert(1)", text: "*97 %*" },
    ];
    const alert = { ...message, user: "UOTHERBOT", text: "", attachments };
    const [part] = createMessageView(alert).parts;
    expect(part).toMatchObject({ type: "attachment" });
    expect(hrefsOf(part?.type === "attachment" ? part.shown : [])).toEqual([]);
    expect(JSON.stringify(part)).toContain("(danger)");
    const { author, parts } = createMessageView({ ...message, text: "", forwards: [alert] });
    expect(author.kind).toBe("bot");
    expect(JSON.stringify(parts)).toMatch(
      /Forwarded message from Monitoring.*blockquote.*DiskFull/,
    );
  });

  it("passes neither metadata nor button values nor the Slack address of a file to the page", () => {
    const files = [
      {
        id: "F1",
        name: "a.png",
        title: "a",
        mimetype: "image/png",
        size: 1,
        team: "T1",
        user: "U1",
      },
    ];
    const view = createMessageView({
      ...message,
      files,
      metadata: { event_type: "secret", event_payload: {} },
    });
    expect(view.files).toEqual([{ id: "F1", name: "a.png", size: 1, isImage: true }]);
    expect(JSON.stringify(view)).not.toMatch(/secret|event_payload|files-pri/);
  });
});
