/** Cuts the next piece of a text that is shown as it is written. Together, the pieces in Slack are safe Markdown. */
import { createHash } from "node:crypto";
import { safeMarkdown } from "../markdown/safe-markdown.ts";
import { isVisible } from "../markdown/visible-text.ts";
import { openFence } from "./split.ts";

/** What a message of the stream shows: Markdown of that `length`, made of the text from there on. */
export type StreamContent = { from: number; length: number; digest: string };

export type StreamPiece =
  | { type: "piece"; markdown: string; shows: StreamContent; end: number }
  /** Nothing yet that could be shown. */
  | { type: "none" }
  /** The text does not go on from what is shown: it was written anew, or what came makes something else of it. */
  | { type: "broken" };

/** Slack takes that many characters at once. */
const maxPieceLength = 12_000;

/**
 * `from` says up to where the text is shown already, in this message or in former ones; `shows` is of this message, and absent for
 * a new one. The agent decides where its text ends at the moment: so never a piece is made safe, but all that the message shows.
 */
export function nextStreamPiece(request: {
  text: string;
  from: number;
  shows: StreamContent | undefined;
}): StreamPiece {
  const { text, from, shows } = request;
  if (text.length < from) return { type: "broken" };
  const end = findPieceEnd({ text, from });
  if (text.slice(from, end).trim() === "") return { type: "none" };
  const start = shows?.from ?? from;
  const whole = safeMarkdown(openFence(text.slice(0, start)) + text.slice(start, end));
  const shown = shows?.length ?? 0;
  if (shows !== undefined && createDigest(whole.slice(0, shown)) !== shows.digest) return { type: "broken" };
  const markdown = whole.slice(shown);
  if (markdown.length > maxPieceLength) return { type: "broken" };
  if (!isVisible(markdown)) return { type: "none" };
  return { type: "piece", markdown, shows: { from: start, length: whole.length, digest: createDigest(whole) }, end };
}

function createDigest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** Slack takes 12,000 characters at once; made safe, a text is longer. */
const mostLength = 6000;
/** What would hold a text back for ever: then it is cut in there all the same. */
const mostHeldBack = 1500;
/** Of a line that is shown in part already, so much is looked at again. */
const lookBehind = 500;
const mostPlaces = 20;

/** Links, code, emphasis, and Slack's own notation, of which the end is not there yet. */
const open = /\[[^[\]]*$|\]\([^()]*$|<[^\s<>][^<>]*$/;
/** Lines that mean something as a whole only: rows of tables, fences. */
const wholeLine = /^[ \t>]*(?:\||`{3}|~{3})/;
/** Behind a blank, the end of a Japanese clause, or a full stop that is the last there is. */
const place = /[ \t\u3000]+|[。、！？]+|(?<![.!?])[.!?]+$/g;

/** At least `from`; the text up to there is whole lines, or whole words of its last line. No pair of surrogates is parted. */
export function findPieceEnd({ text, from }: { text: string; from: number }): number {
  const rest = text.slice(from, from + mostLength);
  const lineEnd = from + rest.lastIndexOf("\n") + 1;
  const lineStart = Math.max(lineEnd > from ? lineEnd : text.lastIndexOf("\n", from - 1) + 1, from - lookBehind);
  const line = text.slice(lineStart, from + rest.length);
  const within = wholeLine.test(line) ? undefined : lastPlace({ line, from: Math.max(0, from - lineStart) });
  const end = within === undefined ? lineEnd : Math.max(lineEnd, lineStart + within);
  const isHeldBack = end === from && rest.length > mostHeldBack;
  return isHeldBack ? wholeCharacters(text, from + rest.length) : end;
}

/** The last place of the line that is behind `from` and within nothing. */
function lastPlace({ line, from }: { line: string; from: number }): number | undefined {
  const ends = [...line.matchAll(place)].map((match) => match.index + match[0].length).filter((end) => end > from);
  return ends
    .toReversed()
    .slice(0, mostPlaces)
    .find((end) => isClosed(line.slice(0, end)));
}

function isClosed(line: string): boolean {
  return !open.test(line) && count(line, /`/g) % 2 === 0 && count(line, /\*\*/g) % 2 === 0;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function wholeCharacters(text: string, end: number): number {
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? "") ? end - 1 : end;
}
