/**
 * Reads the parts of inline Markdown: emphasis (CommonMark 0.31, section 6.2), code, link targets and definitions. Reads each character
 * a bounded number of times.
 */

import { decodeEntities } from "./characters.ts";
import { matchAt } from "./lines.ts";
import { findSource, type Inline, type Leaf, type Paragraph, type Work } from "./nodes.ts";

/** A run of signs that may open emphasis, close it, or be text. */
export type Mark = { type: "mark"; sign: string; count: number; opens: boolean; closes: boolean };

/** Bounds the nesting. If more signs are open at once, the first ones become text. */
export const maxOpen = 32;
/** Longer runs are text. */
const maxSigns = 6;

type Opener = { mark: Mark; at: number };

const blank = /^\s/u;
const punctuation = /^[\p{P}\p{S}]/u;

/** `before` and `after` are the characters beside the signs, or "" at the ends of the text. */
export function createMark({
  signs,
  before,
  after,
}: {
  signs: string;
  before: string;
  after: string;
}): Mark {
  const sign = signs[0] ?? "";
  const isBlankBefore = before === "" || blank.test(before);
  const isBlankAfter = after === "" || blank.test(after);
  const isSignBefore = punctuation.test(before);
  const isSignAfter = punctuation.test(after);
  const isLeft = !isBlankAfter && (!isSignAfter || isBlankBefore || isSignBefore);
  const isRight = !isBlankBefore && (!isSignBefore || isBlankAfter || isSignAfter);
  const isWordSign = sign === "_";
  const mayBe = signs.length <= (sign === "~" ? 2 : maxSigns);
  return {
    type: "mark",
    sign,
    count: signs.length,
    opens: mayBe && isLeft && (!isWordSign || !isRight || isSignBefore),
    closes: mayBe && isRight && (!isWordSign || !isLeft || isSignAfter),
  };
}

export function withEmphasis(row: readonly (Inline | Mark)[], work: Work): Inline[] {
  work.spend(row.length);
  const shown: (Inline | Mark)[] = [];
  const openers: Opener[] = [];

  for (const entry of row) {
    if (entry.type !== "mark") {
      shown.push(entry);
      continue;
    }
    const mark = { ...entry };
    while (mark.closes && mark.count > 0) {
      const opener = findOpener(mark);
      if (opener === undefined) break;
      close(opener, mark);
    }
    if (mark.count === 0) continue;
    if (mark.opens) addOpener({ mark, at: shown.length });
    shown.push(mark);
  }
  return mergeMarks(shown);

  function findOpener(closer: Mark): Opener | undefined {
    for (let at = openers.length - 1; at >= 0; at -= 1) {
      const opener = openers[at];
      work.spend(1);
      if (opener !== undefined && isPair(opener.mark, closer)) {
        openers.length = at + 1;
        return opener;
      }
    }
    return undefined;
  }

  function close({ mark: opener, at }: Opener, closer: Mark): void {
    const used = opener.sign === "~" ? opener.count : Math.min(2, opener.count, closer.count);
    work.spend(shown.length - at);
    const children = mergeMarks(shown.splice(at + 1));
    opener.count -= used;
    closer.count -= used;
    if (opener.count === 0) {
      shown.pop();
      openers.pop();
    }
    shown.push({ type: opener.sign === "~" ? "del" : used === 2 ? "strong" : "em", children });
  }

  function addOpener(opener: Opener): void {
    openers.push(opener);
    if (openers.length > maxOpen) openers.shift();
  }
}

function isPair(opener: Mark, closer: Mark): boolean {
  if (opener.sign !== closer.sign) return false;
  if (opener.sign === "~") return opener.count === closer.count;
  const isOdd = (opener.closes || closer.opens) && (opener.count + closer.count) % 3 === 0;
  return !isOdd || (opener.count % 3 === 0 && closer.count % 3 === 0);
}

function mergeMarks(row: readonly (Inline | Mark)[]): Inline[] {
  const inlines: Inline[] = [];
  let text = "";
  for (const entry of row) {
    if (entry.type === "mark") text += entry.sign.repeat(entry.count);
    else if (entry.type === "text") text += entry.text;
    else {
      if (text !== "") inlines.push({ type: "text", text });
      text = "";
      inlines.push(entry);
    }
  }
  if (text !== "") inlines.push({ type: "text", text });
  return inlines;
}

