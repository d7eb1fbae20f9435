/** Waiting: how to stop waiting for work that cannot be stopped itself, and how long to wait before a repetition. */

/** Settles as `promise` does, or rejects with the signal's reason as soon as it aborts. */
export function abortable<T>({ promise, signal }: { promise: Promise<T>; signal: AbortSignal }): Promise<T> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  return result;
}

/** Exponential backoff with full jitter: a random time of 0 up to `min(capMs, baseMs * 2^attempt)` milliseconds; `attempt` counts from 0, `random` gives [0, 1). */
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

/**
 * Reads the `Retry-After` header (RFC 9110, section 10.2.3), which is seconds or an HTTP date. Milliseconds from now on, never
 * negative; undefined where there is none or it is malformed.
 */
export function parseRetryAfter({
  header,
  nowMs,
}: {
  header: string | null | undefined;
  nowMs: number;
}): number | undefined {
  if (header === null || header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const atMs = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(atMs - nowMs, 0);
}
