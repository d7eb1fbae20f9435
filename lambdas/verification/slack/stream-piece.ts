/** The next piece of a text that is shown as it is written: what Slack has then is, together, safe Markdown. Pure. */
import { createHash } from "node:crypto";
import { endOfPiece } from "./end-of-piece.ts";
import { safeMarkdown } from "./safe-markdown.ts";
import { closingOf } from "./scan-blocks.ts";
import { isVisible } from "./visible-text.ts";

/** What a message of the stream shows: Markdown of that `length`, made of the text from there on. */
export type StreamShows = { from: number; length: number; digest: string };

export type Piece =
  | { type: "piece"; markdown: string; shows: StreamShows; end: number }
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
export function nextPiece(request: { text: string; from: number; shows: StreamShows | undefined }): Piece {
  const { text, from, shows } = request;
  if (text.length < from) return { type: "broken" };
  const end = endOfPiece({ text, from });
  if (text.slice(from, end).trim() === "") return { type: "none" };
  const start = shows?.from ?? from;
  const whole = safeMarkdown(openFence(text.slice(0, start)) + text.slice(start, end));
  const shown = shows?.length ?? 0;
  if (shows !== undefined && digestOf(whole.slice(0, shown)) !== shows.digest) return { type: "broken" };
  const markdown = whole.slice(shown);
  if (markdown.length > maxPieceLength) return { type: "broken" };
  if (!isVisible(markdown)) return { type: "none" };
  return { type: "piece", markdown, shows: { from: start, length: whole.length, digest: digestOf(whole) }, end };
}

/** What goes on as code in a new message begins as such. */
function openFence(before: string): string {
  let opening = "";
  let closing: RegExp | undefined;
  for (const line of before.split("\n")) {
    if (closing?.test(line)) closing = undefined;
    else if (closing === undefined) [opening, closing] = [line, closingOf(line)];
  }
  return closing === undefined ? "" : `${opening}\n`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