/** An index of the runs of backticks in a text, which finds the run that closes a code span. */
export type Backticks = {
  lengthAt(at: number): number;
  closing(from: number, length: number): number | undefined;
};

export function createBackticks(content: string, work: Work): Backticks {
  work.spend(content.length);
  const lengths = new Map<number, number>();
  const places = new Map<number, number[]>();
  const passed = new Map<number, number>();
  for (const match of content.matchAll(/`+/g)) {
    const [{ length }] = match;
    lengths.set(match.index, length);
    const same = places.get(length) ?? [];
    same.push(match.index);
    places.set(length, same);
  }
  return {
    // A run behind a backslash starts one character later than in the index.
    lengthAt(at) {
      const known = lengths.get(at);
      if (known !== undefined) return known;
      let end = at;
      while (content[end] === "`") end += 1;
      return end - at;
    },
    closing(from, length) {
      const same = places.get(length) ?? [];
      let index = passed.get(length) ?? 0;
      for (; index < same.length && (same[index] ?? 0) < from; index += 1) work.spend(1);
      passed.set(length, index);
      return same[index];
    },
  };
}

/** Link definitions by name. */
export type References = Map<string, { href: string }>;

/** Bounds the work, because otherwise every `(` could be followed to the end of the text. */
const maxParentheses = 32;
const maxNameLength = 999;

const name = /\[((?:\\[^\n]|[^\\[\]])*)\]/y;
const blanks = /[ \t]*(?:\n[ \t]*)?/y;
const escapeOrEntity = /\\([!-/:-@[-`{-~])|&#?\w{1,40};/g;

export const autoAddress = /<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>/iy;
export const autoMail = /<([a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*)>/iy;
/** Stops at the next `<`, so that no search for an end is repeated. */
export const tag =
  /<(?:[a-z][a-z0-9-]*(?:\s+[a-z_:][\w.:-]*(?:\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'=<>`]+))?)*\s*\/?|\/[a-z][a-z0-9-]*\s*|\?[^<>]*\?|![a-z]+\s[^<>]*)>/iy;

/** `end` is the position behind the match. */
type Found = { href: string; end: number };

/** Reads `(address "title")`. */
export function inlineTarget(text: string, at: number, work: Work): Found | undefined {
  if (text[at] !== "(") return undefined;
  const from = skipSpace(text, at + 1);
  const address = addressAt({ text, at: from, mayBeEmpty: true, work });
  if (address === undefined) return undefined;
  const afterAddress = skipSpace(text, address.end);
  const titleEnd = afterAddress > address.end ? titleEndAt(text, afterAddress, work) : undefined;
  const end = titleEnd === undefined ? afterAddress : skipSpace(text, titleEnd);
  return text[end] === ")" ? { href: address.href, end: end + 1 } : undefined;
}

/** Reads `[name]`. The name may be empty. */
export function readNameAt(
  text: string,
  at: number,
  work: Work,
): { name: string; end: number } | undefined {
  const [all, inner = ""] = matchAt(name, text, at) ?? [];
  work.spend(all?.length ?? 1);
  return all === undefined || inner.length > maxNameLength
    ? undefined
    : { name: inner, end: at + all.length };
}

/** Reads `[label]: address "title"` up to the end of the line. */
function definitionAt(
  text: string,
  at: number,
  work: Work,
): (Found & { label: string; labelEnd: number }) | undefined {
  const start = skip(/ {0,3}/y, text, at);
  const label = readNameAt(text, start, work);
  if (label === undefined || text[label.end] !== ":" || label.name.trim() === "") return undefined;
  const address = addressAt({
    text,
    at: skip(blanks, text, label.end + 1),
    mayBeEmpty: false,
    work,
  });
  if (address === undefined) return undefined;
  const titleStart = skip(blanks, text, address.end);
  const titleEnd = titleStart > address.end ? titleEndAt(text, titleStart, work) : undefined;
  const end =
    (titleEnd === undefined ? undefined : lineEnd(text, titleEnd)) ?? lineEnd(text, address.end);
  return end === undefined
    ? undefined
    : { label: label.name, labelEnd: label.end - 1, href: address.href, end };
}

