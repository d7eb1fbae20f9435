/**
 * Keeps characters that act instead of showing something away from whoever reads a text: control characters (C0, DEL, C1, with
 * them every terminal escape sequence), those that set the direction of writing, and line ends that only some readers know.
 */

const bidi = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u206f";
const acting = new RegExp(`[\\p{Cc}\\p{Zl}\\p{Zp}${bidi}\\ufeff\\ufff9-\\ufffb]`, "gu");
const actingInLines = new RegExp(`(?![\\t\\n]|\\r\\n)${acting.source}`, "gu");
/** A carriage return alone lets a terminal write over its line. */
const oddLineEnds = /\r(?!\n)|[\u2028\u2029]/g;

/** Without any of them. For what stands in one line: a name, a label, a title. */
export function safeLine(text: string): string {
  return text.replaceAll(acting, "");
}

/** Tabs and line ends stay. For what may have several lines: an answer, a question, progress. */
export function safeLines(text: string): string {
  return text.replaceAll(oddLineEnds, "\n").replaceAll(actingInLines, "");
}

/** Written as `\u` and four digits. JSON in which they stood means the same afterwards, whatever its layout. */
export function escapeActing(text: string): string {
  return text.replaceAll(actingInLines, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** For `JSON.stringify`: each text in it as `safeLines` leaves it. */
export function safeReplacer(_key: string, value: unknown): unknown {
  return typeof value === "string" ? safeLines(value) : value;
}
