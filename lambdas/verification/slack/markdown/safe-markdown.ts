/** An agent's Markdown made safe to show: nothing in it notifies anybody, and no link says that it leads elsewhere than it does. */

import { decodeEntities, removeActiveEntities, removeNotation } from "./characters.ts";
import { limitDepth, type Markdown, parseMarkdown } from "./markdown.ts";
import { inlineGroups, type Link, listInlines, type TextRange, walkBlocks, walkInlines } from "./nodes.ts";
import { canNameAddress, disguisedLinks, hasVisibleLabel, isVisible, shownAddress } from "./visible-text.ts";

/** By these an address would be read backwards. */
const reversed = /[\u202D\u202E]/g;

/** Bold that Markdown would not take for bold between letters without blanks is made so, too. */
export function safeMarkdown(text: string): string {
  const inert = removeNotation(limitDepth(removeActiveEntities(text.replace(reversed, ""))));
  // What a link's label and its address leave beside each other may be notation again.
  return withCjkEmphasis(removeNotation(exposeLinkTargets(inert)));
}

/** A part of safe Markdown: what was code in the whole may be none where it was cut. At most `maxLength`, as `part` is. */
export function safePart({ part, maxLength }: { part: string; maxLength: number }): string {
  const safe = safeMarkdown(part);
  return safe.length <= maxLength ? safe : part.replaceAll("[", "［");
}

/** Markdown takes it for a blank; a reader hardly sees it. */
const hairSpace = "\u200A";
const bold = /(?<before>.?)\*\*(?<inner>[^*\s](?:[^*\n]{0,500}[^*\s])?)\*\*(?=(?<after>.?))/gsu;
const letter = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]/u;
const mark = /[\p{P}\p{S}]/u;

/**
 * `**「関所」**は` is not bold in Markdown (CommonMark 0.31, section 6.2): asterisks between a punctuation mark and a letter close
 * nothing. Models write that all the time.
 */
function withCjkEmphasis(text: string): string {
  return text.replace(bold, (_, before: string, inner: string, after: string) => {
    const opens = letter.test(before) && mark.test([...inner][0] ?? "");
    const closes = letter.test(after) && mark.test([...inner].at(-1) ?? "");
    return `${before}${opens ? hairSpace : ""}**${inner}**${closes ? hairSpace : ""}`;
  });
}

