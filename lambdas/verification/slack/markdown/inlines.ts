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

/** Creates one reader for all leaves of a text. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createInlineReader({
  references,
  work,
  takeAddress,
}: InlineReading): (leaf: Leaf) => Inline[] {
  let content = "";
  let lines: Leaf["lines"] = [];
  let row: (Inline | Mark)[] = [];
  let brackets: Bracket[] = [];
  /** Brackets below this index contain a link and cannot become links themselves. */
  let closedBelow = 0;
  let textFrom = 0;
  let at = 0;
  let nextAddress = 0;
  let nextSpecial = 0;
  let commentsEnd: number | undefined;
  let backticks: Backticks | undefined;

  return (leaf) => {
    ({ content, lines } = leaf);
    [row, brackets, backticks, commentsEnd] = [[], [], undefined, undefined];
    closedBelow = textFrom = at = 0;
    nextAddress = addressFrom(0);
    nextSpecial = specialFrom(0);
    while (at < content.length) {
      if (nextAddress < at) nextAddress = addressFrom(at);
      if (nextSpecial < at) nextSpecial = specialFrom(at);
      work.spend(1);
      at = Math.min(nextSpecial, nextAddress, content.length);
      if (at >= content.length) break;
      if (at === nextAddress) readAddress();
      else readSpecial(content[at] ?? "");
    }
    flushText(content.length);
    return withEmphasis(row, work);
  };

  function sourceOf(index: number): number {
    return findSource(lines, index);
  }

  function readSpecial(sign: string): void {
    if (sign === "\\") readEscape();
    else if (sign === "`") readCode();
    else if (sign === "*" || sign === "_" || sign === "~") readMark(sign);
    else if (sign === "!" && content[at + 1] === "[") openBracket(2);
    else if (sign === "[") openBracket(1);
    else if (sign === "]") closeBracket();
    else if (sign === "<") readAngle();
    else if (sign === "\n") readLineEnd();
    else if (sign === "@") readMail();
    else at += 1;
  }

  /** Adds the pending text and then the node. Continues at `end`. */
  function put(node: Inline | Mark | undefined, end: number): void {
    flushText(at);
    if (node !== undefined) row.push(node);
    at = end;
    textFrom = end;
  }

  function flushText(end: number): void {
    if (textFrom < end) row.push({ type: "text", text: content.slice(textFrom, end) });
  }

  function readEscape(): void {
    const next = content[at + 1] ?? "";
    if (next === "\n") put({ type: "br" }, skipBlanks(at + 2));
    else if (escapable.test(next))
      put({ type: "text", text: next === "&" ? "&amp;" : next }, at + 2);
    else at += 1;
  }

  function readCode(): void {
    backticks ??= createBackticks(content, work);
    const length = backticks.lengthAt(at);
    const end = backticks.closing(at + length, length);
    if (end === undefined) {
      at += length;
      return;
    }
    const inner = content.slice(at + length, end).replaceAll("\n", " ");
    const isPadded = inner.trim() !== "" && inner.startsWith(" ") && inner.endsWith(" ");
    const place = { start: sourceOf(at), end: sourceOf(end + length - 1) + 1 };
    put({ type: "codespan", text: isPadded ? inner.slice(1, -1) : inner, place }, end + length);
  }

  function readMark(sign: string): void {
    let end = at;
    while (content[end] === sign) end += 1;
    const mark = createMark({
      signs: content.slice(at, end),
      before: characterBefore(at),
      after: characterAt(end),
    });
    if (mark.opens || mark.closes) put(mark, end);
    else at = end;
  }

  function openBracket(length: number): void {
    for (const outer of brackets.slice(-1)) outer.holdsBrackets = true;
    const mark = content.slice(at, at + length);
    put(undefined, at);
    brackets.push({ row: row.length, at, isImage: length === 2, holdsBrackets: false });
    if (brackets.length > maxOpen) {
      brackets.shift();
      closedBelow = Math.max(0, closedBelow - 1);
    }
    put({ type: "text", text: mark }, at + length);
  }

  function closeBracket(): void {
    const opener = brackets.pop();
    const isClosed = brackets.length < closedBelow;
    closedBelow = Math.min(closedBelow, brackets.length);
    for (const outer of brackets.slice(-1)) outer.holdsBrackets = true;
    const target =
      opener === undefined || (isClosed && !opener.isImage) ? undefined : findTarget(opener);
    if (opener === undefined || target === undefined) {
      at += 1;
      return;
    }
    const labelAt = opener.at + (opener.isImage ? 2 : 1);
    flushText(at);
    textFrom = at;
    const inner = row.splice(opener.row + 1);
    row.length = opener.row;
    const link: Link = {
      type: opener.isImage ? "image" : "link",
      form: target.form,
      label: content.slice(labelAt, at).replace(/\\([[\]])/g, "$1"),
      href: target.href,
      children: withEmphasis(inner, work).map(toTextInLink),
      place: {
        start: sourceOf(opener.at),
        labelEnd: sourceOf(at),
        end: sourceOf(target.end - 1) + 1,
      },
    };
    if (!opener.isImage) closedBelow = brackets.length;
    put(link, target.end);
  }

  function findTarget(
    opener: Bracket,
  ): { form: Link["form"]; href: string; end: number } | undefined {
    const inline = inlineTarget(content, at + 1, work);
    if (inline !== undefined) return { form: "inline", ...inline };
    if (references.size === 0) return undefined;
    const name = content[at + 1] === "[" ? readNameAt(content, at + 1, work) : undefined;
    const isOwn = name === undefined || name.name === "";
    if (isOwn && opener.holdsBrackets) return undefined;
    const own = content.slice(opener.at + (opener.isImage ? 2 : 1), at);
    work.spend(isOwn ? own.length : name.name.length);
    const found = references.get(referenceName(isOwn ? own : name.name));
    if (found === undefined || !takeAddress(found.href.length)) return undefined;
    return { form: "reference", href: found.href, end: name?.end ?? at + 1 };
  }

  function readAngle(): void {
    if (content.startsWith("<!--", at)) {
      readComment();
      return;
    }
    const found = [autoAddress, autoMail, tag]
      .map((expression) => matchAt(expression, content, at))
      .find((one) => one !== undefined);
    if (found === undefined) {
      at += 1;
      return;
    }
    const [all, target] = found;
    work.spend(all.length);
    if (target === undefined) {
      put(htmlUpTo(at + all.length), at + all.length);
      return;
    }
    const href = decodeEntities(/^[^:]*@/.test(target) ? `mailto:${target}` : target);
    put(createAutoLink({ shown: target, href, end: at + all.length }), at + all.length);
  }

  function readComment(): void {
    commentsEnd =
      commentsEnd !== undefined && commentsEnd < at + 4 && commentsEnd >= 0
        ? undefined
        : commentsEnd;
    if (commentsEnd === undefined) {
      commentsEnd = content.indexOf("-->", at + 4);
      work.spend((commentsEnd < 0 ? content.length : commentsEnd) - at);
    }
    if (commentsEnd < 0) at += 4;
    else put(htmlUpTo(commentsEnd + 3), commentsEnd + 3);
  }

  function htmlUpTo(end: number): Inline {
    return {
      type: "html",
      text: content.slice(at, end),
      place: { start: sourceOf(at), end: sourceOf(end - 1) + 1 },
    };
  }

  function readLineEnd(): void {
    let blanks = at;
    while (blanks > textFrom && content[blanks - 1] === " ") blanks -= 1;
    if (at - blanks < 2 || content.slice(at + 1, at + 2) === "") {
      at += 1;
      return;
    }
    const end = skipBlanks(at + 1);
    at = blanks;
    put({ type: "br" }, end);
  }

  function readAddress(): void {
    const isWeb = /^www/i.test(content.slice(at, at + 3));
    if (isWeb && !/^[\s*_~([]?$/.test(characterBefore(at))) {
      at += 1;
      return;
    }
    const isOpen = brackets.length > 0;
    const [rest = ""] = matchAt(isOpen ? addressRestInBrackets : addressRest, content, at) ?? [];
    work.spend(rest.length);
    const said = withoutEnd(rest);
    const href = unescapeText(isWeb ? `http://${said}` : said);
    put(createAutoLink({ shown: said, href, end: at + said.length }), at + said.length);
  }

  function readMail(): void {
    const found = mailAround({ text: content, from: textFrom, at, work });
    if (found === undefined) {
      at += 1;
      return;
    }
    at = found.start;
    const said = content.slice(at, found.end);
    const href = /^mailto:/i.test(said) ? said : `mailto:${said}`;
    put(createAutoLink({ shown: said, href, end: found.end }), found.end);
  }

  function createAutoLink({
    shown,
    href,
    end,
  }: {
    shown: string;
    href: string;
    end: number;
  }): Link {
    const place = {
      start: sourceOf(at),
      labelEnd: sourceOf(end - 1) + 1,
      end: sourceOf(end - 1) + 1,
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

  function addressFrom(from: number): number {
    const found = matchAt(address, content, from)?.index;
    work.spend((found ?? content.length) - from + 1);
    return found ?? Number.POSITIVE_INFINITY;
  }

  function specialFrom(from: number): number {
    const found = matchAt(special, content, from)?.index ?? content.length;
    work.spend(found - from + 1);
    return found;
  }

  function skipBlanks(from: number): number {
    let end = from;
    while (content[end] === " " || content[end] === "\t") end += 1;
    return end;
  }

  function characterAt(index: number): string {
    const code = content.codePointAt(index);
    return code === undefined ? "" : String.fromCodePoint(code);
  }

  function characterBefore(index: number): string {
    return [...content.slice(Math.max(0, index - 2), index)].at(-1) ?? "";
  }
}

/** Turns links within a link into text. */
function toTextInLink(inline: Inline): Inline {
  if (inline.type === "link") return { type: "text", text: inline.label };
  if (inline.type === "strong" || inline.type === "em" || inline.type === "del")
    return { ...inline, children: inline.children.map(toTextInLink) };
  return inline;
}