/** Normalizes a name. Names that differ only in case and white space are equal. */
export function referenceName(label: string): string {
  return label.trim().replace(/\s+/g, " ").toLowerCase().toUpperCase();
}

/** Removes backslash escapes and decodes entities. */
export function unescapeText(text: string): string {
  return text.replace(
    escapeOrEntity,
    (written, sign: string | undefined) => sign ?? decodeEntities(written),
  );
}

function addressAt(request: {
  text: string;
  at: number;
  mayBeEmpty: boolean;
  work: Work;
}): Found | undefined {
  const { text, at, mayBeEmpty, work } = request;
  return text[at] === "<"
    ? bracketedAddress(text, at, work)
    : plainAddress({ text, at, mayBeEmpty, work });
}

function bracketedAddress(text: string, at: number, work: Work): Found | undefined {
  for (let end = at + 1; end < text.length; end += 1) {
    const character = text[end];
    work.spend(1);
    if (character === ">") return { href: unescapeText(text.slice(at + 1, end)), end: end + 1 };
    if (character === "<" || character === "\n") return undefined;
    if (character === "\\") end += 1;
  }
  return undefined;
}

function plainAddress(request: {
  text: string;
  at: number;
  mayBeEmpty: boolean;
  work: Work;
}): Found | undefined {
  const { text, at, mayBeEmpty, work } = request;
  let depth = 0;
  let end = at;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    work.spend(1);
    if (code <= 0x20 || code === 0x7f) break;
    if (code === 0x5c && end + 1 < text.length && text.charCodeAt(end + 1) > 0x20) end += 1;
    else if (code === 0x28) depth += 1;
    else if (code === 0x29) {
      if (depth === 0) break;
      depth -= 1;
    }
    if (depth > maxParentheses) return undefined;
  }
  if (depth > 0 || (end === at && !mayBeEmpty)) return undefined;
  return { href: unescapeText(text.slice(at, end)), end };
}

/** Returns the end of the title that starts at `at`. */
function titleEndAt(text: string, at: number, work: Work): number | undefined {
  const open = text[at];
  if (open !== '"' && open !== "'" && open !== "(") return undefined;
  const close = open === "(" ? ")" : open;
  for (let end = at + 1; end < text.length; end += 1) {
    work.spend(1);
    if (text[end] === close) return end + 1;
    if (text[end] === "\\") end += 1;
    else if (open === "(" && text[end] === "(") return undefined;
  }
  return undefined;
}

function lineEnd(text: string, at: number): number | undefined {
  const end = skip(/[ \t]*/y, text, at);
  if (end >= text.length) return end;
  return text[end] === "\n" ? end + 1 : undefined;
}

function skipSpace(text: string, at: number): number {
  let end = at;
  while (text[end] === " " || text[end] === "\t" || text[end] === "\n") end += 1;
  return end;
}

function skip(expression: RegExp, text: string, at: number): number {
  return at + (matchAt(expression, text, at)?.[0].length ?? 0);
}

/** Collects the link definitions. They stand at the start of paragraphs. */
export type Definitions = { references: References; definitionEnds: number[]; work: Work };

/** Removes the definitions from the start of the paragraph. Returns undefined if nothing remains. */
export function withoutDefinitions(
  { texts, lines }: Paragraph,
  { references, definitionEnds, work }: Definitions,
): Leaf | undefined {
  const content = texts.join("\n");
  let at = 0;
  for (
    let found = definitionAt(content, at, work);
    found !== undefined;
    found = definitionAt(content, at, work)
  ) {
    const name = referenceName(found.label);
    if (!references.has(name)) references.set(name, { href: found.href });
    definitionEnds.push(findSource(lines, found.labelEnd));
    at = found.end;
  }
  work.spend(content.length);
  if (content.slice(at).trim() === "") return undefined;
  if (at === 0) return { content: content.trimEnd(), lines };
  const places = lines.filter((_, index) => (lines[index + 1]?.at ?? content.length + 1) > at);
  return {
    content: content.slice(at).trimEnd(),
    lines: places.map((line) => ({ at: line.at - at, source: line.source })),
  };
}
