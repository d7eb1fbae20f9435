/** How long a task waits before its next step. Without jitter: the queue's own spread is enough, and a record's delay is then its attempts'. */

const pollBaseMs = 500;
const pollCapMs = 15_000;
const retryBaseMs = 1000;
const retryCapMs = 60_000;

/** Before the next `get_task`: what the host asks for at first, then growing by half each time up to 15 s. */
export function pollDelayMs({ polls, pollAfterMs }: { polls: number; pollAfterMs: number | undefined }): number {
  const base = Math.min(Math.max(pollAfterMs ?? pollBaseMs, 100), pollCapMs);
  return Math.floor(Math.min(pollCapMs, base * 1.5 ** Math.min(polls, 20)));
}

/** Before a failed act is repeated: 1 s, 2 s, 4 s up to a minute, and never before the peer's own `retryAfterMs`. */
export function retryDelayMs(attempts: number, retryAfterMs: number | undefined): number {
  const backoff = Math.min(retryCapMs, retryBaseMs * 2 ** Math.min(Math.max(attempts - 1, 0), 20));
  return Math.max(backoff, Math.min(retryAfterMs ?? 0, 15 * 60_000));
}
