/** Tells texts that show something from those that are invisible, or formatting around nothing. Pure. */
import type { Token } from "marked";
import { parseMarkdown } from "./markdown.ts";
import { decodeEntities } from "./markdown-inline.ts";
import { childrenOf, tokensWithin } from "./markdown-tokens.ts";

/** Control and format characters, blanks, marks without a letter, and letters that are drawn as nothing. */
const visible = /[^\p{C}\p{Z}\p{M}\s\u115F\u1160\u3164\uFFA0\u2800]/u;
/** Signs that Slack draws as formatting, or that stand before lines. */
const mrkdwnMarks = /```|[*_~`]|^[\s>•◦▪☐☑─]+/gm;

/** Checks a plain text. */
export function isVisible(text: string): boolean {
  return visible.test(text);
}

/** Of Markdown as Slack draws it. A numbered list shows its numbers. */
export function hasVisibleText(markdown: string): boolean {
  if (!isVisible(markdown)) return false;
  for (const token of tokensWithin(parseMarkdown(markdown))) if (isVisibleToken(token)) return true;
  return false;
}

/** Of a part in mrkdwn. */
export function hasVisibleMrkdwn(mrkdwn: string): boolean {
  return isVisible(mrkdwn.replace(mrkdwnMarks, ""));
}

/** Whether the label of a link, or an image's text, shows anything. */
export function hasVisibleLabel(link: Token): boolean {
  const inner = [...tokensWithin(childrenOf(link))];
  if (link.type === "image" || inner.length === 0)
    return "text" in link && isVisible(decodeEntities(String(link.text)));
  return inner.some(isVisibleToken);
}

/** Without what is within it. */
function isVisibleToken(token: Token): boolean {
  switch (token.type) {
    case "space":
    case "def":
    case "hr":
    case "br":
    case "checkbox":
      return false;
    case "list":
      return token.ordered === true;
    case "html":
      return isVisible(token.raw.replace(/<!--[\s\S]*?(?:-->|$)|<br\s*\/?>/gi, ""));
    case "image":
      return hasVisibleLabel(token);
    default:
      if (childrenOf(token).length > 0 || token.type === "table" || token.type === "list_item") return false;
      return "text" in token && isVisible(decodeEntities(String(token.text)));
  }
}
