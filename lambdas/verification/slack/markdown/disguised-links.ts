/** Finds the links that a reader may take for links to another address. */

import { decodeEntities } from "./entities.ts";
import { cjk, hidesHost, mayNameAddress, tellsAnotherAddress } from "./link-labels.ts";
import { type Inline, inlinesWithin, type Link } from "./nodes.ts";

/** A text between two blanks or line ends, and the links in it. `pieces` counts the nodes that it was put together from. */
type Word = { text: string; links: Link[]; pieces: number };

/** White space that a reader sees. Thinner blanks do not part `bank` from `.example`. */
const wideBlank = "[ \\t\\n\\r\\u00A0\\u2000-\\u2005\\u2007\\u3000]+";
/** Chinese and Japanese have no blanks between words, but these signs separate words just as well. */
const separator = new RegExp(`${wideBlank}|[、，；！？]|(?<=${cjk})：|(?<=${cjk})。(?=${cjk})`, "u");

/**
 * `inlines` are one paragraph, heading or cell. Each label is judged, and each word that has a link in it: in
 * `bank.[example](https://evil.example)` the reader sees one address. An address that stands there by itself is disguised where it hides
 * its host.
 */
export function disguisedLinks(inlines: readonly Inline[]): ReadonlySet<Link> {
  const disguised = new Set<Link>();
  for (const inline of inlinesWithin(inlines)) if (isLink(inline) && isDisguised(inline)) disguised.add(inline);
  for (const word of visibleWords(inlines)) if (isMisleading(word)) for (const link of word.links) disguised.add(link);
  return disguised;
}

function isDisguised(link: Link): boolean {
  if (link.form === "auto") return hidesHost(link.href);
  return tellsAnotherAddress({ label: labelOf(link), address: link.href });
}

/** What comes from one node has been judged with its label. */
function isMisleading({ text, links, pieces }: Word): boolean {
  if (links.length === 0 || pieces === 1 || !mayNameAddress(text)) return false;
  const [address = "", ...others] = new Set(links.map(({ href }) => href));
  return others.length > 0 || tellsAnotherAddress({ label: text, address });
}

function visibleWords(inlines: readonly Inline[]): Word[] {
  let word: Word = { text: "", links: [], pieces: 0 };
  const words = [word];
  add(inlines);
  return words;

  /** Formatting and HTML tags part nothing. A blank at the edge of a label is not shown in mrkdwn, so it parts nothing either. */
  function add(nodes: readonly Inline[]): void {
    for (const node of nodes) {
      if (isLabeled(node)) addText(labelOf(node).trim(), node);
      else if (node.type === "strong" || node.type === "em" || node.type === "del") add(node.children);
      else if (node.type !== "html") addText(plainOf(node));
    }
  }

  function addText(text: string, link?: Link): void {
    const parts = separator.test(text) ? text.split(separator) : [text];
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        word = { text: "", links: [], pieces: 0 };
        words.push(word);
      }
      if (part === "") continue;
      word.text += part;
      word.pieces += 1;
      if (link !== undefined) word.links.push(link);
    }
  }
}

function isLabeled(inline: Inline): inline is Link {
  return isLink(inline) && inline.form !== "auto";
}

function isLink(inline: Inline): inline is Link {
  return inline.type === "link" || inline.type === "image";
}

/** As it is read: without formatting, and without HTML. */
function labelOf(link: Link): string {
  const [first, ...others] = link.children;
  if (first?.type === "text" && others.length === 0) return decodeEntities(first.text);
  const children = link.children.filter(({ type }) => type !== "html");
  return link.type === "image" || children.length === 0 ? decodeEntities(link.label) : inlinePlain(children);
}

// The text of inline Markdown without its formatting, as it is read.

/** Without any formatting; not escaped. */
export function inlinePlain(inlines: readonly Inline[]): string {
  return inlines.map(plainOf).join("");
}

export function plainOf(inline: Inline): string {
  switch (inline.type) {
    case "br":
      return "\n";
    case "html":
      return isLineBreak(inline.text) ? "\n" : inline.text;
    case "image":
      return decodeEntities(inline.label);
    case "text":
    case "codespan":
      return decodeEntities(inline.text);
    default:
      return inlinePlain(inline.children);
  }
}

function isLineBreak(html: string): boolean {
  return /^<br\s*\/?>$/i.test(html);
}
