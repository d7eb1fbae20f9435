/** Stops waiting for work that cannot be stopped, and computes the delay before a retry. */

/** Settles as `promise` does, or rejects with the signal's reason as soon as it aborts. */
export function abortable<T>({
  promise,
  signal,
}: {
  promise: Promise<T>;
  signal: AbortSignal;
}): Promise<T> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  return result;
}

/** Exponential backoff with full jitter: a random time up to `min(capMs, baseMs * 2^attempt)`. `attempt` counts from 0; `random` returns [0, 1). */
export function backoffMs(request: {
  attempt: number;
  baseMs: number;
  capMs: number;
  random: () => number;
}): number {
  const { attempt, baseMs, capMs, random } = request;
  return Math.floor(random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 30)));
}

/**
 * Reads the `Retry-After` header (RFC 9110, section 10.2.3), which is seconds or an HTTP date. Returns milliseconds from now, never
 * negative; undefined if the header is absent or malformed.
 */
export function parseRetryAfter(request: {
  header: string | null | undefined;
  nowMs: number;
}): number | undefined {
  const { header, nowMs } = request;
  if (header === null || header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const atMs = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : Math.max(atMs - nowMs, 0);
}
