/** How often the bundles call AWS, by action. What AWS does itself on behalf of an event source is not counted. */
import type { RecordedCall } from "./aws/gateway.ts";

export type Counts = Record<string, number>;

export function countsOf(calls: readonly RecordedCall[]): Counts {
  const counts: Counts = {};
  for (const { action, kind } of calls) if (kind === "code") counts[action] = (counts[action] ?? 0) + 1;
  return counts;
}

/** What one poll adds: the difference of two tasks that differ in their polls. */
export function perPoll({ long, short, polls }: { long: Counts; short: Counts; polls: number }): Counts {
  const entries = Object.keys(long).map((action) => {
    const more = ((long[action] ?? 0) - (short[action] ?? 0)) / polls;
    return [action, Math.round(more * 100) / 100] as const;
  });
  return Object.fromEntries(entries.filter(([, more]) => more !== 0));
}
