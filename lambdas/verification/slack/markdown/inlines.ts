/** Reads the inline content of a paragraph, heading or table cell in one pass from left to right. */

import {
  address,
  addressRest,
  addressRestInBrackets,
  mailAround,
  withoutEnd,
} from "./addresses.ts";
import { decodeEntities } from "./characters.ts";
import {
  autoAddress,
  autoMail,
  type Backticks,
  createBackticks,
  createMark,
  inlineTarget,
  type Mark,
  maxOpen,
  type References,
  readNameAt,
  referenceName,
  tag,
  unescapeText,
  withEmphasis,
} from "./inline-syntax.ts";
import { matchAt } from "./lines.ts";
import { findSource, type Inline, type Leaf, type Link, type Work } from "./nodes.ts";

type Bracket = { row: number; at: number; isImage: boolean; holdsBrackets: boolean };

export type InlineReading = {
  references: References;
  work: Work;
  /** Returns false if the addresses repeated by reference would become too long together. */
  takeAddress: (length: number) => boolean;
};

const special = /[\\`*_~[\]!<\n@]/g;
const escapable = /[!-/:-@[-`{-~]/;

/** The state of reading one leaf. */
type LeafReading = InlineReading &
  Leaf & {
    row: (Inline | Mark)[];
    brackets: Bracket[];
    /** Brackets below this index contain a link and cannot become links themselves. */
    closedBelow: number;
    /** The start of the text that is not in the row yet. */
    textFrom: number;
    at: number;
    /** The end of the next comment, or a negative number if there is none. */
    commentsEnd: number | undefined;
    backticks: Backticks | undefined;
  };

/** Creates one reader for all leaves of a text. */
export function createInlineReader({
  references,
  work,
  takeAddress,
}: InlineReading): (leaf: Leaf) => Inline[] {
  return ({ content, lines }) =>
    readLeaf({
      references,
      work,
      takeAddress,
      content,
      lines,
      row: [],
      brackets: [],
      closedBelow: 0,
      textFrom: 0,
      at: 0,
      commentsEnd: undefined,
      backticks: undefined,
    });
}

function readLeaf(reading: LeafReading): Inline[] {
  const { content, work } = reading;
  let nextAddress = addressFrom(reading, 0);
  let nextSpecial = specialFrom(reading, 0);
  while (reading.at < content.length) {
    if (nextAddress < reading.at) nextAddress = addressFrom(reading, reading.at);
    if (nextSpecial < reading.at) nextSpecial = specialFrom(reading, reading.at);
    work.spend(1);
    reading.at = Math.min(nextSpecial, nextAddress, content.length);
    if (reading.at >= content.length) break;
    if (reading.at === nextAddress) readAddress(reading);
    else readSpecial(reading, content[reading.at] ?? "");
  }
  flushText(reading, content.length);
  return withEmphasis(reading.row, work);
}

function sourceOf(reading: LeafReading, index: number): number {
  return findSource(reading.lines, index);
}

function readSpecial(reading: LeafReading, sign: string): void {
  if (sign === "\\") readEscape(reading);
  else if (sign === "`") readCode(reading);
  else if (sign === "*" || sign === "_" || sign === "~") readMark(reading, sign);
  else if (sign === "!" && reading.content[reading.at + 1] === "[") openBracket(reading, 2);
  else if (sign === "[") openBracket(reading, 1);
  else if (sign === "]") closeBracket(reading);
  else if (sign === "<") readAngle(reading);
  else if (sign === "\n") readLineEnd(reading);
  else if (sign === "@") readMail(reading);
  else reading.at += 1;
}

/** Adds the pending text and then the node. Continues at `end`. */
function put(reading: LeafReading, node: Inline | Mark | undefined, end: number): void {
  flushText(reading, reading.at);
  if (node !== undefined) reading.row.push(node);
  reading.at = end;
  reading.textFrom = end;
}

function flushText(reading: LeafReading, end: number): void {
  if (reading.textFrom < end)
    reading.row.push({ type: "text", text: reading.content.slice(reading.textFrom, end) });
}

function readEscape(reading: LeafReading): void {
  const next = reading.content[reading.at + 1] ?? "";
  if (next === "\n") put(reading, { type: "br" }, skipBlanks(reading, reading.at + 2));
  else if (escapable.test(next))
    put(reading, { type: "text", text: next === "&" ? "&amp;" : next }, reading.at + 2);
  else reading.at += 1;
}

function readCode(reading: LeafReading): void {
  const { content, work } = reading;
  reading.backticks ??= createBackticks(content, work);
  const length = reading.backticks.lengthAt(reading.at);
  const end = reading.backticks.closing(reading.at + length, length);
  if (end === undefined) {
    reading.at += length;
    return;
  }
  const inner = content.slice(reading.at + length, end).replaceAll("\n", " ");
  const isPadded = inner.trim() !== "" && inner.startsWith(" ") && inner.endsWith(" ");
  const place = {
    start: sourceOf(reading, reading.at),
    end: sourceOf(reading, end + length - 1) + 1,
  };
  put(
    reading,
    { type: "codespan", text: isPadded ? inner.slice(1, -1) : inner, place },
    end + length,
  );
}

function readMark(reading: LeafReading, sign: string): void {
  const { content } = reading;
  let end = reading.at;
  while (content[end] === sign) end += 1;
  const mark = createMark({
    signs: content.slice(reading.at, end),
    before: characterBefore(reading, reading.at),
    after: characterAt(reading, end),
  });
  if (mark.opens || mark.closes) put(reading, mark, end);
  else reading.at = end;
}

function openBracket(reading: LeafReading, length: number): void {
  for (const outer of reading.brackets.slice(-1)) outer.holdsBrackets = true;
  const mark = reading.content.slice(reading.at, reading.at + length);
  put(reading, undefined, reading.at);
  reading.brackets.push({
    row: reading.row.length,
    at: reading.at,
    isImage: length === 2,
    holdsBrackets: false,
  });
  if (reading.brackets.length > maxOpen) {
    reading.brackets.shift();
    reading.closedBelow = Math.max(0, reading.closedBelow - 1);
  }
  put(reading, { type: "text", text: mark }, reading.at + length);
}

function closeBracket(reading: LeafReading): void {
  const opener = reading.brackets.pop();
  const isClosed = reading.brackets.length < reading.closedBelow;
  reading.closedBelow = Math.min(reading.closedBelow, reading.brackets.length);
  for (const outer of reading.brackets.slice(-1)) outer.holdsBrackets = true;
  const target =
    opener === undefined || (isClosed && !opener.isImage) ? undefined : findTarget(reading, opener);
  if (opener === undefined || target === undefined) {
    reading.at += 1;
    return;
  }
  const labelAt = opener.at + (opener.isImage ? 2 : 1);
  flushText(reading, reading.at);
  reading.textFrom = reading.at;
  const inner = reading.row.splice(opener.row + 1);
  reading.row.length = opener.row;
  const link: Link = {
    type: opener.isImage ? "image" : "link",
    form: target.form,
    label: reading.content.slice(labelAt, reading.at).replace(/\\([[\]])/g, "$1"),
    href: target.href,
    children: withEmphasis(inner, reading.work).map(toTextInLink),
    place: {
      start: sourceOf(reading, opener.at),
      labelEnd: sourceOf(reading, reading.at),
      end: sourceOf(reading, target.end - 1) + 1,
    },
  };
  if (!opener.isImage) reading.closedBelow = reading.brackets.length;
  put(reading, link, target.end);
}

function findTarget(
  reading: LeafReading,
  opener: Bracket,
): { form: Link["form"]; href: string; end: number } | undefined {
  const { content, work } = reading;
  const inline = inlineTarget(content, reading.at + 1, work);
  if (inline !== undefined) return { form: "inline", ...inline };
  if (reading.references.size === 0) return undefined;
  const name =
    content[reading.at + 1] === "[" ? readNameAt(content, reading.at + 1, work) : undefined;
  const isOwn = name === undefined || name.name === "";
  if (isOwn && opener.holdsBrackets) return undefined;
  const own = content.slice(opener.at + (opener.isImage ? 2 : 1), reading.at);
  work.spend(isOwn ? own.length : name.name.length);
  const reference = reading.references.get(referenceName(isOwn ? own : name.name));
  if (reference === undefined || !reading.takeAddress(reference.href.length)) return undefined;
  return { form: "reference", href: reference.href, end: name?.end ?? reading.at + 1 };
}

function readAngle(reading: LeafReading): void {
  const { content, work } = reading;
  if (content.startsWith("<!--", reading.at)) {
    readComment(reading);
    return;
  }
  const match = [autoAddress, autoMail, tag]
    .map((expression) => matchAt(expression, content, reading.at))
    .find((one) => one !== undefined);
  if (match === undefined) {
    reading.at += 1;
    return;
  }
  const [all, target] = match;
  work.spend(all.length);
  if (target === undefined) {
    put(reading, htmlUpTo(reading, reading.at + all.length), reading.at + all.length);
    return;
  }
  const href = decodeEntities(/^[^:]*@/.test(target) ? `mailto:${target}` : target);
  put(
    reading,
    createAutoLink(reading, { shown: target, href, end: reading.at + all.length }),
    reading.at + all.length,
  );
}

function readComment(reading: LeafReading): void {
  const { content, work } = reading;
  reading.commentsEnd =
    reading.commentsEnd !== undefined &&
    reading.commentsEnd < reading.at + 4 &&
    reading.commentsEnd >= 0
      ? undefined
      : reading.commentsEnd;
  if (reading.commentsEnd === undefined) {
    reading.commentsEnd = content.indexOf("-->", reading.at + 4);
    work.spend((reading.commentsEnd < 0 ? content.length : reading.commentsEnd) - reading.at);
  }
  if (reading.commentsEnd < 0) reading.at += 4;
  else put(reading, htmlUpTo(reading, reading.commentsEnd + 3), reading.commentsEnd + 3);
}

function htmlUpTo(reading: LeafReading, end: number): Inline {
  return {
    type: "html",
    text: reading.content.slice(reading.at, end),
    place: { start: sourceOf(reading, reading.at), end: sourceOf(reading, end - 1) + 1 },
  };
}

function readLineEnd(reading: LeafReading): void {
  const { content } = reading;
  let blanks = reading.at;
  while (blanks > reading.textFrom && content[blanks - 1] === " ") blanks -= 1;
  if (reading.at - blanks < 2 || content.slice(reading.at + 1, reading.at + 2) === "") {
    reading.at += 1;
    return;
  }
  const end = skipBlanks(reading, reading.at + 1);
  reading.at = blanks;
  put(reading, { type: "br" }, end);
}

function readAddress(reading: LeafReading): void {
  const { content, work } = reading;
  const isWeb = /^www/i.test(content.slice(reading.at, reading.at + 3));
  if (isWeb && !/^[\s*_~([]?$/.test(characterBefore(reading, reading.at))) {
    reading.at += 1;
    return;
  }
  const isOpen = reading.brackets.length > 0;
  const [rest = ""] =
    matchAt(isOpen ? addressRestInBrackets : addressRest, content, reading.at) ?? [];
  work.spend(rest.length);
  const webAddress = withoutEnd(rest);
  const href = unescapeText(isWeb ? `http://${webAddress}` : webAddress);
  put(
    reading,
    createAutoLink(reading, { shown: webAddress, href, end: reading.at + webAddress.length }),
    reading.at + webAddress.length,
  );
}

function readMail(reading: LeafReading): void {
  const { content, work } = reading;
  const mail = mailAround({
    text: content,
    from: reading.textFrom,
    at: reading.at,
    work,
  });
  if (mail === undefined) {
    reading.at += 1;
    return;
  }
  reading.at = mail.start;
  const mailAddress = content.slice(reading.at, mail.end);
  const href = /^mailto:/i.test(mailAddress) ? mailAddress : `mailto:${mailAddress}`;
  put(reading, createAutoLink(reading, { shown: mailAddress, href, end: mail.end }), mail.end);
}

function createAutoLink(
  reading: LeafReading,
  {
    shown,
    href,
    end,
  }: {
    shown: string;
    href: string;
    end: number;
  },
): Link {
  const place = {
    start: sourceOf(reading, reading.at),
    labelEnd: sourceOf(reading, end - 1) + 1,
    end: sourceOf(reading, end - 1) + 1,
  };
  return {
    type: "link",
    form: "auto",
    label: shown,
    href,
    children: [{ type: "text", text: shown }],
    place,
  };
}

function addressFrom(reading: LeafReading, from: number): number {
  const { content, work } = reading;
  const addressIndex = matchAt(address, content, from)?.index;
  work.spend((addressIndex ?? content.length) - from + 1);
  return addressIndex ?? Number.POSITIVE_INFINITY;
}

function specialFrom(reading: LeafReading, from: number): number {
  const { content, work } = reading;
  const specialIndex = matchAt(special, content, from)?.index ?? content.length;
  work.spend(specialIndex - from + 1);
  return specialIndex;
}

function skipBlanks(reading: LeafReading, from: number): number {
  const { content } = reading;
  let end = from;
  while (content[end] === " " || content[end] === "\t") end += 1;
  return end;
}

function characterAt(reading: LeafReading, index: number): string {
  const code = reading.content.codePointAt(index);
  return code === undefined ? "" : String.fromCodePoint(code);
}

function characterBefore(reading: LeafReading, index: number): string {
  return [...reading.content.slice(Math.max(0, index - 2), index)].at(-1) ?? "";
}

/** Turns links within a link into text. */
function toTextInLink(inline: Inline): Inline {
  if (inline.type === "link") return { type: "text", text: inline.label };
  if (inline.type === "strong" || inline.type === "em" || inline.type === "del")
    return { ...inline, children: inline.children.map(toTextInLink) };
  return inline;
}
