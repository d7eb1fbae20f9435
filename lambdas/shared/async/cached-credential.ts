/** Keeps a credential that expires: tokens, assumed roles, certificates. One fetch for all callers, renewed before it expires. */

import { createCachedValue } from "./cache.ts";
import { abortable } from "./waiting.ts";

/** `renewAfterMs` is four fifths of its life unless said otherwise. */
export type FreshCredential<T> = { credential: T; lifetimeMs: number; renewAfterMs?: number };

/** The options that tests set. `timeoutMs` is for one fetch. */
export type CredentialCacheOptions = { timeoutMs?: number; now?: () => number; random?: () => number };

export type CachedCredential<T> = {
  /** Returns at once where a good one is cached. Rejects as `fetch` does, or with its time-out, where none is usable. */
  current(): T | Promise<T>;
  /** Drops the cached one if it is the refused one. */
  forget(isRefused: (credential: T) => boolean): void;
};

/**
 * One caller renews it when the time has come, up to an eighth later so that not all processes do so at once. Where that fails, the
 * cached one goes on, and `retryAfterMs` passes before the next try. The last twentieth of its life is left unused: it must
 * still be good when it arrives.
 */
export function createCachedCredential<T>({
  fetch,
  timeoutMs = 5000,
  retryAfterMs = 10_000,
  now = Date.now,
  random = Math.random,
}: CredentialCacheOptions & {
  /** `signal` belongs to the fetch, not to one of its callers. */
  fetch: (request: { signal: AbortSignal }) => Promise<FreshCredential<T>>;
  retryAfterMs?: number;
}): CachedCredential<T> {
  async function load() {
    const signal = AbortSignal.timeout(timeoutMs);
    const fresh = await abortable({ promise: fetch({ signal }), signal });
    const { credential, lifetimeMs, renewAfterMs = lifetimeMs * 0.8 } = fresh;
    return { value: credential, keepMs: lifetimeMs * 0.95, refreshAfterMs: renewAfterMs * (1 + random() / 8) };
  }
  const cached = createCachedValue({ load, now, retryAfterMs });
  return { current: cached.get, forget: cached.forget };
}
