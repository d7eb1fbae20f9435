/** Which posts make the thread show the answer exactly once, given the posts that are there. Pure. */
import type { PostedMessage } from "../slack/slack.ts";

export type DeliveryAction =
  | { type: "update"; ts: string; part: number; text: string }
  | { type: "post"; part: number; text: string }
  | { type: "remove"; ts: string };

/**
 * `found` are the task's own posts, oldest first; part 0 is the placeholder. The earliest post of a part stays,
 * surplus ones go. The placeholder becomes part 1, unless `asNew` (an edit notifies nobody): then it goes last,
 * so that the thread is never without a word. A post that carries its part's key has its part's text.
 */
export function planDelivery({
  parts,
  found,
  asNew,
  firstPart = 1,
}: {
  parts: string[];
  found: PostedMessage[];
  asNew: boolean;
  /** The first part's number; what has another is none of these parts. */
  firstPart?: number;
}): DeliveryAction[] {
  const byPart = new Map<number, PostedMessage>();
  const surplus: PostedMessage[] = [];
  for (const post of found) {
    const part = post.key?.part ?? -1;
    const isOne = part === 0 || (part >= firstPart && part < firstPart + parts.length);
    if (!isOne || byPart.has(part)) surplus.push(post);
    else byPart.set(part, post);
  }
  const placeholder = byPart.get(0);
  const edits = placeholder !== undefined && !asNew && !byPart.has(firstPart);
  const actions = parts.flatMap((text, index): DeliveryAction[] => {
    const part = firstPart + index;
    if (byPart.has(part)) return [];
    if (part === firstPart && edits) return [{ type: "update", ts: placeholder.ts, part, text }];
    return [{ type: "post", part, text }];
  });
  if (placeholder !== undefined && !edits) surplus.push(placeholder);
  return [...actions, ...surplus.map(({ ts }): DeliveryAction => ({ type: "remove", ts }))];
}
