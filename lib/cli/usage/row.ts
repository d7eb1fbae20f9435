/** The use of a task as it is exported, with the same names in CSV and in JSON. */
import type { UsageEntry } from "@sekisho/verification/usage/entry.ts";

type Value = string | number | undefined;

const fields: Record<string, (entry: UsageEntry) => Value> = {
  ended_at: ({ endedAtMs }) => new Date(endedAtMs).toISOString(),
  asked_at: ({ askedAtMs }) => new Date(askedAtMs).toISOString(),
  // The clocks of the machines that received and ended it may differ.
  seconds: ({ askedAtMs, endedAtMs }) => Math.max(0, endedAtMs - askedAtMs) / 1000,
  request_id: ({ requestId }) => requestId,
  team: ({ team }) => team,
  channel: ({ channel }) => channel,
  user: ({ user }) => user,
  destination: ({ destination }) => destination,
  outcome: ({ outcome }) => outcome,
  reason: ({ reason }) => reason,
  polls: ({ polls }) => polls,
  questions: ({ questions }) => questions,
  input_tokens: ({ tokens }) => tokens?.input,
  output_tokens: ({ tokens }) => tokens?.output,
  total_tokens: ({ tokens }) => tokens?.total,
  votes_up: ({ votes }) => votes?.up,
  votes_down: ({ votes }) => votes?.down,
  question: ({ texts }) => texts?.question,
  answer: ({ texts }) => texts?.answer,
};

export const columns: readonly string[] = Object.keys(fields);

/** Unknown values are undefined. */
export function toUsageRow(entry: UsageEntry): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, readCell]) => [name, readCell(entry)]),
  );
}
