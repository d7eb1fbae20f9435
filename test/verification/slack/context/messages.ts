/** Messages as Slack's clients and well-known apps send them, with the text that the agent gets. */

const text = (words: string, style?: Record<string, true>) => ({
  type: "text",
  text: words,
  ...(style && { style }),
});
const section = (...elements: object[]) => ({ type: "rich_text_section", elements });
const richText = (...elements: object[]) => ({ type: "rich_text", block_id: "b1", elements });
const plain = (words: string) => ({ type: "plain_text", text: words, emoji: true });
const mrkdwn = (words: string) => ({ type: "mrkdwn", text: words, verbatim: false });

export type Sample = { name: string; message: Record<string, unknown>; shown: string };

const forwardFlags = { is_msg_unfurl: true, is_share: true, mrkdwn_in: ["text"], id: 1 };
const forward = {
  ...forwardFlags,
  ts: "1795942800.000100",
  channel_id: "C0OPS",
  channel_name: "ops",
  channel_team: "T0TEAM",
  author_id: "U0ROBIN",
  author_name: "robin",
  from_url: "https://team.slack.com/archives/C0OPS/p1795942800000100",
  footer: "Posted in #ops",
  fallback: "[November 29th, 2026 9:00 AM] robin: The backup failed",
  text: "The *backup* failed, see <https://wiki.example/a|the page>",
  message_blocks: [
    {
      team: "T0TEAM",
      channel: "C0OPS",
      ts: "1795942800.000100",
      message: {
        blocks: [
          richText(
            section(text("The "), text("backup", { bold: true }), text(" failed, see "), {
              type: "link",
              url: "https://wiki.example/a",
              text: "the page",
            }),
          ),
        ],
      },
    },
  ],
};

const quotation =
  "Forwarded message from robin in #ops (2026-11-29T09:00:00Z):\n> The **backup** failed, see [the page](https://wiki.example/a)";

