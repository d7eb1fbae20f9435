/** An entry of the usage history as it is exported, with the same names in CSV and in JSON. */
import { countVotes, type HistoryEntry } from "@sekisho/verification/usage/entry.ts";

type Value = string | number | undefined;

const fields: Record<string, (entry: HistoryEntry) => Value> = {
  ended_at: ({ listedAtMs }) => new Date(listedAtMs).toISOString(),
  asked_at: ({ askedAtMs }) => new Date(askedAtMs).toISOString(),
  // The clocks of the machines that received and ended it may differ.
  seconds: ({ askedAtMs, listedAtMs }) => Math.max(0, listedAtMs - askedAtMs) / 1000,
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
  votes_up: ({ votes }) => votes && countVotes(votes).up,
  votes_down: ({ votes }) => votes && countVotes(votes).down,
  question: ({ texts }) => texts?.question,
  answer: ({ texts }) => texts?.answer,
};

export const columns: readonly string[] = Object.keys(fields);

/** Unknown values are undefined. */
export function toUsageRow(entry: HistoryEntry): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).map(([name, read]) => [name, read(entry)]));
}
