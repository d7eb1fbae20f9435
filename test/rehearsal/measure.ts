/** How often the bundles call AWS, by action. What AWS does itself on behalf of an event source is not counted. */
import type { RecordedCall } from "./aws/gateway.ts";

export type Counts = Record<string, number>;

/** Kept for a while by every process: how many processes there are is chance, so each is counted once a function. */
const kept: readonly string[] = ["secretsmanager:GetSecretValue", "ssm:GetParameter"];

export function countsOf(calls: readonly RecordedCall[]): Counts {
  const counts: Counts = {};
  const seen = new Set<string>();
  for (const { action, kind, caller, resources } of calls) {
    const key = `${caller} ${action} ${resources.join()}`;
    if (kind !== "code" || (kept.includes(action) && seen.has(key))) continue;
    seen.add(key);
    counts[action] = (counts[action] ?? 0) + 1;
  }
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
