/**
 * Reads a text like a person does: decides whether it shows anything, removes its formatting, and finds links that could be mistaken for
 * links to another address.
 */

import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import { invisible, isVisible } from "@sekisho/runtime/visible-text.ts";
import { decodeEntities } from "./characters.ts";
import type { Markdown } from "./markdown.ts";
import {
  type Inline,
  type Link,
  listInlines,
  type MarkdownBlock,
  walkBlocks,
  walkInlines,
} from "./nodes.ts";

/** Chinese, Japanese and Korean letters. */
const cjk = "[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー]";

const comments = /<!--[\s\S]*?(?:-->|$)/g;
/** Signs that Slack draws as formatting or that start a line. */
const mrkdwnMarks = /```|[*_~`]|^[\s>•◦▪☐☑─]+/gm;

/** Reads Markdown as Slack draws it. An empty numbered list still shows its numbers. */
export function hasVisibleText({ text, blocks }: Pick<Markdown, "text" | "blocks">): boolean {
  if (!isVisible(text)) return false;
  for (const block of walkBlocks(blocks)) if (isVisibleBlock(block)) return true;
  return false;
}

export function hasVisibleMrkdwn(mrkdwn: string): boolean {
  return isVisible(mrkdwn.replace(mrkdwnMarks, ""));
}

/** True if the label of a link or the text of an image shows anything. */
export function hasVisibleLabel(link: Link): boolean {
  if (link.type === "image" || link.children.length === 0)
    return isVisible(decodeEntities(link.label));
  return hasVisibleInline(link.children);
}

/** Ignores the blocks within a quote or list, which are checked by themselves. */
function isVisibleBlock(block: MarkdownBlock): boolean {
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
      return isVisible(removeUnseenHtml(block.text));
    default:
      return hasVisibleInline(listInlines(block));
  }
}

function hasVisibleInline(inlines: readonly Inline[]): boolean {
  for (const inline of walkInlines(inlines)) {
    if (inline.type === "image") {
      if (hasVisibleLabel(inline)) return true;
    } else if (inline.type === "html") {
      if (isVisible(removeUnseenHtml(inline.text))) return true;
    } else if ("text" in inline && isVisible(decodeEntities(inline.text))) return true;
  }
  return false;
}

/** Removes HTML comments, but not those within code. */
export function removeComments({ text, blocks }: Pick<Markdown, "text" | "blocks">): string {
  if (!text.includes("<!--")) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const block of walkBlocks(blocks)) {
    const html = block.type === "html" ? [block] : walkInlines(listInlines(block)).filter(isHtml);
    for (const { place } of html) {
      pieces.push(
        text.slice(from, place.start),
        text.slice(place.start, place.end).replace(comments, ""),
      );
      from = place.end;
    }
  }
  return pieces.join("") + text.slice(from);
}

function isHtml(inline: Inline): inline is Extract<Inline, { type: "html" }> {
  return inline.type === "html";
}

function removeUnseenHtml(html: string): string {
  return html.replace(comments, "").replace(/<br\s*\/?>/gi, "");
}

/** Removes all formatting. The result is not escaped. */
export function toPlainText(inlines: readonly Inline[]): string {
  return inlines.map(inlineToPlainText).join("");
}

export function inlineToPlainText(inline: Inline): string {
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
      return toPlainText(inline.children);
  }
}

/** A run of text between blanks, with the links in it. `pieces` counts the nodes that it was joined from. */
type Word = { text: string; links: Link[]; pieces: number };

/** White space that a reader notices. A thinner blank would not separate `bank` from `.example`. */
const wideBlank = "[ \\t\\n\\r\\u00A0\\u2000-\\u2005\\u2007\\u3000]+";
/** Also includes the punctuation that separates words in Chinese and Japanese. */
const separator = new RegExp(
  `${wideBlank}|[、，；！？]|(?<=${cjk})：|(?<=${cjk})。(?=${cjk})`,
  "u",
);

/**
 * Finds misleading links in one paragraph, heading or cell. Checks each label, and each word that contains a link: in
 * `bank.[example](https://evil.example)`, the reader sees one address. A bare address is misleading if it hides its host.
 */
