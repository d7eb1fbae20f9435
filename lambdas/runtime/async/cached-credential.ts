/** Caches a credential that expires, such as a token or an assumed role. All callers share one fetch, and it is renewed before it expires. */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createCachedValue, elapsedMs } from "./cache.ts";
import { abortable } from "./waiting.ts";

/** `renewAfterMs` defaults to four fifths of the lifetime. */
export type FreshCredential<T> = { credential: T; lifetimeMs: number; renewAfterMs?: number };

/** Options for tests. `timeoutMs` limits one fetch. */
export type CredentialCacheOptions = {
  timeoutMs?: number;
  now?: () => number;
  random?: () => number;
};

export type CachedCredential<T> = {
  /** Returns at once if the cached credential is usable. Otherwise fetches one, and rejects as `fetch` does or with a time-out. */
  current(): T | Promise<T>;
  /** Drops the cached credential if it is the refused one. */
  forget(isRefused: (credential: T) => boolean): void;
};

/**
 * One caller renews the credential when it is due, or up to an eighth of that time later, so that processes do not all renew at once. If
 * that fails, the cached one stays in use, and the next attempt is after `retryAfterMs`. The last twentieth of the lifetime is not used, so
 * that a credential is still valid when it arrives.
 */
export function createCachedCredential<T>(
  options: CredentialCacheOptions & {
    /** `signal` belongs to the fetch, not to any of its callers. */
    fetch: (request: { signal: AbortSignal }) => Promise<FreshCredential<T>>;
    retryAfterMs?: number;
  },
): CachedCredential<T> {
  const {
    fetch,
    timeoutMs = 5000,
    retryAfterMs = 10_000,
    now = Date.now,
    random = Math.random,
  } = options;
  async function load() {
    const startedAtMs = now();
    const signal = AbortSignal.timeout(timeoutMs);
    const fresh = await abortable({ promise: fetch({ signal }), signal });
    const { credential, lifetimeMs, renewAfterMs = lifetimeMs * 0.8 } = fresh;
    const keepMs = lifetimeMs * 0.95;
    // A timer may stand still while the process is frozen, so a fetch can end after its credential has expired.
    if (elapsedMs(startedAtMs, now()) > keepMs)
      throw new SekishoError("unavailable", { certainty: "undelivered" });
    return {
      value: credential,
      keepMs,
      refreshAfterMs: renewAfterMs * (1 + random() / 8),
    };
  }
  const cachedCredential = createCachedValue({ load, now, retryAfterMs });
  return { current: cachedCredential.get, forget: cachedCredential.forget };
}