export const samples: readonly Sample[] = [
  { name: "a text without blocks", message: { text: "Restart web-3" }, shown: "Restart web-3" },
  {
    name: "a person's text and its rich text once",
    message: {
      text: "<@U0BOT> please check *web-3* 1 &lt; 2",
      blocks: [
        richText(
          section(
            { type: "user", user_id: "U0BOT" },
            text(" please check "),
            text("web-3", { bold: true }),
            text(" 1 < 2"),
          ),
        ),
      ],
    },
    shown: "please check **web-3** 1 < 2",
  },
  {
    name: "a list in a list, a quotation and code of a person",
    message: {
      text: "1. one\n    ◦ inner\n2. two\n&gt; said\n```x = 1```",
      blocks: [
        richText(
          {
            type: "rich_text_list",
            style: "ordered",
            indent: 0,
            border: 0,
            elements: [section(text("one"))],
          },
          {
            type: "rich_text_list",
            style: "bullet",
            indent: 1,
            border: 0,
            elements: [section(text("inner"))],
          },
          {
            type: "rich_text_list",
            style: "ordered",
            indent: 0,
            offset: 1,
            border: 0,
            elements: [section(text("two"))],
          },
          { type: "rich_text_quote", elements: [text("said")] },
          { type: "rich_text_preformatted", elements: [text("x = 1")], border: 0 },
        ),
      ],
    },
    shown: "1. one\n    - inner\n2. two\n\n> said\n\n```\nx = 1\n```",
  },
  {
    name: "a table that a person pastes below a text",
    message: {
      text: "which one is full?",
      blocks: [
        richText(section(text("which one is full?"))),
        {
          type: "table",
          rows: [
            [richText(section(text("host"))), richText(section(text("disk | %")))],
            [
              { type: "raw_text", text: "web-3" },
              { type: "raw_number", value: 97, text: "97" },
            ],
          ],
        },
      ],
    },
    shown: "which one is full?\n\n| host | disk \\| % |\n| --- | --- |\n| web-3 | 97 |",
  },
  {
    name: "a table whose text Slack has not copied to a block",
    message: {
      text: "full?",
      blocks: [{ type: "table", rows: [[{ type: "raw_text", text: "a much longer cell" }]] }],
    },
    shown: "full?\n\n| a much longer cell |\n| --- |",
  },
  {
    name: "an alert of Alertmanager",
    message: {
      subtype: "bot_message",
      text: "",
      attachments: [
        {
          id: 1,
          color: "danger",
          title: "[FIRING:1] DiskFull (web-3)",
          title_link: "https://alerts.example/#/alerts",
          text: "*Summary:* 97% used &amp; growing",
          fallback: "[FIRING:1] DiskFull",
          fields: [{ title: "host", value: "web-3", short: true }],
          mrkdwn_in: ["fallback", "pretext", "text"],
        },
      ],
    },
    shown:
      "(danger) [[FIRING:1] DiskFull (web-3)](https://alerts.example/#/alerts)\n**Summary:** 97% used & growing\nhost: web-3",
  },
  {
    name: "an alert of Datadog with an image",
    message: {
      text: "",
      attachments: [
        {
          color: "A30200",
          title: "Triggered: CPU is high",
          text: "@slack-ops\n`avg(last_5m) > 90`",
          image_url: "https://p.example/graph.png",
          fallback: "Triggered",
          footer: "Datadog",
          ts: 1795942800,
        },
      ],
    },
    shown: "Triggered: CPU is high\n@slack-ops\n`avg(last_5m) > 90`\nDatadog 2026-11-29T09:00:00Z",
  },
  {
    name: "an incident of PagerDuty in blocks of an attachment",
    message: {
      text: "",
      attachments: [
        {
          color: "#ff0000",
          fallback: "[no preview available]",
          blocks: [
            {
              type: "section",
              text: mrkdwn("*Triggered* <https://pd.example/1|#1: API down>"),
              fields: [mrkdwn("*Service:*\nAPI")],
            },
            {
              type: "actions",
              elements: [{ type: "button", text: plain("Acknowledge"), value: "ack" }],
            },
          ],
        },
      ],
    },
    shown: "**Triggered** [#1: API down](https://pd.example/1)\n**Service:**\nAPI\n\n[Acknowledge]",
  },
  {
    name: "an issue of Sentry with a text that only sums it up",
    message: {
      bot_id: "B0SENTRY",
      text: "TypeError in checkout",
      blocks: [
        {
          type: "section",
          text: mrkdwn(":red_circle: <https://sentry.example/1|*TypeError: x is undefined*>"),
        },
        {
          type: "context",
          elements: [
            mrkdwn("State: *New*"),
            { type: "image", image_url: "https://i.example", alt_text: "web" },
          ],
        },
        { type: "divider" },
        {
          type: "actions",
          elements: [{ type: "static_select", placeholder: plain("Assign…"), options: [] }],
        },
      ],
    },
    shown:
      ":red_circle: [*TypeError: x is undefined*](https://sentry.example/1)\n\nState: **New** (image: web)\n\n[Assign…]",
  },
  {
    name: "an issue of Jira with a preview",
    message: {
      text: "<https://jira.example/OPS-1>",
      attachments: [
        {
          is_app_unfurl: true,
          app_unfurl_url: "https://jira.example/OPS-1",
          bot_id: "B0JIRA",
          blocks: [{ type: "section", text: mrkdwn("*OPS-1 Backup fails*\nOpen") }],
        },
      ],
    },
    shown: "https://jira.example/OPS-1\n\nLink preview: **OPS-1 Backup fails** Open",
  },
  {
    name: "a post of a workflow",
    message: {
      subtype: "bot_message",
      text: "Request from &lt;form&gt;",
      blocks: [richText(section(text("Request from <form>")))],
    },
    shown: "Request from <form>",
  },
  {
    name: "a forwarded message without a comment",
    message: { text: "", attachments: [forward] },
    shown: quotation,
  },
  {
    name: "a forwarded message with a comment",
    message: {
      text: "what now?",
      blocks: [richText(section(text("what now?")))],
      attachments: [forward],
    },
    shown: `what now?\n\n${quotation}`,
  },
  {
    name: "a forwarded alert in blocks",
    message: {
      text: "",
      attachments: [
        {
          ...forwardFlags,
          ts: "1795942800.000100",
          channel_id: "D0DIRECT",
          author_subname: "Alerts",
          text: "[no preview available]",
          fallback: "[no preview available]",
          message_blocks: [
            {
              message: {
                blocks: [
                  { type: "header", text: plain("Disk &amp; memory") },
                  { type: "section", text: mrkdwn("*97%*") },
                ],
              },
            },
          ],
        },
      ],
    },
    shown:
      "Forwarded message from Alerts in a direct message (2026-11-29T09:00:00Z):\n> ## Disk & memory\n>\n> **97%**",
  },
  {
    name: "a forwarded alert in an attachment of the copy",
    message: {
      text: "",
      attachments: [
        {
          ...forwardFlags,
          channel_id: "D0DIRECT",
          channel_name: "Direct Message",
          author_name: "Alerts",
          text: "",
          fallback: "[November 29th, 2026 9:00 AM] Alerts: DiskFull",
          attachments: [{ color: "danger", title: "DiskFull", fallback: "DiskFull" }],
        },
      ],
    },
    shown: "Forwarded message from Alerts in a direct message:\n> (danger) DiskFull",
  },
  {
    name: "a forwarded message without words",
    message: {
      text: "",
      attachments: [{ ...forwardFlags, author_name: "Alerts", fallback: "[no preview available]" }],
    },
    shown: "Forwarded message from Alerts:\n> (no text)",
  },
  {
    name: "a forwarded message of a file only",
    message: {
      text: "",
      attachments: [
        {
          ...forwardFlags,
          author_id: "U0ROBIN",
          channel_id: "C0OPS",
          files: [{ id: "F1", name: "plan.csv" }, { id: "F2" }],
        },
      ],
    },
    shown: "Forwarded message from @U0ROBIN in #C0OPS:\n> (file: plan.csv)\n> (file)",
  },
  {
    name: "a forwarded message of the older kind",
    message: {
      subtype: "message_share",
      text: "",
      attachments: [{ is_msg_unfurl: true, author_name: "robin", text: "old" }],
    },
    shown: "Forwarded message from robin:\n> old",
  },
  {
    name: "the preview of a pasted message as one line",
    message: {
      text: "<https://team.slack.com/archives/C0OPS/p1>",
      attachments: [
        {
          is_msg_unfurl: true,
          author_name: "robin",
          text: "one\ntwo",
          from_url: "https://team.slack.com/archives/C0OPS/p1",
        },
      ],
    },
    shown: "https://team.slack.com/archives/C0OPS/p1\n\nLink preview: robin: one two",
  },
  {
    name: "blocks of every other type",
    message: {
      text: "",
      blocks: [
        { type: "markdown", text: "# Title\n**x**" },
        { type: "image", image_url: "https://i.example/x", alt_text: "a graph" },
        {
          type: "video",
          title: plain("Talk"),
          title_url: "https://v.example",
          provider_name: "Tube",
          video_url: "https://v",
        },
        {
          type: "input",
          label: plain("Why"),
          element: { type: "plain_text_input", action_id: "a" },
        },
        { type: "alert", level: "warning", text: mrkdwn("Mind the *gap*") },
        {
          type: "data_table",
          caption: "Load",
          rows: [[{ type: "raw_text", text: "a" }], [{ type: "raw_number", value: 1 }]],
        },
        {
          type: "data_visualization",
          title: "Share",
          chart: { type: "pie", segments: [{ label: "x", value: 1 }] },
        },
        {
          type: "carousel",
          elements: [
            {
              type: "card",
              title: mrkdwn("Card"),
              body: mrkdwn("body"),
              actions: [{ type: "button", text: plain("Go"), url: "https://g" }],
            },
          ],
        },
        {
          type: "container",
          rich_text_title: richText(section(text("Box"))),
          child_blocks: [{ type: "section", text: plain("inside") }],
        },
        {
          type: "plan",
          title: "Steps",
          tasks: [
            {
              type: "task_card",
              title: "Look",
              status: "complete",
              sources: [{ type: "url", url: "https://s", text: "src" }],
            },
          ],
        },
        {
          type: "context_actions",
          elements: [{ type: "feedback_buttons", positive_button: { text: plain("Good") } }],
        },
        { type: "auth_provider", provider_name: "x", auth_url: "https://sign-in.example/secret" },
        {
          type: "of_next_year",
          title: plain("New"),
          elements: [
            { type: "thing", text: "words" },
            { type: "section", text: plain("known") },
          ],
        },
      ],
    },
    shown: [
      "# Title\n**x**",
      "(image: a graph)",
      "Video: [Talk](https://v.example)\nTube",
      "Why",
      "(warning) Mind the **gap**",
      "Load",
      "| a |\n| --- |\n| 1 |",
      "Share",
      "|  |  |\n| --- | --- |\n| x | 1 |",
      "### Card\nbody\n[Go](https://g)",
      "Box",
      "inside",
      "Steps",
      "- Look (complete)\n[src](https://s)",
      "(unsupported content)",
      "New\nwords\nknown",
    ].join("\n\n"),
  },
];
