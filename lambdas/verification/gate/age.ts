/** How old a message may be: one that waited longer for its worker is answered with an apology, never executed. */

export const maxAgeMs = 24 * 3600_000;

/** By Slack's `ts` (seconds since the epoch) or by the receipt, whichever is earlier. A `ts` that is no number counts as too old. */
export function isTooOld({ ts, receivedAtMs, nowMs }: { ts: string; receivedAtMs: number; nowMs: number }): boolean {
  const sinceMs = Math.min(Number(ts) * 1000, receivedAtMs);
  return !(nowMs - sinceMs <= maxAgeMs);
}
