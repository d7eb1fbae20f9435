/** Which posts make the thread show the outcome exactly once, given the posts that are there. */

import type { Content } from "../slack/api/slack.ts";
import { filesPart, insteadPart, placeholderPart, questionPart, streamPart } from "../slack/messages/message-marks.ts";
import type { OwnPost } from "./own-posts.ts";

export type DeliveryAction =
  | { type: "update"; ts: string; part: number; content: Content }
  | { type: "post"; part: number; content: Content }
  | { type: "share" }
  | { type: "remove"; ts: string };

/** As many as words instead of an answer could ever have. */
const maxParts = 500;

/**
 * `found` are the task's own posts, oldest first. Of each part the post that is in the record stays, else the earliest; surplus
 * ones go. A stream becomes part 1;
 * without one the placeholder does, unless `asNew` (an edit notifies nobody, and stands above what was asked meanwhile): then
 * it goes last, so that the thread is never without a word. A post that carries its part's key has its part's content.
 * Questions and what opened the thread are no parts of the outcome; of them only what is there twice goes.
 */
export function planDelivery({
  parts,
  found,
  recorded = [],
  asNew,
  firstPart,
  hasFiles,
  isStreamLatest = true,
  isRevised = false,
}: {
  parts: readonly Content[];
  found: readonly OwnPost[];
  /** The `ts` of posts that the record names: the product edits those, and no others. */
  recorded?: readonly string[];
  asNew: boolean;
  /** The first part's number; what has another is none of these parts. */
  firstPart: number;
  /** There are files that the thread is to show. */
  hasFiles: boolean;
  /** The stream is where whoever reads the thread has been last. */
  isStreamLatest?: boolean;
  /** What is there may say something else by now. */
  isRevised?: boolean;
}): DeliveryAction[] {
  const byPart = new Map<number, OwnPost>();
  const surplus: OwnPost[] = [];
  const streams = found.filter(({ part }) => part === streamPart);
  const isRecorded = ({ ts }: OwnPost) => recorded.includes(ts);
  for (const post of [...found.filter(isRecorded), ...found.filter((other) => !isRecorded(other))]) {
    const { part } = post;
    const isWanted = !isOutcome(part) || (part >= firstPart && part < firstPart + parts.length);
    if (part === streamPart) continue;
    if (!isWanted || byPart.has(part)) surplus.push(post);
    else byPart.set(part, post);
  }
  const placeholder = byPart.get(placeholderPart);
  const stream = isStreamLatest && !byPart.has(firstPart) ? streams.pop() : undefined;
  const edited = byPart.has(firstPart)
    ? undefined
    : (stream ?? (asNew || streams.length > 0 ? undefined : placeholder));
  const actions = parts.flatMap((content, index): DeliveryAction[] => {
    const part = firstPart + index;
    const there = byPart.get(part);
    if (there !== undefined) return isRevised ? [{ type: "update", ts: there.ts, part, content }] : [];
    if (index === 0 && edited !== undefined) return [{ type: "update", ts: edited.ts, part, content }];
    return [{ type: "post", part, content }];
  });
  const shares: DeliveryAction[] = hasFiles && !byPart.has(filesPart) ? [{ type: "share" }] : [];
  const left = placeholder === undefined || placeholder === edited ? [] : [placeholder];
  const removals = [...surplus, ...streams, ...left].map(({ ts }): DeliveryAction => ({ type: "remove", ts }));
  return [...actions, ...shares, ...removals];
}

/** An answer's or what stands instead of one. */
function isOutcome(part: number): boolean {
  return part > placeholderPart && part < Math.min(insteadPart + maxParts, questionPart);
}
