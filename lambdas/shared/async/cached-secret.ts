/** A secret that is read once, kept, and read again when the other side does not take it, because it may have been rotated. */
import { withinDeadline } from "./deadline.ts";

export type CachedSecret = {
  /** The kept secret; read where there is none yet. Rejects where the read fails; "" where none is configured. */
  current(): Promise<string>;
  /** After a mismatch: a newer secret than `tried`, or undefined where there is none or where the last read is too recent. Rejects as `current`. */
  newerThan(tried: string): Promise<string | undefined>;
};

/**
 * Calls at the same time share one read. An empty or failed read replaces nothing and is not kept. `keepMs`: after that it
 * is read again anyway, and where that fails, the kept one goes on. `rereadAfterMs` is between two reads after mismatches:
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
  let kept = "";
  let lastReadMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<string> | undefined;

  function read(): Promise<string> {
    reading ??= readAndKeep().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readAndKeep(): Promise<string> {
    lastReadMs = now();
    const secret = await withinDeadline({ work: readSecret(), timeoutMs: readTimeoutMs });
    if (secret !== "") kept = secret;
    return secret;
  }

  return {
    async current() {
      if (kept === "") return read();
      if (now() - lastReadMs >= keepMs) await read().catch(() => {});
      return kept;
    },
    async newerThan(tried) {
      const mayRead = reading !== undefined || now() - lastReadMs >= rereadAfterMs;
      if (kept === tried && mayRead) await read();
      return kept === tried ? undefined : kept;
    },
  };
}
