/** Links whose label is an address of elsewhere, in Markdown: the label and the address stand there instead, as text. Pure. */
import type { Token } from "marked";
import { isAsWritten, parseMarkdown } from "./markdown.ts";
import { isDisguised, isLink, type LinkToken } from "./markdown-inline.ts";
import { childrenOf, tokensWithin } from "./markdown-tokens.ts";
import { hasVisibleLabel, isVisible } from "./visible-text.ts";

/** What is put in may be read anew together with what stands beside it. */
const mostRounds = 3;
/** Of all links but those that show their address; `[x]` alone is one only where it is defined. */
const linkSyntax = /\](?=[([:])/g;

/** What the parser does not tell for certain has no links at all. */
export function honestLinks(markdown: string): string {
  let text = markdown.replace(/\r\n?/g, "\n");
  for (let round = 0; round < mostRounds; round += 1) {
    const tokens = parseMarkdown(text);
    const isWhole = tokens.map(({ raw }) => raw).join("") === text;
    const all = [...tokensWithin(tokens)];
    if (!isWhole || (all.some(isAsWritten) && all.some(({ type }) => type === "def"))) return withoutLinks(text);
    const honest = tokens.map(honestBlock).join("");
    if (honest === text) return text;
    text = honest;
  }
  return withoutLinks(text);
}

function honestBlock(token: Token): string {
  // Whether Slack reads Markdown within HTML is not said anywhere.
  const isUnread = (inner: Token) => isAsWritten(inner) || (inner.type === "html" && inner.block === true);
  if ([...tokensWithin([token])].some(isUnread)) return withoutLinks(token.raw);
  const links = disguisedLinks(token);
  return links.length === 0 ? token.raw : (withShown({ text: token.raw, links }) ?? withoutLinks(token.raw));
}

/** In the order of the text; what is within the label of one of them comes in the next round. */
function disguisedLinks(token: Token): LinkToken[] {
  const isHidden = isLink(token) && (isDisguised(token) || isUnlabeled(token));
  return isHidden ? [token] : childrenOf(token).flatMap(disguisedLinks);
}

/** Nobody would see that there is a link, or an image that Slack does not draw. */
function isUnlabeled(link: LinkToken): boolean {
  return /^!?\[/.test(link.raw) && !hasVisibleLabel(link) && isVisible(link.href);
}

/** Nothing where one of the links does not stand there as it was read: within quotes and lists the lines begin otherwise. */
function withShown({ text, links }: { text: string; links: readonly LinkToken[] }): string | undefined {
  let shown = "";
  let from = 0;
  for (const link of links) {
    const at = text.indexOf(link.raw, from);
    if (at < 0) return undefined;
    shown += text.slice(from, at) + shownAs(link);
    from = at + link.raw.length;
  }
  return shown + text.slice(from);
}

function shownAs(link: LinkToken): string {
  const address = link.href.replace(/\s+/g, "%20");
  return isUnlabeled(link) ? address : `${link.text} (${address})`;
}

function withoutLinks(text: string): string {
  return text.replace(linkSyntax, "] ");
}
