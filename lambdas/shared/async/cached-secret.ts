/** A secret that is read once, kept, and read again when the other side does not take it, because it may have been rotated. */
import { createCachedValue } from "./cache.ts";
import { withinDeadline } from "./deadline.ts";

export type CachedSecret = {
  /** The cached secret; read where there is none yet. Rejects where the read fails; "" where none is configured. */
  current(): Promise<string>;
  /** After a mismatch: a newer secret than `tried`, or undefined where there is none or where the last read is too recent. Rejects as `current`. */
  newerThan(tried: string): Promise<string | undefined>;
};

/**
 * Calls at the same time share one read. An empty or failed read replaces nothing and is not cached. `keepMs`: after that it
 * is read again anyway, and where that fails, the cached one goes on. `rereadAfterMs` is between two reads after mismatches:
 * a flood of false signatures must not become a flood of reads.
 */
export function createCachedSecret({
  readSecret,
  now = Date.now,
  readTimeoutMs = 1000,
  keepMs = Number.POSITIVE_INFINITY,
  rereadAfterMs = 30_000,
}: {
  readSecret: () => Promise<string>;
  now?: () => number;
  readTimeoutMs?: number;
  keepMs?: number;
  rereadAfterMs?: number;
}): CachedSecret {
  let last = "";
  async function load() {
    const value = await withinDeadline({ work: readSecret(), timeoutMs: readTimeoutMs });
    last = value || last;
    return { value, keepMs: value === "" ? 0 : Number.POSITIVE_INFINITY, refreshAfterMs: keepMs };
  }
  const cached = createCachedValue({ load, now, retryAfterMs: keepMs });
  return {
    current: async () => (await cached.get()) || last,
    async newerThan(tried) {
      if (last === tried) await cached.reload({ minIntervalMs: rereadAfterMs });
      return last === tried ? undefined : last;
    },
  };
}
