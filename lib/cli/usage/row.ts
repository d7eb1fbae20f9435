/** An entry of the usage history as it is exported: the same names in CSV and in JSON. */
import type { HistoryEntry } from "../../../lambdas/verification/usage/entry.ts";

export const columns = [
  "ended_at",
  "asked_at",
  "seconds",
  "request_id",
  "team",
  "channel",
  "user",
  "destination",
  "outcome",
  "reason",
  "polls",
  "questions",
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "question",
  "answer",
] as const;

/** What is not known is undefined. */
type UsageRow = Record<(typeof columns)[number], string | number | undefined>;

export function toUsageRow(entry: HistoryEntry): UsageRow {
  const { askedAtMs, listedAtMs: endedAtMs, tokens, texts } = entry;
  return {
    ended_at: new Date(endedAtMs).toISOString(),
    asked_at: new Date(askedAtMs).toISOString(),
    // It was received and ended on machines whose clocks differ.
    seconds: Math.max(0, endedAtMs - askedAtMs) / 1000,
    request_id: entry.requestId,
    team: entry.team,
    channel: entry.channel,
    user: entry.user,
    destination: entry.destination,
    outcome: entry.outcome,
    reason: entry.reason,
    polls: entry.polls,
    questions: entry.questions,
    input_tokens: tokens?.input,
    output_tokens: tokens?.output,
    total_tokens: tokens?.total,
    question: texts?.question,
    answer: texts?.answer,
  };
}
