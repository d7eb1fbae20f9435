/** Makes an agent's Markdown safe to show: it notifies nobody, and no link pretends to lead to another address. */

import { isVisible } from "@sekisho/runtime/visible-text.ts";
import {
  decodeEntities,
  removeActiveEntities,
  removeNotation,
  slackLink,
  wordJoiner,
} from "./characters.ts";
import { limitDepth, type Markdown, parseMarkdown, reparse } from "./markdown.ts";
import {
  inlineGroups,
  type Link,
  listInlines,
  type TextRange,
  walkBlocks,
  walkInlines,
} from "./nodes.ts";
import { canNameAddress, disguisedLinks, hasVisibleLabel, shownAddress } from "./visible-text.ts";

/** Bidirectional overrides, which would show an address backwards. */
const directionOverrides = /[\u202D\u202E]/g;

/** Also repairs bold text that Markdown does not recognize between Chinese or Japanese letters. Usually parses once. */
export function safeMarkdown(text: string): Markdown {
  const shallow = limitDepth(removeActiveEntities(text.replace(directionOverrides, "")));
  const inert = removeNotation(convertSlackLinks(shallow));
  // A label and an address that are now side by side may form notation again.
  const exposed = exposeLinkTargets(inert);
  return reparse(exposed, repairCjkEmphasis(removeNotation(exposed.text)));
}

/**
 * Turns Slack's own links with a label into links of Markdown, because models that know Slack write them. Links in code stay, and so
 * do those behind a backslash.
 */
function convertSlackLinks(text: string): string {
  const markdown = text.replace(/\r\n?/g, "\n");
  const links = [...markdown.matchAll(slackLink)].filter(([, , label]) => label !== undefined);
  if (links.length === 0) return text;
  const tree = parseMarkdown(markdown);
  if (tree.isPartial) return text;
  const code = listCodePlaces(tree);
  let passed = 0;
  const edits = links.flatMap(
    ({ index: start, 0: notation, 1: address = "", 2: label = "" }): Edit[] => {
      while ((code[passed]?.end ?? Number.POSITIVE_INFINITY) <= start) passed += 1;
      const isCode = start >= (code[passed]?.start ?? Number.POSITIVE_INFINITY);
      const before = markdown[start - 1] ?? "";
      if (isCode || before === "\\") return [];
      // Behind these signs, the label would become an image, or the name of another link.
      const gap = /[!\]]/.test(before) ? wordJoiner : "";
      return [
        { start, end: start + notation.length, text: gap + markdownLink({ address, label }) },
      ];
    },
  );
  return applyEdits(markdown, edits);
}

