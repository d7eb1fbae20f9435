/** How often the bundles call AWS, by action. What AWS does itself on behalf of an event source is not counted. */
import type { EmfDocument } from "../shared/telemetry/emf-rules.ts";
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

/** CloudWatch Logs charges this much for each log event besides its text. */
const bytesPerEvent = 26;

/** The bytes of log lines as CloudWatch Logs charges for them. */
export function loggedBytesOf(lines: readonly { line: string }[]): number {
  return lines.reduce((bytes, { line }) => bytes + Buffer.byteLength(line) + bytesPerEvent, 0);
}

/** The custom metrics that these lines make in CloudWatch: one per name and combination of dimension values. */
export function customMetricsOf(lines: readonly { line: string }[]): Set<string> {
  const documents = lines.filter(({ line }) => line.includes('"_aws"')).map(({ line }) => JSON.parse(line));
  const keys = (documents as EmfDocument[]).flatMap((document) =>
    document._aws.CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
      Metrics.flatMap(({ Name }) =>
        Dimensions.map((names) => JSON.stringify([Name, ...names.map((name) => [name, document[name]])])),
      ),
    ),
  );
  return new Set(keys);
}

/** What one poll adds: the difference of two tasks that differ in their polls. */
export function perPoll({ long, short, polls }: { long: Counts; short: Counts; polls: number }): Counts {
  const entries = Object.keys(long).map((action) => {
    const more = ((long[action] ?? 0) - (short[action] ?? 0)) / polls;
    return [action, Math.round(more * 100) / 100] as const;
  });
  return Object.fromEntries(entries.filter(([, more]) => more !== 0));
}
