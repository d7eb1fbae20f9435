/** Caches a secret, and reads it again after a mismatch, because it may have been rotated. */
import { createCachedValue } from "./cache.ts";
import { withinDeadline } from "./deadline.ts";

export type CachedSecret = {
  /** Reads the secret unless it is cached. Rejects if the read fails; "" if no secret is configured. */
  current(): Promise<string>;
  /** Call it after a mismatch. Returns a newer secret than `tried`, or undefined if there is none or the last read is too recent. */
  readNewer(triedSecret: string): Promise<string | undefined>;
};

/**
 * Concurrent calls share one read. An empty or failed read keeps the cached secret. After `keepMs` the secret is read again anyway.
 * `rereadAfterMs` is the shortest time between reads after mismatches: a flood of false signatures must not become a flood of reads.
 */
export function createCachedSecret(options: {
  readSecret: () => Promise<string>;
  now?: () => number;
  readTimeoutMs?: number;
  keepMs?: number;
  rereadAfterMs?: number;
}): CachedSecret {
  const {
    readSecret,
    now = Date.now,
    readTimeoutMs = 1000,
    keepMs = Number.POSITIVE_INFINITY,
  } = options;
  const { rereadAfterMs = 30_000 } = options;
  let last = "";
  async function load() {
    const value = await withinDeadline({ work: readSecret(), timeoutMs: readTimeoutMs });
    last = value || last;
    return { value, keepMs: value === "" ? 0 : Number.POSITIVE_INFINITY, refreshAfterMs: keepMs };
  }
  const cachedSecret = createCachedValue({ load, now, retryAfterMs: keepMs });
  return {
    current: async () => (await cachedSecret.get()) || last,
    async readNewer(triedSecret) {
      if (last === triedSecret) await cachedSecret.reload({ minIntervalMs: rereadAfterMs });
      return last === triedSecret ? undefined : last;
    },
  };
}
