/** Markdown as Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text), for where no markdown block can be. Pure. */

import type { Token, Tokens } from "marked";
import { escapeMrkdwn } from "./escape.ts";
import { parseMarkdown } from "./markdown.ts";
import { inlineMrkdwn } from "./markdown-inline.ts";
import { tableLines } from "./markdown-table.ts";
import { withoutJoiners } from "./slack-notation.ts";
import { isVisible } from "./visible-text.ts";

const rule = "─".repeat(12);
const bullets = ["•", "◦", "▪"];
/** Deeper than this nobody can tell the levels apart. */
const maxDepth = 8;

/** `markdown` comes from `safeMarkdown`; everything is escaped. */
export function toMrkdwn(markdown: string): string {
  try {
    return blocksMrkdwn({ tokens: parseMarkdown(markdown), depth: 0 }).trimEnd();
  } catch (thrown) {
    // Nested deeper than the stack is: as it was written.
    if (thrown instanceof RangeError) return escapeMrkdwn(withoutJoiners(markdown)).trimEnd();
    throw thrown;
  }
}

function blocksMrkdwn({ tokens, depth }: { tokens: readonly Token[]; depth: number }): string {
  let text = "";
  let joint = "";
  for (const token of tokens) {
    if (token.type === "space") joint = "\n\n";
    const block = blockMrkdwn({ token, depth });
    if (block.trim() === "") continue;
    text += (text === "" ? "" : joint) + block;
    joint = /\n[ \t]*\n$/.test(token.raw) ? "\n\n" : "\n";
  }
  return text;
}

function blockMrkdwn({ token, depth }: { token: Token; depth: number }): string {
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "heading":
      return bold(inlineMrkdwn({ tokens: token.tokens ?? [], isBold: true }));
    case "code":
      return isVisible(String(token.text)) ? fenced(String(token.text)) : "";
    case "table":
      return fenced(tableLines(token as Tokens.Table).join("\n"));
    case "hr":
      return rule;
    case "blockquote":
      return prefixed({ text: blocksMrkdwn({ tokens: token.tokens ?? [], depth }), prefix: "> " });
    case "list":
      return listMrkdwn({ list: token as Tokens.List, depth });
    case "html":
      return escapeMrkdwn(withoutJoiners(String(token.text)).trimEnd());
    default:
      return inlineMrkdwn({ tokens: [token] });
  }
}

function listMrkdwn({ list, depth }: { list: Tokens.List; depth: number }): string {
  const first = typeof list.start === "number" ? list.start : 1;
  const indent = "    ".repeat(Math.min(depth, maxDepth));
  const items = list.items.map((item, index) => {
    const mark = list.ordered ? `${first + index}.` : (bullets[Math.min(depth, bullets.length - 1)] ?? "•");
    return `${indent}${item.task ? "" : `${mark} `}${itemMrkdwn({ item, depth })}`;
  });
  return items.join("\n");
}

/** What follows the first line stands below it, a nested list indented by one level more. */
function itemMrkdwn({ item, depth }: { item: Tokens.ListItem; depth: number }): string {
  const isChecked = item.task ? (item.checked ? "☑ " : "☐ ") : "";
  const tokens = item.tokens.filter(({ type }) => type !== "checkbox" && type !== "space");
  const blocks = tokens.map((token) => blockMrkdwn({ token, depth: depth + 1 }).replace(/^[☐☑] /, ""));
  const [first, ...rest] = blocks.filter((block) => block.trim() !== "");
  const startsBelow = tokens[0] !== undefined && !["text", "paragraph", "heading"].includes(tokens[0].type);
  return isChecked + (startsBelow ? "\n" : "") + [first ?? "", ...rest].join("\n");
}

function bold(text: string): string {
  return text
    .split("\n")
    .map((line) => (line.trim() === "" ? line : `*${line.trim()}*`))
    .join("\n");
}

/** Three backticks within would end the fence. */
function fenced(text: string): string {
  return `\`\`\`\n${escapeMrkdwn(withoutJoiners(text)).replaceAll("```", "``\u200B`")}\n\`\`\``;
}

function prefixed({ text, prefix }: { text: string; prefix: string }): string {
  return text.replace(/^/gm, prefix);
}
