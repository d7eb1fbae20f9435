/** The keys of a zone's issuer. One of them signs, and all are published. */

/** `from` is the time from which the key signs (RFC 3339). */
export type AskerKey = { id: string; from: string };

/** The newest key whose time has come, or the oldest one if none has. */
export function findCurrentKey<K extends AskerKey>(
  keys: readonly K[],
  nowMs: number,
): K | undefined {
  const byAge = keys.toSorted((a, b) => Date.parse(a.from) - Date.parse(b.from));
  return byAge.findLast(({ from }) => Date.parse(from) <= nowMs) ?? byAge[0];
}
