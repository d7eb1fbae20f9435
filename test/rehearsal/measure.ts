/** How often the bundles call AWS, by action. What AWS does itself on behalf of an event source is not counted. */
import type { RecordedCall } from "./aws/gateway.ts";

export type Counts = Record<string, number>;

/** What a process keeps for a while. */
const kept: readonly string[] = ["secretsmanager:GetSecretValue", "ssm:GetParameter"];

/** Without what processes keep. */
export function countsOf(calls: readonly RecordedCall[]): Counts {
  return count(calls.filter(({ action, kind }) => kind === "code" && !kept.includes(action)));
}

/** What processes keep: once for every function, since how many processes it has is chance. */
export function keptCountsOf(calls: readonly RecordedCall[]): Counts {
  const once = new Map<string, RecordedCall>();
  for (const call of calls)
    if (kept.includes(call.action)) once.set(`${call.caller} ${call.action} ${call.resources.join()}`, call);
  return count([...once.values()]);
}

function count(calls: readonly RecordedCall[]): Counts {
  const counts: Counts = {};
  for (const { action } of calls) counts[action] = (counts[action] ?? 0) + 1;
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
