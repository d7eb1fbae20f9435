/** Finds bare addresses in a text: where a web or mail address starts, and where the sentence around it goes on. */

import { matchAt } from "./lines.ts";
import type { Work } from "./nodes.ts";

type Span = { start: number; end: number };

/** Chinese, Japanese and Korean letters, without those that look like a slash or a dot: they would hide where a host ends. */
const cjk =
  "(?![\\u2F02\\u2F03\\u30CE\\u30FD\\u4E36\\u4E3F])[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー]";

/**
 * Where the sentence goes on behind a bare address, because Chinese and Japanese have no blanks: at their punctuation, at the end of
 * bold or deleted text, and at a letter of theirs behind one of ASCII. Behind a slash or another separator the letter belongs to the
 * address, except for を, with which no word starts. An invisible character ends no address: its host would seem to be longer than it is.
 */
const addressStop = new RegExp(
  [
    "[\\u00AB\\u00BB\\u2014\\u2018-\\u201F\\u2026\\u2039\\u203A\\u3001\\u3002\\u3008-\\u3011\\u3014-\\u301B\\u301D-\\u301F]",
    "[\\uFF01\\uFF02\\uFF07-\\uFF09\\uFF0C\\uFF0E\\uFF1A-\\uFF1C\\uFF1E\\uFF1F\\uFF3B\\uFF3D\\uFF5B-\\uFF5D\\uFF5F-\\uFF64]",
    `\\*\\*|~~|__(?=${cjk})|(?:(?<=[a-z0-9)*'"\\]}])|(?<=[a-z0-9][,;!]))${cjk}|(?<=[!-~])を`,
  ].join("|"),
  "iu",
);

/** Bare addresses in a text. No expression reads beyond the next `<`. */
export const address = /(?:https?|ftp):\/\/(?=[\p{L}\p{N}-])|www\.(?=[\p{L}\p{N}-])/giu;
export const addressRest = /[^\s<]*/y;
export const addressRestInBrackets = /[^\s<[\]]*/y;
const mailHost = /@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}(?![\w-])/iy;
/** Stops at the next `@`, so that no text is read for two hosts. */
const mailHostSigns = /@[a-z0-9.-]*/iy;
const maxMailNameLength = 64;
const mailScheme = "mailto:";

/**
 * Finds the mail address around the `@` at `at` (GitHub Flavored Markdown, section 6.9), starting at `from` or later. Reads the name
 * backwards from the `@`. A regular expression would start at every character of a long name and take quadratic time.
 */
export function mailAround(request: {
  text: string;
  from: number;
  at: number;
  work: Work;
}): Span | undefined {
  const { text, from, at, work } = request;
  const least = Math.max(from, at - maxMailNameLength);
  let start = at;
  while (start > least && isMailNameSign(text.charCodeAt(start - 1))) start -= 1;
  work.spend(at - start + 1);
  if (start === at) return undefined;
  work.spend(matchAt(mailHostSigns, text, at)?.[0].length ?? 0);
  const [host] = matchAt(mailHost, text, at) ?? [];
  if (host === undefined) return undefined;
  const schemeStart = start - mailScheme.length;
  const hasScheme =
    schemeStart >= from && text.slice(schemeStart, start).toLowerCase() === mailScheme;
  return { start: hasScheme ? schemeStart : start, end: at + host.length };
}

/** True for ASCII letters, digits, `.`, `-`, `_` and `+`. */
function isMailNameSign(code: number): boolean {
  const lower = code | 0x20;
  if (lower >= 0x61 && lower <= 0x7a) return true;
  return (
    (code >= 0x30 && code <= 0x39) ||
    code === 0x2e ||
    code === 0x2d ||
    code === 0x5f ||
    code === 0x2b
  );
}

/** Removes what belongs to the sentence: text behind the address, and punctuation at its end. */
export function withoutEnd(run: string): string {
  const stop = run.search(addressStop);
  const address = stop < 0 ? run : run.slice(0, stop);
  let end = address.length;
  let surplus = count(address, ")") - count(address, "(");
  for (; end > 0; end -= 1) {
    const last = address[end - 1] ?? "";
    if (last === ")") {
      if (surplus <= 0) break;
      surplus -= 1;
    } else if (!/[?!.,:;*_'"~&]/.test(last)) break;
  }
  return address.slice(0, end);
}

function count(text: string, sign: string): number {
  let total = 0;
  for (const character of text) if (character === sign) total += 1;
  return total;
}
