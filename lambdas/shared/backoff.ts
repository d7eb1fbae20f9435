/** Exponential backoff with full jitter: how long to wait before a repetition. */

/** A random time of 0 up to `min(capMs, baseMs * 2^attempt)` milliseconds; `attempt` counts from 0, `random` gives [0, 1). */
export function backoffMs({
  attempt,
  baseMs,
  capMs,
  random,
}: {
  attempt: number;
  baseMs: number;
  capMs: number;
  random: () => number;
}): number {
  return Math.floor(random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30)));
}