function markdownLink({ address, label }: { address: string; label: string }): string {
  const target = address.replace(/[()\\]/g, (sign) => (sign === "\\" ? "%5C" : `\\${sign}`));
  return isVisible(label) ? `[${label.replace(/[[\]\\`]/g, "\\$&")}](${target})` : `<${address}>`;
}

/** A blank for Markdown, but hardly visible. */
const hairSpace = "\u200A";
const bold = /(?<before>.?)\*\*(?<inner>[^*\s](?:[^*\n]{0,500}[^*\s])?)\*\*(?=(?<after>.?))/gsu;
const letter = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]/u;
const mark = /[\p{P}\p{S}]/u;

/**
 * Models often write text like `**「関所」**は`, which is not bold in Markdown: asterisks between a punctuation mark and a letter do not
 * close emphasis (CommonMark 0.31, section 6.2). A hair space beside the asterisks repairs this.
 */
function repairCjkEmphasis(text: string): string {
  return text.replace(bold, (_, before: string, inner: string, after: string) => {
    const opens = letter.test(before) && mark.test([...inner][0] ?? "");
    const closes = letter.test(after) && mark.test([...inner].at(-1) ?? "");
    return `${before}${opens ? hairSpace : ""}**${inner}**${closes ? hairSpace : ""}`;
  });
}

/** An edit may form new links together with the text beside it, so the result is checked again. */
const maxRounds = 3;
/** The syntax of all links except bare addresses. A plain `[x]` is a link only if it is defined. */
const linkSyntax = /\](?=[([:])/g;

const entityStart = /&(?=#?\w{1,40};)/g;
/** Signs before a blank that no parser counts as part of the preceding address. */
const afterAddress = /[?!.,:;*_'"~)|]*(?=[\s<]|$)/y;

/** Like `afterAddress`, or a bracket around a text with an address. */
const addressBoundary = /[?!.,:;*_'"~)|]*(?=[\s<[\]]|$)/y;

const targets = /\]\([^()\s]*\)/g;

type Edit = TextRange & { text: string };

/**
 * Writes the label and the address as text if the label of a link could be mistaken for another address. If the parser could not read
 * every reference, all labeled links become text. Bare addresses stay links.
 */
export function exposeLinkTargets(markdown: string): Markdown {
  let text = markdown.replace(/\r\n?/g, "\n");
  for (let round = 0; round < maxRounds; round += 1) {
    const tree = parseMarkdown(text);
    if (tree.isPartial) break;
    const edits = [...createLinkEdits(text, tree), ...findUnreadLinks(text, tree)].sort(
      (a, b) => a.start - b.start,
    );
    if (edits.length === 0) return tree;
    text = applyEdits(text, edits);
  }
  const unlabeled = text.replace(linkSyntax, "] ");
  const tree = parseMarkdown(unlabeled);
  // An address that was within a label is now a link itself.
  return reparse(tree, applyEdits(unlabeled, createLinkEdits(unlabeled, tree)));
}

function createLinkEdits(text: string, { blocks }: Markdown): Edit[] {
  const edits: Edit[] = [];
  const disguised = findDisguisedLinks(blocks);
  for (const link of listLinks(blocks)) {
    const isUnlabeled = link.form !== "auto" && !hasVisibleLabel(link) && isVisible(link.href);
    if (!isUnlabeled && !disguised.has(link)) {
      if (link.form === "auto") edits.push(...delimitAddress(text, link));
      continue;
    }
    const { start, labelEnd, end } = link.place;
    const address = shownAddress(link.href).replace(entityStart, "&amp;");
    const open = link.type === "image" ? 2 : 1;
    // Directly behind a bracket, the label would become the name or the address of another link.
    const isApart = !(isUnlabeled ? /\S/ : /\]/).test(text[start - 1] ?? "");
    const before = isApart ? "" : " ";
    // A bare address extends to the next blank, so text behind it needs a gap.
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

/** Emphasis between a letter and an address. Brackets in between end it, as in `repairCjkEmphasis`. */
const openingMarks = /(?<=[\p{L}\p{N}])[*~]{1,6}$/u;
const closingMarks = /[*~]{1,6}(?=[\p{L}\p{N}])/uy;
const maxMarksLength = 8;

/** Puts a bare address into brackets where another parser would read the text behind it as a part of it. */
function delimitAddress(text: string, { href, place: { start, end } }: Link): Edit[] {
  if (text[start] === "<" || !/^(?:https?|ftp):/i.test(href)) return [];
  addressBoundary.lastIndex = end;
  if (addressBoundary.test(text)) return [];
  const address = href
    .replace(/[\s<>|\\]/g, (sign) => encodeURIComponent(sign))
    .replace(entityStart, "&amp;");
  const opening = openingMarks.exec(text.slice(Math.max(0, start - maxMarksLength), start))?.[0]
    .length;
  closingMarks.lastIndex = end;
  const closing = closingMarks.exec(text)?.[0].length;
  return [
    ...(opening === undefined ? [] : [insertion(start - opening, hairSpace)]),
    { start, end, text: `<${address}>` },
    ...(closing === undefined ? [] : [insertion(end + closing, hairSpace)]),
  ];
}

function insertion(at: number, text: string): Edit {
  return { start: at, end: at, text };
}

function findDisguisedLinks(blocks: Markdown["blocks"]): ReadonlySet<Link> {
  const disguised = new Set<Link>();
  for (const block of walkBlocks(blocks))
    for (const inlines of inlineGroups(block))
      for (const link of disguisedLinks(inlines)) disguised.add(link);
  return disguised;
}

function* listLinks(blocks: Markdown["blocks"]): Generator<Link> {
  for (const block of walkBlocks(blocks))
    for (const inline of walkInlines(listInlines(block)))
      if (inline.type === "link" || inline.type === "image") yield inline;
}

/** Breaks link syntax that this parser does not read as a link but another may, if it is near text that could be read as an address. */
function findUnreadLinks(text: string, read: Markdown): Edit[] {
  const places = [...text.matchAll(linkSyntax)].map(({ index }) => index);
  if (places.length === 0) return [];
  const isDefining = text.includes("]:");
  const known = new Set(hasBracketsInHtml(read) ? [] : read.definitionEnds);
  // A bare address has no brackets: one behind it belongs to something else.
  for (const { form, place } of listLinks(read.blocks))
    if (form !== "auto") known.add(place.labelEnd).add(place.end - 1);
  const code = listCodePlaces(read);
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
  const nearAddresses = [
    ...findPlacesNearAddresses({ text, places: unread, asRead: decodeEntities }),
    ...findPlacesNearAddresses({
      text,
      places: inCode,
      asRead: (lines) => decodeEntities(lines.replace(targets, "]")),
    }),
  ];
  return nearAddresses.map((at) => insertion(at + 1, " "));
}

/** True if a parser without HTML support could read `[name]` within HTML as a link. */
function hasBracketsInHtml({ blocks }: Markdown): boolean {
  for (const block of walkBlocks(blocks)) {
    if (block.type === "html" && block.text.includes("]")) return true;
    for (const inline of walkInlines(listInlines(block)))
      if (inline.type === "html" && inline.text.includes("]")) return true;
  }
  return false;
}

/** Returns the code in text order. Code is plain if nothing around it could make another parser see it end elsewhere. */
function listCodePlaces({ blocks }: Markdown): (TextRange & { isPlain: boolean })[] {
  const places: (TextRange & { isPlain: boolean })[] = [];
  for (const block of walkBlocks(blocks)) {
    if (block.type === "code") places.push({ ...block.place, isPlain: true });
    const inlines = [...walkInlines(listInlines(block))];
    const isPlain = !inlines.some(
      (inline) =>
        "href" in inline ||
        inline.type === "html" ||
        (inline.type === "text" && /[[\]`<\\]/.test(inline.text)),
    );
    for (const inline of inlines)
      if (inline.type === "codespan") places.push({ ...inline.place, isPlain });
  }
  return places;
}

type PlaceSearch = { text: string; places: readonly number[]; asRead: (lines: string) => string };

/** Returns the places in runs of lines that could contain an address. */
function findPlacesNearAddresses({ text, places, asRead }: PlaceSearch): number[] {
  const found: number[] = [];
  if (places.length === 0) return found;
  let next = 0;
  let start = 0;
  for (const lines of text.split(/\n(?=[ \t>]*\n)/)) {
    const end = start + lines.length + 1;
    const within: number[] = [];
    for (; next < places.length && (places[next] ?? 0) < end; next += 1)
      within.push(places[next] ?? 0);
    if (within.length > 0 && canNameAddress(asRead(lines))) found.push(...within);
    start = end;
  }
  return found;
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  const pieces: string[] = [];
  let from = 0;
  for (const edit of edits) {
    if (edit.start < from) continue;
    pieces.push(text.slice(from, edit.start), edit.text);
    from = edit.end;
  }
  return pieces.join("") + text.slice(from);
}
