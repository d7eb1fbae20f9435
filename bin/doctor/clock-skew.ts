/** How far this machine's clock is from another one's, by the `Date` of an HTTP answer (RFC 9110, section 6.6.1). Pure. */

/** Negative: ours is behind. Undefined where the answer has no date. */
export function skewMsOf({
  date,
  sentAtMs,
  receivedAtMs,
}: {
  date: string | null;
  sentAtMs: number;
  receivedAtMs: number;
}): number | undefined {
  const theirsMs = Date.parse(date ?? "");
  if (Number.isNaN(theirsMs)) return undefined;
  // A date is in whole seconds, cut off; and it was written somewhere between sending and receiving.
  return Math.round((sentAtMs + receivedAtMs) / 2 - (theirsMs + 500));
}