/** What is put in may be read anew together with what stands beside it. */
const mostRounds = 3;
/** Of all links but those that show their address; `[x]` alone is one only where it is defined. */
const linkSyntax = /\](?=[([:])/g;

const entityStart = /&(?=#?\w{1,40};)/g;
/** Signs that no parser takes for a part of the address before them, up to a blank. */
const afterAddress = /[?!.,:;*_'"~)|]*(?=[\s<]|$)/y;

const targets = /\]\([^()\s]*\)/g;

type Edit = TextRange & { text: string };

/**
 * Writes the label and the address as text where a link's label may be taken for another address. A text in which the parser did not read
 * every reference loses its labelled links. A bare address is a link there all the same.
 */
export function exposeLinkTargets(markdown: string): string {
  let text = markdown.replace(/\r\n?/g, "\n");
  for (let round = 0; round < mostRounds; round += 1) {
    const read = parseMarkdown(text);
    if (read.isPartial) break;
    const edits = [...linkEdits(text, read), ...unreadLinks(text, read)].sort((a, b) => a.start - b.start);
    if (edits.length === 0) return text;
    text = edited(text, edits);
  }
  const unlabelled = text.replace(linkSyntax, "] ");
  // An address that was in a label is a link of its own now.
  return edited(unlabelled, linkEdits(unlabelled, parseMarkdown(unlabelled)));
}

function linkEdits(text: string, { blocks }: Markdown): Edit[] {
  const edits: Edit[] = [];
  const disguised = disguisedIn(blocks);
  for (const link of linksIn(blocks)) {
    const isUnlabeled = link.form !== "auto" && !hasVisibleLabel(link) && isVisible(link.href);
    if (!isUnlabeled && !disguised.has(link)) continue;
    const { start, labelEnd, end } = link.place;
    const address = shownAddress(link.href).replace(entityStart, "&amp;");
    const open = link.type === "image" ? 2 : 1;
    // Behind a bracket the label would be the name or the address of another link.
    const isApart = start === 0 || !(isUnlabeled ? /\S/ : /\]/).test(text[start - 1] ?? "");
    const before = isApart ? "" : " ";
    // An address runs up to the next blank.
    afterAddress.lastIndex = end;
    const gap = afterAddress.test(text) ? "" : " ";
    if (link.form === "auto") edits.push({ start, end, text: address + gap });
    else
      edits.push(
        { start, end: isUnlabeled ? labelEnd : start + open, text: before },
        { start: labelEnd, end, text: isUnlabeled ? address + gap : ` (${address}${gap})` },
      );
  }
  return edits;
}

function disguisedIn(blocks: Markdown["blocks"]): ReadonlySet<Link> {
  const disguised = new Set<Link>();
  for (const block of walkBlocks(blocks))
    for (const inlines of inlineGroups(block)) for (const link of disguisedLinks(inlines)) disguised.add(link);
  return disguised;
}

function* linksIn(blocks: Markdown["blocks"]): Generator<Link> {
  for (const block of walkBlocks(blocks))
    for (const inline of walkInlines(listInlines(block)))
      if (inline.type === "link" || inline.type === "image") yield inline;
}

/** Another parser may see a link where this one sees none: no such place is left beside what may be taken for an address. */
function unreadLinks(text: string, read: Markdown): Edit[] {
  const places = [...text.matchAll(linkSyntax)].map(({ index }) => index);
  if (places.length === 0) return [];
  const isDefining = text.includes("]:");
  const known = new Set(hasBracketsInHtml(read) ? [] : read.definitionEnds);
  for (const link of linksIn(read.blocks)) known.add(link.place.labelEnd).add(link.place.end - 1);
  const code = codePlaces(read);
  let passed = 0;
  const unread: number[] = [];
  const inCode: number[] = [];
  for (const at of places) {
    while ((code[passed]?.end ?? Number.POSITIVE_INFINITY) <= at) passed += 1;
    const { start = Number.POSITIVE_INFINITY, isPlain = true } = code[passed] ?? {};
    const mayLink = !known.has(at) && (isDefining || text[at + 1] === "(");
    if (mayLink && start > at) unread.push(at);
    if (mayLink && start <= at && !isPlain) inCode.push(at);
  }
  const beside = [
    ...besideAddresses({ text, places: unread, asRead: decodeEntities }),
    ...besideAddresses({ text, places: inCode, asRead: (lines) => decodeEntities(lines.replace(targets, "]")) }),
  ];
  return beside.map((at) => ({ start: at + 1, end: at + 1, text: " " }));
}

/** A parser that knows no HTML would read `[name]` in there as a link. */
function hasBracketsInHtml({ blocks }: Markdown): boolean {
  for (const block of walkBlocks(blocks)) {
    if (block.type === "html" && block.text.includes("]")) return true;
    for (const inline of walkInlines(listInlines(block)))
      if (inline.type === "html" && inline.text.includes("]")) return true;
  }
  return false;
}

/** In the order of the text. Code is plain where there is nothing around it by which another parser could see it end elsewhere. */
function codePlaces({ blocks }: Markdown): (TextRange & { isPlain: boolean })[] {
  const places: (TextRange & { isPlain: boolean })[] = [];
  for (const block of walkBlocks(blocks)) {
    if (block.type === "code") places.push({ ...block.place, isPlain: true });
    const inlines = [...walkInlines(listInlines(block))];
    const isPlain = !inlines.some(
      (inline) =>
        "href" in inline || inline.type === "html" || (inline.type === "text" && /[[\]`<\\]/.test(inline.text)),
    );
    for (const inline of inlines) if (inline.type === "codespan") places.push({ ...inline.place, isPlain });
  }
  return places;
}

type Beside = { text: string; places: readonly number[]; asRead: (lines: string) => string };

/** Those of the places that are in a run of lines which may name an address. */
function besideAddresses({ text, places, asRead }: Beside): number[] {
  const found: number[] = [];
  if (places.length === 0) return found;
  let next = 0;
  let start = 0;
  for (const lines of text.split(/\n(?=[ \t>]*\n)/)) {
    const end = start + lines.length + 1;
    const within: number[] = [];
    for (; next < places.length && (places[next] ?? 0) < end; next += 1) within.push(places[next] ?? 0);
    if (within.length > 0 && canNameAddress(asRead(lines))) found.push(...within);
    start = end;
  }
  return found;
}

function edited(text: string, edits: readonly Edit[]): string {
  const pieces: string[] = [];
  let from = 0;
  for (const edit of edits) {
    if (edit.start < from) continue;
    pieces.push(text.slice(from, edit.start), edit.text);
    from = edit.end;
  }
  return pieces.join("") + text.slice(from);
}
