/** How long a task waits before its next step. A wake-up comes after `delayMs` and a random part of `jitterMs`. */

export type Delay = { delayMs: number; jitterMs?: number };

const pollBaseMs = 500;
/** What one poll costs is the same after an hour as after a minute, and so is what a user notices of it. */
const pollCeilingMs = 30_000;
/** A peer that asks for more time than this is asked again all the same. */
const mostObeyedMs = 15 * 60_000;
const retryBaseMs = 1000;
const retryCapMs = 60_000;

/** What the queue gave up on comes again that much later. */
export const afterDeadLetterMs = 5 * 60_000;

/**
 * Before the next `get_task`: what the host asks for (up to a quarter of an hour), and full jitter beyond it, up to half as
 * much again at each poll and up to 30 s in all, so that tasks that were sent together are not polled together.
 */
export function pollDelay({
  polls,
  pollAfterMs,
}: {
  polls: number;
  pollAfterMs?: number | undefined;
}): Required<Delay> {
  const delayMs = Math.min(Math.max(pollAfterMs ?? pollBaseMs, 100), mostObeyedMs);
  const mostMs = Math.min(pollCeilingMs, delayMs * 1.5 ** Math.min(polls, 20));
  return { delayMs, jitterMs: Math.max(0, Math.floor(mostMs - delayMs)) };
}

/** Before a failed act is repeated: 1 s, 2 s, 4 s up to a minute, and never before the peer's own `retryAfterMs`. */
export function retryDelayMs(attempts: number, retryAfterMs: number | undefined): number {
  const backoff = Math.min(retryCapMs, retryBaseMs * 2 ** Math.min(Math.max(attempts - 1, 0), 20));
  return Math.max(backoff, Math.min(retryAfterMs ?? 0, mostObeyedMs));
}

/** How long a task whose outcome is known may take to bring it into the thread, before the next one begins all the same. */
export const threadReleaseMs = 75_000;

/**
 * A task that waits for its turn is told when it comes. This is for the case that nobody tells it: it looks often enough to see
 * that the task before it has an outcome before that one's time is over.
 */
export function turnDelay({ freeAtMs, nowMs }: { freeAtMs: number; nowMs: number }): Required<Delay> {
  return { delayMs: Math.min(Math.max(freeAtMs - nowMs, 0) + 1000, threadReleaseMs), jitterMs: 10_000 };
}
