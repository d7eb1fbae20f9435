/** Keeps the configured tokens for a short time, so that a flood of wrong tokens is no flood of reads. */

/** A rotated token counts after that time at most, and so long an old one goes on. */
const maxAgeMs = 30_000;
/** A store of secrets that fails is left alone that long. */
const afterFailureMs = 2000;

/** Calls at the same time share one read. While the tokens cannot be read, nobody is let in by old ones: the call rejects. */
export function cachedTokens({
  readTokens,
  now = Date.now,
}: {
  readTokens: () => Promise<readonly string[]>;
  now?: (() => number) | undefined;
}): () => Promise<readonly string[]> {
  let cached: Promise<readonly string[]> | undefined;
  let untilMs = Number.NEGATIVE_INFINITY;

  return () => {
    if (cached !== undefined && now() < untilMs) return cached;
    const reading = readTokens();
    untilMs = now() + maxAgeMs;
    cached = reading;
    reading.catch(() => {
      if (cached === reading) untilMs = now() + afterFailureMs;
    });
    return reading;
  };
}
