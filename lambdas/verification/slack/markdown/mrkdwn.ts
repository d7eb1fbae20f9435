/** Markdown as Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text), for where no markdown block can be. */

import { disguisedLinks, plainOf } from "./disguised-links.ts";
import { decodeEntities } from "./entities.ts";
import { escapeMrkdwn } from "./escape.ts";
import { shownAddress } from "./link-labels.ts";
import { parseMarkdown } from "./markdown.ts";
import type { Block, Inline, Link, List, ListItem } from "./nodes.ts";
import { tableLines } from "./tables.ts";
import { isVisible } from "./visible-text.ts";

const rule = "─".repeat(12);
const bullets = ["•", "◦", "▪"];
/** Deeper than this nobody can tell the levels apart. */
const maxDepth = 8;

/** `markdown` comes from `safeMarkdown`; everything is escaped. */
export function toMrkdwn(markdown: string): string {
  return blocksMrkdwn({ blocks: parseMarkdown(markdown).blocks, depth: 0 }).trimEnd();
}

function blocksMrkdwn({ blocks, depth }: { blocks: readonly Block[]; depth: number }): string {
  let text = "";
  let isApart = false;
  for (const block of blocks) {
    isApart ||= block.isApart;
    const shown = blockMrkdwn({ block, depth });
    if (shown.trim() === "") continue;
    text += (text === "" ? "" : isApart ? "\n\n" : "\n") + shown;
    isApart = false;
  }
  return text;
}

function blockMrkdwn({ block, depth }: { block: Block; depth: number }): string {
  switch (block.type) {
    case "paragraph":
      return inlineMrkdwn({ inlines: block.children });
    case "heading":
      return bold(inlineMrkdwn({ inlines: block.children, isBold: true }));
    case "code":
      return isVisible(block.text) ? fenced(block.text) : "";
    case "table":
      return fenced(tableLines(block).join("\n"));
    case "hr":
      return rule;
    case "quote":
      return prefixed({ text: blocksMrkdwn({ blocks: block.blocks, depth }), prefix: "> " });
    case "list":
      return listMrkdwn({ list: block, depth });
    case "html":
    case "as_written":
      return escapeMrkdwn(withoutJoiners(block.text).trimEnd());
  }
}

function listMrkdwn({ list, depth }: { list: List; depth: number }): string {
  const indent = "    ".repeat(Math.min(depth, maxDepth));
  const items = list.items.map((item, index) => {
    const mark = list.isOrdered ? `${list.start + index}.` : (bullets[Math.min(depth, bullets.length - 1)] ?? "•");
    return `${indent}${item.isChecked === undefined ? `${mark} ` : ""}${itemMrkdwn({ item, depth })}`;
  });
  return items.join("\n");
}

