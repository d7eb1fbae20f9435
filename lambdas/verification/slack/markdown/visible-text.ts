/** Tells texts that show something from those that are invisible, or formatting around nothing. */

import { decodeEntities } from "./entities.ts";
import { invisible } from "./link-labels.ts";
import { parseMarkdown } from "./markdown.ts";
import { type Block, blocksWithin, type Inline, inlinesOf, inlinesWithin, type Link } from "./nodes.ts";

/** Whatever else there is shows nothing by itself: blanks, marks without a letter, characters of no known meaning. */
const visible = new RegExp(`[^\\p{C}\\p{Z}\\p{M}\\s${invisible}]`, "u");
const comments = /<!--[\s\S]*?(?:-->|$)/g;
/** Signs that Slack draws as formatting, or that stand before lines. */
const mrkdwnMarks = /```|[*_~`]|^[\s>•◦▪☐☑─]+/gm;

/** Checks a plain text. */
export function isVisible(text: string): boolean {
  return visible.test(text);
}

/** Of Markdown as Slack draws it. A numbered list shows its numbers. */
export function hasVisibleText(markdown: string): boolean {
  if (!isVisible(markdown)) return false;
  for (const block of blocksWithin(parseMarkdown(markdown).blocks)) if (isVisibleBlock(block)) return true;
  return false;
}

/** Of a part in mrkdwn. */
export function hasVisibleMrkdwn(mrkdwn: string): boolean {
  return isVisible(mrkdwn.replace(mrkdwnMarks, ""));
}

/** Whether the label of a link, or an image's text, shows anything. */
export function hasVisibleLabel(link: Link): boolean {
  if (link.type === "image" || link.children.length === 0) return isVisible(decodeEntities(link.label));
  return hasVisibleInline(link.children);
}

/** Without the blocks within it. */
function isVisibleBlock(block: Block): boolean {
  switch (block.type) {
    case "hr":
    case "quote":
      return false;
    case "list":
      return block.isOrdered;
    case "code":
    case "as_written":
      return isVisible(block.text);
    case "html":
      return isVisible(withoutUnseenHtml(block.text));
    default:
      return hasVisibleInline(inlinesOf(block));
  }
}

function hasVisibleInline(inlines: readonly Inline[]): boolean {
  for (const inline of inlinesWithin(inlines)) {
    if (inline.type === "image") {
      if (hasVisibleLabel(inline)) return true;
    } else if (inline.type === "html") {
      if (isVisible(withoutUnseenHtml(inline.text))) return true;
    } else if ("text" in inline && isVisible(decodeEntities(inline.text))) return true;
  }
  return false;
}

/** Markdown without the comments that are HTML, and not code. */
export function withoutComments(markdown: string): string {
  if (!markdown.includes("<!--")) return markdown;
  const pieces: string[] = [];
  let from = 0;
  for (const block of blocksWithin(parseMarkdown(markdown).blocks)) {
    const html = block.type === "html" ? [block] : inlinesWithin(inlinesOf(block)).filter(isHtml);
    for (const { place } of html) {
      pieces.push(markdown.slice(from, place.start), markdown.slice(place.start, place.end).replace(comments, ""));
      from = place.end;
    }
  }
  return pieces.join("") + markdown.slice(from);
}

function isHtml(inline: Inline): inline is Extract<Inline, { type: "html" }> {
  return inline.type === "html";
}

function withoutUnseenHtml(html: string): string {
  return html.replace(comments, "").replace(/<br\s*\/?>/gi, "");
}
