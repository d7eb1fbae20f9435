/**
 * Converts Markdown to Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text) for texts outside of markdown blocks,
 * and draws tables as fenced text where Slack cannot draw them.
 */

import { isVisible } from "@sekisho/runtime/visible-text.ts";
import { decodeEntities, escapeMrkdwn, removeJoiners } from "./characters.ts";
import { splitCells } from "./lines.ts";
import { settleSigns, storedSigns, storeSigns } from "./literal.ts";
import { type Markdown, parseMarkdown } from "./markdown.ts";
import type { Cell, Inline, Link, List, ListItem, MarkdownBlock, Table } from "./nodes.ts";
import { blockText, jointBefore, maxMarkdownLength, scanBlocks, type TextBlock } from "./split.ts";
import { disguisedLinks, inlineToPlainText, shownAddress, toPlainText } from "./visible-text.ts";

const rule = "─".repeat(12);
const bullets = ["•", "◦", "▪"];
/** Deeper levels are not indented any further. */
const maxDepth = 8;

/** `blocks` must come from `safeMarkdown`. The result is escaped. */
export function toMrkdwn({ blocks }: Pick<Markdown, "blocks">): string {
  return blocksMrkdwn({ blocks, depth: 0 }).trimEnd();
}

function blocksMrkdwn({
  blocks,
  depth,
}: {
  blocks: readonly MarkdownBlock[];
  depth: number;
}): string {
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

function blockMrkdwn({ block, depth }: { block: MarkdownBlock; depth: number }): string {
  switch (block.type) {
    case "paragraph":
      return settleSigns(inlineMrkdwn({ inlines: block.children }));
    case "heading":
      return settleSigns(bold(inlineMrkdwn({ inlines: block.children, isBold: true })));
    case "code":
      return isVisible(block.text) ? fenceText(block.text) : "";
    case "table":
      return fenceText(tableLines(block).join("\n"));
    case "hr":
      return rule;
    case "quote":
      return blocksMrkdwn({ blocks: block.blocks, depth }).replace(/^/gm, "> ");
    case "list":
      return listMrkdwn({ list: block, depth });
    case "html":
    case "as_written":
      return settleSigns(escapePiece(block.text.trimEnd()));
  }
}

function listMrkdwn({ list, depth }: { list: List; depth: number }): string {
  const indent = "    ".repeat(Math.min(depth, maxDepth));
  const items = list.items.map((item, index) => {
    const mark = list.isOrdered
      ? `${list.start + index}.`
      : (bullets[Math.min(depth, bullets.length - 1)] ?? "•");
    return `${indent}${item.isChecked === undefined ? `${mark} ` : ""}${itemMrkdwn({ item, depth })}`;
  });
  return items.join("\n");
}

/** Puts further blocks of the item below its first line. */
function itemMrkdwn({ item, depth }: { item: ListItem; depth: number }): string {
  const box = item.isChecked === undefined ? "" : item.isChecked ? "☑ " : "☐ ";
  const blocks = item.blocks.map((block) => blockMrkdwn({ block, depth: depth + 1 }));
  const [first, ...rest] = blocks.filter((block) => block.trim() !== "");
  const startsBelow =
    item.blocks[0] !== undefined && !["paragraph", "heading"].includes(item.blocks[0].type);
  return box + (startsBelow ? "\n" : "") + [first ?? "", ...rest].join("\n");
}

function bold(text: string): string {
  return text
    .split("\n")
    .map((line) => (line.trim() === "" ? line : `*${line.trim()}*`))
    .join("\n");
}

/** Separates three backticks in the text, which would end the fence. */
function fenceText(text: string): string {
  return `\`\`\`\n${escapeMrkdwn(removeJoiners(text)).replaceAll("```", "``\u200B`")}\n\`\`\``;
}

/** `isMark` is true for formatting, which Slack recognizes only if no letter and no sign of formatting touches it. */
type Piece = { text: string; isMark: boolean };
const touchingEnd = new RegExp(`[\\p{L}\\p{N}${storedSigns}]$`, "u");
const touchingStart = new RegExp(`^[\\p{L}\\p{N}${storedSigns}]`, "u");
/** Invisible. Separates a mark from adjacent letters, because Japanese has no blanks there. */
const zeroWidthSpace = "\u200B";

/** `isBold` is true within bold text, which Slack cannot nest. `isLabel` is true within a link. */
type Within = { isBold: boolean; isLabel: boolean; disguised: ReadonlySet<Link> };

/**
 * `inlines` must be a whole paragraph, heading or cell, because a misleading address can span several of them. The signs of literal
 * text are still to be settled.
 */
function inlineMrkdwn({
  inlines,
  isBold = false,
}: {
  inlines: readonly Inline[];
  isBold?: boolean;
}): string {
  return innerMrkdwn(inlines, { isBold, isLabel: false, disguised: disguisedLinks(inlines) });
}

function innerMrkdwn(inlines: readonly Inline[], within: Within): string {
  const shown: string[] = [];
  let end = "";
  let afterMark = false;
  for (const inline of inlines) {
    const piece = createPiece(inline, within);
    if (piece.text === "") continue;
    const touches =
      (piece.isMark && touchingEnd.test(end)) || (afterMark && touchingStart.test(piece.text));
    shown.push(touches ? zeroWidthSpace : "", piece.text);
    end = piece.text.slice(-2);
    afterMark = piece.isMark;
  }
  return shown.join("");
}

function createPiece(inline: Inline, within: Within): Piece {
  switch (inline.type) {
    case "strong": {
      const inner = innerMrkdwn(inline.children, { ...within, isBold: true });
      return within.isBold ? text(inner) : wrapPiece({ text: inner, mark: "*" });
    }
    case "em":
      return wrapPiece({ text: innerMrkdwn(inline.children, within), mark: "_" });
    case "del":
      return wrapPiece({ text: innerMrkdwn(inline.children, within), mark: "~" });
    case "codespan":
      return wrapPiece({
        text: escapeText(decodeEntities(inline.text)).replaceAll("`", "ˋ"),
        mark: "`",
      });
    case "link": {
      const label = innerMrkdwn(inline.children, { ...within, isLabel: true });
      return text(linkMrkdwn({ link: inline, label, within }));
    }
    case "image": {
      const label = escapePiece(decodeEntities(inline.label));
      return text(within.isLabel ? label : linkMrkdwn({ link: inline, label, within }));
    }
    default:
      return text(escapePiece(inlineToPlainText(inline)));
  }
}

/** Wraps each line by itself, because Slack's formatting does not span lines. */
function wrapPiece({ text: inner, mark }: { text: string; mark: string }): Piece {
  const lines = inner.split("\n").map((line) => {
    const bare = line.trim();
    return bare === "" ? line : line.replace(bare, () => `${mark}${bare}${mark}`);
  });
  return { text: lines.join("\n"), isMark: true };
}

/** Shows the address beside the label if the label could be mistaken for another address. */
function linkMrkdwn({
  link,
  label,
  within,
}: {
  link: Link;
  label: string;
  within: Within;
}): string {
  const { href, form } = link;
  const shown = isVisible(label) ? label.replace(/\s+/g, " ").trim() : "";
  const address = escapeText(shownAddress(href));
  const isNamed = form !== "auto" && shown !== "";
  if (!/^(?:https?|mailto|tel):/i.test(href))
    return isNamed ? `${shown} (${storeSigns(address)})` : storeSigns(address);
  if (within.disguised.has(link)) return isNamed ? `${shown} (<${address}>)` : `<${address}>`;
  const target = escapeText(href.replace(/[|<>\s]/g, (character) => encodeURIComponent(character)));
  const written = storeSigns(target);
  return shown === "" || shown === written || `mailto:${shown}` === written
    ? `<${target}>`
    : `<${target}|${shown}>`;
}

function text(value: string): Piece {
  return { text: value, isMark: false };
}

/** For text in which Slack finds no formatting, such as code and addresses. */
function escapeText(value: string): string {
  return escapeMrkdwn(removeJoiners(value));
}

function escapePiece(value: string): string {
  return storeSigns(escapeMrkdwn(removeJoiners(value)));
}

const minWidth = 3;
/** Column widths, tried in order until the padding is small enough. A longer cell is not cut. */
const maxWidths = [48, 24, 12, 6, 3];
/** The limit of the padding: blanks per character in cells, and blanks that every table may have. */
const maxBlanksPerCharacter = 2;
const blanksOfAnyTable = 200;

type Drawn = { text: string; width: number };

/**
 * Draws the header, a rule of hyphens and the rows. Chinese, Japanese and Korean letters take two columns. The result is not escaped.
 * Cells beyond the header are shown at the end of their row.
 */
function tableLines({ header, align, rows }: Pick<Table, "header" | "align" | "rows">): string[] {
  const cells = [header, ...rows].map(drawCells);
  const widths = columnWidths({ cells, columns: header.length });
  const line = (row: readonly Drawn[]) =>
    row
      .map((cell, column) =>
        padCell({ cell, width: widths[column] ?? 0, align: align[column] ?? "left" }),
      )
      .join(" | ")
      .trimEnd();
  const rule = widths
    .map((width, column) =>
      "-".repeat(Math.max(width, minWidth) + (column === 0 ? 1 : 2)).slice(edge(column)),
    )
    .join("+");
  const [head = [], ...others] = cells;
  return [line(head), rule, ...others.map(line)];

  function edge(column: number): number {
    return column === widths.length - 1 ? 1 : 0;
  }
}

/** Drops empty cells at the end of the row. */
function drawCells(row: readonly Cell[]): Drawn[] {
  const cells = row.map((cell) => {
    const text = cellText(cell);
    return { text, width: displayWidth(text) };
  });
  return cells.slice(0, cells.findLastIndex(({ text }) => text !== "") + 1);
}

/** Narrows the columns if one long cell among many short ones would make the table many times longer than its text. */
function columnWidths({
  cells,
  columns,
}: {
  cells: readonly (readonly Drawn[])[];
  columns: number;
}): number[] {
  const longest = Array.from({ length: columns }, () => minWidth);
  let length = 0;
  for (const row of cells) {
    for (const [column, { text, width }] of row.entries()) {
      length += text.length;
      if (column < columns) longest[column] = Math.max(longest[column] ?? 0, width);
    }
  }
  const most = length * maxBlanksPerCharacter + blanksOfAnyTable;
  const maxWidth =
    maxWidths.find((width) => countBlanks({ cells, longest, maxWidth: width }) <= most) ?? 0;
  return longest.map((width) => Math.min(width, maxWidth));
}

type Columns = {
  cells: readonly (readonly Drawn[])[];
  longest: readonly number[];
  maxWidth: number;
};

function countBlanks({ cells, longest, maxWidth }: Columns): number {
  let blanks = 0;
  for (const row of cells)
    for (const [column, { width }] of row.entries())
      blanks += Math.max(0, Math.min(longest[column] ?? 0, maxWidth) - width);
  return blanks;
}

function cellText({ children }: Cell): string {
  return toPlainText(children).replace(/\s+/g, " ").replaceAll("```", "'''").trim();
}

function padCell({ cell, width, align }: { cell: Drawn; width: number; align: string }): string {
  const missing = Math.max(0, width - cell.width);
  const before = align === "right" ? missing : align === "center" ? Math.floor(missing / 2) : 0;
  return " ".repeat(before) + cell.text + " ".repeat(missing - before);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;

/** Each of these characters is one grapheme, so the slow segmenter is not needed. */
const single = /^[\x20-\x7e\u3001-\u3029\u3041-\u3096\u30A0-\u30FF\u4E00-\u9FFF\uFF01-\uFF60]*$/;

export function displayWidth(text: string): number {
  if (single.test(text)) return text.length + (text.match(/[^\x20-\x7e]/g)?.length ?? 0);
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The limits of a table block (https://docs.slack.dev/reference/block-kit/blocks/table-block), into which Slack turns a Markdown table. */
const maxRows = 100;
const maxColumns = 20;
/** All cells of a table may hold 10,000 characters. Hyphens and bars also count here. */
const maxTableLength = 9_500;

/**
 * Keeps a table if Slack can draw it and no other table can get into the same message. Draws other tables as fenced text, which
 * lengthens the Markdown by the padding. `markdown` must be safe.
 */
export function fencedTables(markdown: string): string {
  const blocks = scanBlocks(markdown);
  if (!blocks.some(({ kind }) => kind === "table")) return markdown;
  let text = "";
  let lastTableEnd = Number.NEGATIVE_INFINITY;
  for (const block of blocks) {
    text += jointBefore({ block, isFirst: text === "" });
    const isAlone = text.length - lastTableEnd >= maxMarkdownLength;
    const isDrawn = block.kind === "table" && isAlone && canSlackDraw(block);
    text += block.kind === "table" && !isDrawn ? fencedTable(block) : blockText(block);
    if (isDrawn) lastTableEnd = text.length;
  }
  return text;
}

function canSlackDraw(block: TextBlock): boolean {
  const columns = (block.head[1] ?? "").split("|").filter((cell) => cell.includes("-")).length;
  if (
    columns > maxColumns ||
    block.body.length >= maxRows ||
    blockText(block).length > maxTableLength
  )
    return false;
  // Slack does not document cells beyond the header, and GitHub Flavored Markdown (section 4.10) ignores them.
  return !block.body.some((row) =>
    splitCells(row).some(({ start, end }, index) => index >= columns && start < end),
  );
}

/** Returns the block unchanged if the parser does not read it as a table. */
function fencedTable(block: TextBlock): string {
  const text = blockText(block);
  const [table, ...others] = parseMarkdown(text).blocks;
  if (others.length > 0 || table?.type !== "table") return text;
  return ["```", ...tableLines(table), "```"].join("\n");
}
