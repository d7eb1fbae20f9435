/** Converts Markdown to Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text) for texts outside of markdown blocks. */

import { isVisible } from "@sekisho/runtime/visible-text.ts";
import { decodeEntities, escapeMrkdwn, removeJoiners } from "./characters.ts";
import { settleSigns, storedSigns, storeSigns } from "./literal.ts";
import type { Markdown } from "./markdown.ts";
import type { Inline, Link, List, MarkdownBlock } from "./nodes.ts";
import { tableHeadLines, tableLines } from "./tables.ts";
import {
  createTextBlock,
  groupBlocks,
  hasText,
  joinBlocks,
  listPieces,
  type TextBlock,
} from "./text-blocks.ts";
import { disguisedLinks, inlineToPlainText, shownAddress } from "./visible-text.ts";

const rule = "─".repeat(12);
const bullets = ["•", "◦", "▪"];
/** Deeper levels are not indented any further. */
const maxDepth = 8;

/** `blocks` must come from `safeMarkdown`. The result is escaped. */
export function toMrkdwn(markdown: Pick<Markdown, "blocks">): string {
  return joinBlocks(mrkdwnBlocks(markdown)).trimEnd();
}

/** Returns a block of mrkdwn for each block that shows something. */
export function mrkdwnBlocks({ blocks }: Pick<Markdown, "blocks">): TextBlock[] {
  return convertBlocks(blocks, 0);
}

function convertBlocks(blocks: readonly MarkdownBlock[], depth: number): TextBlock[] {
  const textBlocks: TextBlock[] = [];
  let isApart = false;
  for (const block of blocks) {
    isApart ||= block.isApart;
    const textBlock = convertBlock(block, depth);
    if (textBlock === undefined || !hasText(textBlock)) continue;
    textBlocks.push({ ...textBlock, joint: isApart ? "\n\n" : "\n" });
    isApart = false;
  }
  return textBlocks;
}

function convertBlock(block: MarkdownBlock, depth: number): TextBlock | undefined {
  switch (block.type) {
    case "paragraph":
      return createTextBlock(settleSigns(inlineMrkdwn({ inlines: block.children })));
    case "heading":
      return {
        ...createTextBlock(
          settleSigns(bold(inlineMrkdwn({ inlines: block.children, isBold: true }))),
        ),
        kind: "heading",
      };
    case "code":
      return isVisible(block.text) ? createFence(block.text.split("\n"), 0) : undefined;
    case "table":
      return createFence(tableLines(block), tableHeadLines);
    case "hr":
      return createTextBlock(rule);
    case "quote":
      return groupBlocks(convertBlocks(block.blocks, depth).flatMap(listPieces).map(quote), "\n");
    case "list":
      return groupBlocks(convertItems(block, depth), "\n");
    case "html":
    case "as_written":
      return createTextBlock(settleSigns(escapePiece(block.text.trimEnd())));
    case "definitions":
      return undefined;
  }
}

const quoteMark = "> ";

function quote(block: TextBlock): TextBlock {
  const mark = (line: string) => quoteMark + line;
  return {
    ...block,
    head: block.head.map(mark),
    body: block.body.map(mark),
    tail: block.tail.map(mark),
    joint: block.joint.replace("\n\n", `\n${quoteMark}\n`),
    prefix: quoteMark + block.prefix,
  };
}

function convertItems({ isOrdered, start, items }: List, depth: number): TextBlock[] {
  const indent = "    ".repeat(Math.min(depth, maxDepth));
  const bullet = bullets[Math.min(depth, bullets.length - 1)] ?? "•";
  return items.flatMap(({ isChecked, blocks }, index) => {
    const number = isOrdered ? `${start + index}.` : bullet;
    const mark = isChecked === undefined ? number : isChecked ? "☑" : "☐";
    return addMark(`${indent}${mark} `, blocks, depth);
  });
}

/** Puts further blocks of the item below its first line. */
function addMark(mark: string, blocks: readonly MarkdownBlock[], depth: number): TextBlock[] {
  const shownBlocks = blocks.filter(({ type }) => type !== "definitions");
  const [first, ...others] = convertBlocks(shownBlocks, depth + 1)
    .map((block) => ({ ...block, joint: "\n" }))
    .flatMap(listPieces);
  const isText = shownBlocks[0]?.type === "paragraph" || shownBlocks[0]?.type === "heading";
  if (first === undefined) return [createTextBlock(mark)];
  if (!isText || first.head.length > 0) return [createTextBlock(mark), first, ...others];
  const [line = "", ...lines] = first.body;
  return [{ ...first, body: [mark + line, ...lines] }, ...others];
}

function bold(text: string): string {
  return text
    .split("\n")
    .map((line) => (line.trim() === "" ? line : `*${line.trim()}*`))
    .join("\n");
}

/** Each message that shows some of the lines repeats the first `headLength` of them. */
function createFence(lines: readonly string[], headLength: number): TextBlock {
  // Separates three backticks in the text, which would end the fence.
  const texts = lines.map((line) =>
    escapeMrkdwn(removeJoiners(line)).replace(/``(?=`)/g, "``\u200B"),
  );
  const [head, body] = [texts.slice(0, headLength), texts.slice(headLength)];
  return {
    ...createTextBlock(""),
    kind: "fence",
    head: ["```", ...head],
    body,
    tail: ["```"],
  };
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