export function disguisedLinks(inlines: readonly Inline[]): ReadonlySet<Link> {
  const disguised = new Set<Link>();
  const links = walkInlines(inlines).filter(isLink);
  for (const link of links) if (isDisguised(link)) disguised.add(link);
  // Only a link with a label is part of a word.
  if (!links.some(isLabeled)) return disguised;
  for (const word of visibleWords(inlines))
    if (isMisleading(word)) for (const link of word.links) disguised.add(link);
  return disguised;
}

function isDisguised(link: Link): boolean {
  if (link.form === "auto") return isHidingHost(link.href);
  return isNamingOtherAddress({ label: labelOf(link), address: link.href });
}

/** Skips a word of a single node, which is already checked as a label. */
function isMisleading({ text, links, pieces }: Word): boolean {
  if (links.length === 0 || pieces === 1 || !canNameAddress(text)) return false;
  const [address = "", ...others] = new Set(links.map(({ href }) => href));
  return others.length > 0 || isNamingOtherAddress({ label: text, address });
}

function visibleWords(inlines: readonly Inline[]): Word[] {
  let word: Word = { text: "", links: [], pieces: 0 };
  const words = [word];
  add(inlines);
  return words;

  /** Formatting and HTML tags do not separate words. Nor do blanks at the edge of a label, which mrkdwn does not show. */
  function add(nodes: readonly Inline[]): void {
    for (const node of nodes) {
      if (isLabeled(node)) addText(labelOf(node).trim(), node);
      else if (node.type === "strong" || node.type === "em" || node.type === "del")
        add(node.children);
      else if (node.type !== "html") addText(inlineToPlainText(node));
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

/** Returns the visible label, without formatting and HTML. */
function labelOf(link: Link): string {
  const [first, ...others] = link.children;
  if (first?.type === "text" && others.length === 0) return decodeEntities(first.text);
  const children = link.children.filter(({ type }) => type !== "html");
  return link.type === "image" || children.length === 0
    ? decodeEntities(link.label)
    : toPlainText(children);
}

function isLineBreak(html: string): boolean {
  return /^<br\s*\/?>$/i.test(html);
}

const unseen = new RegExp(`[${invisible}\\p{M}]`, "gu");

/** Letters that may look like ASCII letters, and invisible characters that are not part of an emoji. */
const lookalike = new RegExp(
  `(?!${cjk})(?![\\x00-\\x7f\\u200D\\uFE0F])(?:[${invisible}]|(?=[\\p{L}\\p{N}])[\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{Script=Armenian}\\p{Script=Cherokee}\\p{Script=Coptic}\\p{Script=Lisu}\\p{Script=Cans}\\p{Script=Hebrew}\\p{Script=Common}\\p{Lm}])`,
  "u",
);

/** Quotes, brackets and formatting signs. A reader still recognizes an address around or between them. */
const wrappings = /[\p{Ps}\p{Pe}\p{Pi}\p{Pf}"'`´*_~<>]/gu;
/** Marks without a letter that look like a dot. Excludes accents. */
const freeMark = new RegExp(
  `(?<=[\\s${invisible}])(?![\\u0300-\\u0304\\p{DI}])\\p{Mn}|\\u{1D16D}`,
  "gu",
);
/**
 * A spacing mark, which looks like a dot beside its letter. A lookbehind for the letter would read the same run of marks again at each
 * position.
 */
const spacingMark = new RegExp(`(\\p{Script=Latin}[\\p{Mn}${invisible}]*)\\p{Mc}`, "gu");
/** The middle dot between Chinese, Japanese or Korean letters, where it is ordinary punctuation. */
const cjkMiddleDot = new RegExp(`(?<=${cjk})[\\u30FB\\u30FD\\u00B7\\u119E](?=${cjk})`, "gu");
/** Letters and digits that look like a dot or a colon. */
const dotLetters =
  /[\u02D0\u02D1\u0660\u06F0\u119E\u1427\u2D48\u30FD\u4E36\uA4F8-\uA4FD\uA78F\u{1BC00}\u{1D2E1}]/gu;
/**
 * Modifier letters, some of which look like a low dot or a colon. Excludes apostrophes, high accents, and those of Japanese. Beside letters of
 * their own script they are ordinary.
 */
const modifierLetter =
  "(?![\\u02B9-\\u02CB\\u02EC\\u02EE\\u3005\\u3031-\\u3035\\u303B\\u309D\\u309E\\u30FC-\\u30FE])\\p{Lm}";
const addressLetter = `(?:${cjk}|[\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{Nd}])`;
const strangeModifier = new RegExp(
  `(?<=${addressLetter})${modifierLetter}|${modifierLetter}(?=${addressLetter})`,
  "gu",
);
/** Normalization would turn each of these into 8 to 18 letters. */
const longLigatures = /[\uFDFA\uFDFB]/g;
/** Letters in squares and circles that Unicode classifies as symbols. */
const pictureLetters = /[\u{1F100}-\u{1F1FF}]/gu;
const slashes = /[\u1735\u2041\u2044\u2215\u2571\u27CB\u29F8\u3033\u31D3\u4E3F\u{1D23A}]/gu;
/**
 * Signs at which a host seems to end, because they look like a slash, a backslash or a colon. Some of them do so beside ASCII only. The
 * fullwidth forms are absent, because no browser opens such a host.
 */
const signInHost = new RegExp(
  `${slashes.source}|(?<=[\\x21-\\x7e])[\\u02F8\\u0589\\u05C3\\u0703\\u0704\\u0903\\u0A83\\u16EC\\u1803\\u1809\\u205A\\u2216\\u2236\\u244A\\u27CD\\u29F4\\u29F5\\u29F9\\u2AFB\\u2AFD\\u2CF9\\u2F02\\u2F03\\u30CE\\u31D4\\u4E36\\uA789\\u{1D20F}\\u{1D23B}]`,
  "u",
);
/** Many letters of this script look like a Latin letter with a dot. */
const dottedLetters = /(?<=\p{Script=Latin})\p{Script=Cans}|\p{Script=Cans}(?=\p{Script=Latin})/gu;
/**
 * Signs that a reader could mistake for a full stop. Excludes dashes, currencies, arrows, commas, and signs that are handled
 * separately.
 */
const strangeSign =
  /[[\p{P}\p{S}\p{Co}]--[\p{Pd}\p{Sc}\u2190-\u21FF.\/\\:@\&+#%=\|,;!?^、×÷±−≈¡¿\u060C\u061B\u061F\u05F3\u05F4]]/gv;

/** `host.tld`. A top-level domain always contains a letter. */
const hostLike = /[^\s.]\.+[\p{N}\p{S}]*\p{L}/u;
const numericHost = /\d{1,3}(?:\.\d{1,3}){3}/u;
const schemeLike = new RegExp(
  `(?!${cjk})\\p{L}[\\p{N}+.-]{0,40}:(?=[^\\s:])|[/\\\\]{2}|:[/\\\\]`,
  "u",
);
const knownScheme =
  /(?:^|[^\p{L}])(?:https?|ftps?|mailto|tel|file|data|javascript|slack|ssh|git):/iu;
/** `1. Overview` and `Step 2. Start`. */
const numbering = /(?<!\S)\d{1,2}\. (?=\p{Lu}|\p{Lo})/gu;

/** File names such as `index.html`. None of these endings is a top-level domain. */
const fileName = new RegExp(
  `(?<![^\\s/])[\\p{L}\\p{N}_-]{1,100}\\.(?:cpp|css|csv|docx?|html?|jpe?g|js|json|jsx|lock|log|mjs|cjs|pdf|php|png|pptx?|rb|sql|svg|toml|ts|tsx|txt|xlsx?|xml|ya?ml)(?=\\.?(?:[\\s,;:!?]|${cjk}|$))`,
  "giu",
);
/** Letters and signs that cannot form an address. Excludes Chinese and Japanese characters that look like a dot or a slash. */
const plainWords =
  /^[[\w\s,;!?'"\(\)#+%=、，！？「」（）\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\-]--[\u2F02\u2F03\u30FD\u4E36\u4E3F]]*$/v;

/** `label` must have its entities decoded. A remaining entity is unknown, so the label could be an address. */
export function isNamingOtherAddress({
  label,
  address,
}: {
  label: string;
  address: string;
}): boolean {
  if (label === address || `mailto:${label}` === address) return isHidingHost(address);
  // Each word of the label is compared with the whole address.
  if (label.length > longestLabel) return true;
  if (!canNameAddress(label)) return false;
  const words = label.split(/\s+/);
  const real = parseUrl(address);
  const others = words.filter((word) => !isAddress(word, real));
  return others.length === words.length || canNameAddress(others.join(" "));
}

/** A longer label always shows the address beside it. */
const longestLabel = 500;

/**
 * More marks on a letter than any language uses. Unicode normalization sorts them in quadratic time. The last two are letters that
 * normalization turns into marks.
 */
const manyMarks = /[\p{M}\uFF9E\uFF9F]{30}/u;

/** True if any part of the text could be read as an address. */
export function canNameAddress(text: string): boolean {
  if (plainWords.test(text)) return false;
  if (manyMarks.test(text)) return true;
  if (/&(?:#|[a-z])\w{1,40};/i.test(text)) return true;
  const plain = text
    .replace(longLigatures, "x")
    .normalize("NFKC")
    .normalize("NFD")
    .replace(pictureLetters, "x")
    .replace(spacingMark, "$1.")
    .replace(freeMark, ".")
    .replace(unseen, "")
    .replace(wrappings, "")
    .replace(cjkMiddleDot, " ")
    .replace(dotLetters, ".")
    .replace(slashes, "/")
    .replace(dottedLetters, "$&.")
    .replace(strangeModifier, ".")
    .replace(strangeSign, ".");
  if (plain.includes("@") || schemeLike.test(plain) || knownScheme.test(plain)) return true;
  const together = plain
    .replace(/\s+/g, " ")
    .replace(numbering, "")
    .replace(/ (?=[./:])|(?<=[./:]) /g, "");
  if (/:\/|\/\//.test(together) || knownScheme.test(together)) return true;
  const hosts = together.replace(fileName, "");
  return hostLike.test(hosts) || numericHost.test(hosts);
}

/** True if the address itself misleads, by a user name before its host or by lookalike characters in the host. */
function isHidingHost(address: string): boolean {
  const [, authority = ""] = /^(?:https?|ftp):[/\\]*([^/?#]*)/i.exec(address) ?? [];
  return authority.includes("@") || lookalike.test(authority) || signInHost.test(authority);
}

/** Formats an address for display: without Markdown characters, with an ASCII host and without a user name. */
export function shownAddress(href: string): string {
  return plainAddress(href).replace(
    /[\s[\]<>|`\\*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

function plainAddress(href: string): string {
  if (!/^(?:https?|ftp):/i.test(href) || (/^[\x21-\x7e]+$/.test(href) && !isHidingHost(href)))
    return href;
  const url = parseUrl(href);
  if (url === null)
    return href.toWellFormed().replace(/[^\x21-\x3f\x41-\x7e]/gu, encodeURIComponent);
  [url.username, url.password] = ["", ""];
  return url.href;
}

/** True if the word names this address: the same host, and a path that the address starts with. A shortened path needs an ellipsis. */
function isAddress(written: string, real: URL | null): boolean {
  const word = stripMarks(written);
  if (!/^(?:https?:\/\/)?[a-z0-9.:-]+(?:[/?#][\x21-\x7e]*)?$/i.test(word) || !word.includes("."))
    return false;
  if (real === null || !/^https?:$/.test(real.protocol) || real.username !== "") return false;
  const said = parseUrl(/^https?:\/\//i.test(word) ? word : `https://${word}`);
  if (said === null) return false;
  const path = withoutEnd(said.pathname, "./");
  if (hostOf(said) !== hostOf(real) || !real.pathname.startsWith(path)) return false;
  return /…|\.\.\./.test(written) || /^(?:\/|\.?$)/.test(real.pathname.slice(path.length));
}

/** Removes the punctuation around a word. */
function stripMarks(word: string): string {
  return withoutEnd(word.replace(/^[("'（「]+/, ""), ")\"'.,;:!?…）」。");
}

/** A regular expression would take quadratic time for many signs. */
function withoutEnd(text: string, signs: string): string {
  let end = text.length;
  while (end > 0 && signs.includes(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

function hostOf({ host }: URL): string {
  return host.replace(/^www\./, "");
}