/** What follows the first line stands below it, a nested list indented by one level more. */
function itemMrkdwn({ item, depth }: { item: ListItem; depth: number }): string {
  const box = item.isChecked === undefined ? "" : item.isChecked ? "☑ " : "☐ ";
  const blocks = item.blocks.map((block) => blockMrkdwn({ block, depth: depth + 1 }));
  const [first, ...rest] = blocks.filter((block) => block.trim() !== "");
  const startsBelow = item.blocks[0] !== undefined && !["paragraph", "heading"].includes(item.blocks[0].type);
  return box + (startsBelow ? "\n" : "") + [first ?? "", ...rest].join("\n");
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

// The inside of a paragraph, a heading or a cell: from Markdown's tokens to Slack's mrkdwn.

/** `isMark`: Slack takes it for formatting only where no letter touches it. */
type Piece = { text: string; isMark: boolean };
/** Invisible; parts a mark from the letters around it, as Japanese has no blanks there. */
const zeroWidthSpace = "\u200B";

/** `isBold`: it stands within bold text already, which Slack cannot nest. `isLabel`: it stands within a link. */
type Within = { isBold: boolean; isLabel: boolean; disguised: ReadonlySet<Link> };

/** `inlines` are a whole paragraph, heading or cell. */
function inlineMrkdwn({ inlines, isBold = false }: { inlines: readonly Inline[]; isBold?: boolean }): string {
  return innerMrkdwn(inlines, { isBold, isLabel: false, disguised: disguisedLinks(inlines) });
}

function innerMrkdwn(inlines: readonly Inline[], within: Within): string {
  const shown: string[] = [];
  let end = "";
  let afterMark = false;
  for (const inline of inlines) {
    const piece = pieceOf(inline, within);
    if (piece.text === "") continue;
    const touches = (piece.isMark && /[\p{L}\p{N}]$/u.test(end)) || (afterMark && /^[\p{L}\p{N}]/u.test(piece.text));
    shown.push(touches ? zeroWidthSpace : "", piece.text);
    end = piece.text.slice(-2);
    afterMark = piece.isMark;
  }
  return shown.join("");
}

function pieceOf(inline: Inline, within: Within): Piece {
  switch (inline.type) {
    case "strong": {
      const inner = innerMrkdwn(inline.children, { ...within, isBold: true });
      return within.isBold ? text(inner) : wrapped({ text: inner, mark: "*" });
    }
    case "em":
      return wrapped({ text: innerMrkdwn(inline.children, within), mark: "_" });
    case "del":
      return wrapped({ text: innerMrkdwn(inline.children, within), mark: "~" });
    case "codespan":
      return wrapped({ text: escaped(decodeEntities(inline.text)).replaceAll("`", "ˋ"), mark: "`" });
    case "link": {
      const label = innerMrkdwn(inline.children, { ...within, isLabel: true });
      return text(linkMrkdwn({ link: inline, label, within }));
    }
    case "image": {
      const label = escaped(decodeEntities(inline.label));
      return text(within.isLabel ? label : linkMrkdwn({ link: inline, label, within }));
    }
    default:
      return text(escaped(plainOf(inline)));
  }
}

/** Slack formats within a line only. */
function wrapped({ text: inner, mark }: { text: string; mark: string }): Piece {
  const lines = inner.split("\n").map((line) => (line.trim() === "" ? line : around({ line, mark })));
  return { text: lines.join("\n"), isMark: true };
}

function around({ line, mark }: { line: string; mark: string }): string {
  const bare = line.trim();
  return line.replace(bare, () => `${mark}${bare}${mark}`);
}

/** A label that may be taken for another address stands beside the link. */
function linkMrkdwn({ link, label, within }: { link: Link; label: string; within: Within }): string {
  const { href, form } = link;
  const shown = isVisible(label) ? label.replace(/\s+/g, " ").trim() : "";
  const address = escaped(shownAddress(href));
  const isNamed = form !== "auto" && shown !== "";
  if (!/^(?:https?|mailto|tel):/i.test(href)) return isNamed ? `${shown} (${address})` : address;
  if (within.disguised.has(link)) return isNamed ? `${shown} (<${address}>)` : `<${address}>`;
  const target = escaped(href.replace(/[|<>\s]/g, (character) => encodeURIComponent(character)));
  return shown === "" || shown === target || `mailto:${shown}` === target ? `<${target}>` : `<${target}|${shown}>`;
}

function text(value: string): Piece {
  return { text: value, isMark: false };
}

function escaped(value: string): string {
  return escapeMrkdwn(withoutJoiners(value));
}

// Slack's own notation (`<!channel>`, `<@U…>`, `<https://…|label>`) in an agent's text: made to do nothing.

/** Invisible, and no place to break a line: behind it `<` begins nothing. */
const wordJoiner = "\u2060";

const entity = "&(?:#\\w{1,9}|[a-z]\\w{1,24});";
/** Mentions, channels, broadcasts, groups, dates, however their signs are written. `<!DOCTYPE` is HTML. */
const named = `\\\\*(?:[@#!]|${entity})(?:\\\\*(?:\\w|${entity}))`;
/** The scheme of an address, and a bar behind it. */
const linked = `\\\\*(?:[a-z]|${entity})(?:[a-z0-9+.-]|${entity}){0,30}`;

/**
 * Wherever it stands, and whether its signs are written as entities or behind backslashes: mentions, broadcasts, groups, dates,
 * channels, links with a label. Real Markdown and HTML are none of it (`<https://example.com>`, `<!DOCTYPE html>`, `<!-- … -->`).
 */
const notation = new RegExp(
  [
    `<(?=(?!!doctype\\b)${named}|&#|${linked}(?::|${entity})[^\\s<>|]*?(?:\\||&(?:#\\w{1,9}|vert|verbar|verticalline);))`,
    `(?:&lt;|&#0{0,9}60;|&#x0{0,9}3c;)(?=(?!!doctype\\b)${named}|&#|${linked}(?::|${entity}))`,
  ].join("|"),
  "gi",
);

export function withoutNotation(text: string): string {
  return text.replace(notation, (open) => `${open}${wordJoiner}`);
}

/** What `withoutNotation` put in goes where `<` is escaped anyway. */
export function withoutJoiners(text: string): string {
  return text.replaceAll(`<${wordJoiner}`, "<");
}
