/** Whether, and when, a failed Slack call is made again at once; what is not is left to the caller, who knows of later. Pure. */
import { backoffMs } from "../../shared/backoff.ts";
import type { SlackError } from "./slack.ts";

const maxAttempts = 3;
const baseMs = 300;
const capMs = 3000;

/**
 * Milliseconds to wait, or undefined to give up. `attempt` counts from 0. `repeatable`: doing it twice is the same as once,
 * so an ambiguous failure may be repeated; a post is not, since the first may be there already.
 * Slack's own `Retry-After` is obeyed to the millisecond, and where it is longer than `maxDelayMs` nothing is repeated here.
 */
export function retryDelayMs({
  error: { kind, retryAfterMs, tooLarge },
  attempt,
  repeatable,
  maxDelayMs,
  random,
}: {
  error: Pick<SlackError, "kind" | "retryAfterMs"> & Partial<Pick<SlackError, "tooLarge">>;
  attempt: number;
  repeatable: boolean;
  maxDelayMs: number;
  random: () => number;
}): number | undefined {
  if (tooLarge) return undefined;
  const mayRepeat = kind === "rate_limited" || kind === "unavailable" || (kind === "ambiguous" && repeatable);
  if (!mayRepeat || attempt + 1 >= maxAttempts) return undefined;
  const delayMs = retryAfterMs ?? backoffMs({ attempt, baseMs, capMs, random });
  return delayMs <= maxDelayMs ? delayMs : undefined;
}
