/** Texts over which a parser or an expression could be at work for hours: a program of its own, so that a test can end it. */

import { maxMarkdownLength, maxMrkdwnLength } from "@sekisho/verification/slack/markdown/split.ts";
import { nextStreamPiece } from "@sekisho/verification/slack/messages/stream-piece.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import { askedAtMs, sampleTask } from "../../../task/sample.ts";
import { drawnText, mrkdwnText, newestText, safeText, splitText } from "../as-text.ts";

const length = 15_000;
/** Of one line, which costs little unless something goes wrong. */
const lineLength = 100_000;
const { placeholder, question } = createTaskText({ locale: "en" });
const asked = { index: 0, options: [], askedAtMs, expiresAtMs: askedAtMs + 1000 };

const repeated = [
  ...[
    "*a ",
    "**a ",
    "_a ",
    "a_b",
    "*_",
    "*a_ ",
    "**a *b ",
    "~a ",
    "~~a",
    "`a ``b ",
    "\\*",
    "!",
    "&#",
    "&",
    "&lt;a:",
  ],
  ...[
    "[",
    "![",
    "[a](",
    "[a](b",
    "[a](b) ",
    "![a](b) ",
    "[\\a",
    "[`a",
    "[x]: ",
    "[x]: a 'b\n",
    "[]",
  ],
  ...["[x]\n\n[x]: a.b\n\n"],
  "[https://a.b](https://c.d) ",
  ...[
    "<a:",
    "<!-- ",
    "<div ",
    "<div>\n\n",
    "<a b='",
    "<http://",
    "http://a.",
    "a@",
    "x<?",
    "<![CDATA[",
  ],
  ...[
    "> ",
    ">",
    "- ",
    "1. ",
    "> - ",
    "- x\n",
    "1. x\n\n",
    "- x\n* y\n",
    "    x\n\n",
    "a\n",
    "y\n\n",
    "|",
  ],
  ...["a|b\n", "a|b\n-|-\n1|2\n\n"],
  "```\n",
  "~~~\n```\n",
  "~",
  "`",
  ".",
  "。",
  "1.",
  "\t",
  " ",
  "\n",
  "x",
  "これは長い文。",
  "**「関所」**は",
  "😀",
  ...["é́́"],
];
/** Drawn as nothing, or as marks of the letter before. */
const unseen = [
  "\u200b",
  "\u00ad",
  "\u2800",
  "\u3164",
  "\ufe0f",
  "\u0001",
  "\u0378",
  "\u{e0041}",
  "\u0321",
  "\u0903",
];

const texts: string[] = [
  ...repeated.map((piece) => piece.repeat(length / piece.length)),
  ...unseen.map((character) => `[x](https://evil.example)a${character.repeat(lineLength)}`),
  `a|b\n${" ".repeat(lineLength)}x|`,
  `a|b\n${"\t".repeat(lineLength)}|`,
  `a|b\n|${"-".repeat(lineLength)}x`,
  `a|b\n${"-|".repeat(lineLength / 2)}x`,
  `${"a.".repeat(lineLength / 2)}@`,
  `${"*".repeat(lineLength / 2)}a${"*".repeat(lineLength / 2)}`,
  `${"**a *b ".repeat(length / 14)}${"b* a** ".repeat(length / 14)}`,
  `${"~".repeat(lineLength)}\``,
  `- x\n${"y\n".repeat(length / 2)}`,
  `- x\n${"  y\n".repeat(length / 4)}`,
  `${"a\n".repeat(length / 2)}---`,
  `[x]: https://${"a".repeat(length / 2)}.example\n\n${"[x] ".repeat(length / 8)}`,
  `[x]: https://${"a".repeat(length / 2)}.example\n\n${"[b.example][x] ".repeat(length / 30)}`,
  `${"- ".repeat(length / 2)}x`,
  Array.from({ length: Math.sqrt(length) }, (_, depth) => `${" ".repeat(depth * 2)}- x`).join("\n"),
  `a|b\n-|-\n${"1|2\n".repeat(length / 4)}`,
  `${`${"|a".repeat(18)}|\n`}${"|-".repeat(18)}|\n${`${"|関所".repeat(18)}|\n`.repeat(length / 56)}`,
];

for (const text of texts) {
  const safe = safeText(text);
  const shown = [
    drawnText(safe),
    mrkdwnText(safe),
    newestText({ text, maxLength: maxMarkdownLength }),
  ];
  const parts = [
    ...splitText({ text: safe, maxLength: maxMarkdownLength }),
    ...splitText({ text: safe, maxLength: maxMrkdwnLength }),
  ];
  const tasks = [
    question({
      task: sampleTask({ state: "asking", question: { ...asked, prompt: text } }),
      nowMs: askedAtMs,
    }),
    placeholder(
      sampleTask({ state: "waiting", progress: { partialText: text, text, shownAtMs: askedAtMs } }),
    ),
  ];
  if (JSON.stringify(tasks).length > 100_000)
    throw new Error(`${JSON.stringify(text.slice(0, 30))} is shown in full`);
  let end = 0;
  for (
    let piece = nextStreamPiece({ text, from: 0, shows: undefined });
    piece.type === "piece" && piece.end > end;
  ) {
    ({ end } = piece);
    piece = nextStreamPiece({ text, from: end, shows: undefined });
  }
  const longest = Math.max(...[safe, ...shown, ...parts].map((made) => made.length));
  if (longest > text.length * 60)
    throw new Error(`${JSON.stringify(text.slice(0, 30))} becomes ${longest}`);
}
