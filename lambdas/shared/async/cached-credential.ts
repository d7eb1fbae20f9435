/** Keeps a credential that expires: tokens, assumed roles, certificates. One fetch for all who ask, renewed before it expires. */

import { abortable } from "./abortable.ts";

/** `renewAfterMs` is four fifths of its life unless said otherwise. */
export type FreshCredential<T> = { credential: T; lifetimeMs: number; renewAfterMs?: number };

/** What a test may set of whatever is kept. `timeoutMs` is for one fetch. */
export type KeepSeams = { timeoutMs?: number; now?: () => number; random?: () => number };

export type CachedCredential<T> = {
  /** At once where a good one is kept. Rejects as `fetch` does, or with its time-out, where none is usable. */
  current(): T | Promise<T>;
  /** Forgets the kept one if it is the refused one. */
  forget(isRefused: (credential: T) => boolean): void;
};

/**
 * A life is counted from before the fetch, by this machine's clock alone: the clocks of others do not matter, nor does time
 * that passed while the process was frozen. It is renewed by who asks when the time has come (never by a timer, since a frozen
 * process has none), up to an eighth later so that not all processes do so at once; meanwhile others get the kept one. Where
 * that fails, the kept one goes on, and `retryAfterMs` passes before the next try. The last twentieth of its life is left
 * unused: it must still be good when it arrives.
 */
export function createCachedCredential<T>({
  fetch,
  timeoutMs = 5000,
  retryAfterMs = 10_000,
  now = Date.now,
  random = Math.random,
}: KeepSeams & {
  /** `signal` is its own, not that of one of those who wait. */
  fetch: (request: { signal: AbortSignal }) => Promise<FreshCredential<T>>;
  retryAfterMs?: number;
}): CachedCredential<T> {
  let kept: { credential: T; renewAtMs: number; endsAtMs: number } | undefined;
  let fetching: Promise<T> | undefined;

  const usable = () => (kept !== undefined && now() < kept.endsAtMs ? kept : undefined);

  async function fetchOnce(): Promise<T> {
    const startedAtMs = now();
    const signal = AbortSignal.timeout(timeoutMs);
    const fresh = await abortable({ promise: fetch({ signal }), signal });
    const { credential, lifetimeMs, renewAfterMs = lifetimeMs * 0.8 } = fresh;
    const renewAtMs = startedAtMs + renewAfterMs * (1 + random() / 8);
    kept = { credential, renewAtMs, endsAtMs: startedAtMs + lifetimeMs * 0.95 };
    return credential;
  }

  async function renewed(): Promise<T> {
    fetching ??= fetchOnce().finally(() => {
      fetching = undefined;
    });
    try {
      return await fetching;
    } catch (thrown) {
      const still = usable();
      if (still === undefined) throw thrown;
      still.renewAtMs = now() + retryAfterMs;
      return still.credential;
    }
  }

  return {
    current() {
      const good = usable();
      const isDue = good === undefined || (fetching === undefined && now() >= good.renewAtMs);
      return isDue ? renewed() : good.credential;
    },
    forget(isRefused) {
      if (kept !== undefined && isRefused(kept.credential)) kept = undefined;
    },
  };
}
