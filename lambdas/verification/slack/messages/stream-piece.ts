/** Cuts the next piece of a streamed text so that all pieces together are safe Markdown. */
import { createHash } from "node:crypto";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import { openFence } from "../markdown/markdown.ts";
import { safeMarkdown } from "../markdown/safe-markdown.ts";

/** The state of a stream message: it shows Markdown of `length`, made from the text starting at `from`. */
export type StreamContent = { from: number; length: number; digest: string };

export type StreamPiece =
  | { type: "piece"; markdown: string; shows: StreamContent; end: number }
  /** There is nothing to show yet. */
  | { type: "none" }
  /** The shown text cannot be continued, because the agent rewrote it or the new text changes its meaning. */
  | { type: "broken" };

/** Slack's limit for one append. */
const maxPieceLength = 12_000;

/**
 * `from` is the end of the text that is already shown, in this message or in earlier ones. `shows` describes this message, and is
 * undefined for a new one. Always makes the whole message safe and not only the piece, because an agent controls where a piece
 * ends and could split something unsafe over two pieces.
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
  const whole = safeMarkdown(openFence(text.slice(0, start)) + text.slice(start, end)).text;
  const shownLength = shows?.length ?? 0;
  if (shows !== undefined && createDigest(whole.slice(0, shownLength)) !== shows.digest)
    return { type: "broken" };
  const markdown = whole.slice(shownLength);
  if (markdown.length > maxPieceLength) return { type: "broken" };
  if (!isVisible(markdown)) return { type: "none" };
  return {
    type: "piece",
    markdown,
    shows: { from: start, length: whole.length, digest: createDigest(whole) },
    end,
  };
}

function createDigest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** Below Slack's limit, because making a text safe lengthens it. */
const maxReadLength = 6000;
/** A longer text is cut even within a link or code, because it could otherwise wait forever. */
const maxHeldBack = 1500;
/** How much of a partly shown line is read again, to find links that began in it. */
const lookBehind = 500;
const maxPlaces = 20;

/** A link or Slack notation whose end has not arrived yet. */
const open = /\[[^[\]]*$|\]\([^()]*$|<[^\s<>][^<>]*$/;
/** Table rows and fences, which must not be split. */
const indivisibleLine = /^[ \t>]*(?:\||`{3}|~{3})/;
/** Places for a cut: behind blanks, behind Japanese punctuation, or behind a full stop at the end. */
const place = /[ \t\u3000]+|[。、！？]+|(?<![.!?])[.!?]+$/g;

/** Returns `from` or more. The text up to there ends with a whole line or a whole word. Never splits a surrogate pair. */
export function findPieceEnd({ text, from }: { text: string; from: number }): number {
  const nextText = text.slice(from, from + maxReadLength);
  const lineEnd = from + nextText.lastIndexOf("\n") + 1;
  const lineStart = Math.max(
    lineEnd > from ? lineEnd : text.lastIndexOf("\n", from) + 1,
    from - lookBehind,
  );
  const line = text.slice(lineStart, from + nextText.length);
  const within = indivisibleLine.test(line)
    ? undefined
    : findLastPlace({ line, from: Math.max(0, from - lineStart) });
  const end = within === undefined ? lineEnd : Math.max(lineEnd, lineStart + within);
  const mustCut = end === from && nextText.length > maxHeldBack;
  return mustCut ? excludeHalfPair(text, from + nextText.length) : end;
}

/** Finds the last place behind `from` that is not within a link, code or emphasis. */
function findLastPlace({ line, from }: { line: string; from: number }): number | undefined {
  const ends = [...line.matchAll(place)]
    .map((match) => match.index + match[0].length)
    .filter((end) => end > from);
  return ends
    .toReversed()
    .slice(0, maxPlaces)
    .find((end) => isClosed(line.slice(0, end)));
}

function isClosed(line: string): boolean {
  return !open.test(line) && count(line, /`/g) % 2 === 0 && count(line, /\*\*/g) % 2 === 0;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function excludeHalfPair(text: string, end: number): number {
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? "") ? end - 1 : end;
}
