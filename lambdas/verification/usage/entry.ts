/** One line of the usage history: who asked when and where, and what came of it. */
import * as z from "zod";
import type { Config } from "../../shared/config/schema.ts";
import { hasFailedDelivery, type Task, type TaskOutcome, tokensSchema } from "../task/task.ts";

const dayMs = 24 * 3600_000;
/** Of a question and of an answer each: an item of DynamoDB holds 400 KB, and a listing reads many. */
const maxTextLength = 4000;

export const usageOutcomes = [
  "answered",
  "failed",
  "canceled",
  "unanswered",
  "refused",
  "limited",
  "file_refused",
  "too_old",
  "unreadable",
] as const;
type UsageOutcome = (typeof usageOutcomes)[number];

/** A record of the task store, under an id and a state that no task has. Times are milliseconds since the epoch. */
const historyEntrySchema = z.object({
  id: z.string(),
  revision: z.int(),
  /** The UTC day in which it ended: a day that is over changes no more. */
  state: z.string().startsWith("history/"),
  principal: z.string(),
  /** When it ended. */
  listedAtMs: z.int(),
  expiresAtMs: z.int(),
  requestId: z.string(),
  askedAtMs: z.int(),
  team: z.string(),
  channel: z.string(),
  user: z.string(),
  destination: z.string().optional(),
  outcome: z.enum(usageOutcomes),
  reason: z.string().optional(),
  polls: z.int(),
  /** How often the agent asked. */
  questions: z.int(),
  tokens: tokensSchema.optional(),
  texts: z.object({ question: z.string(), answer: z.string().optional() }).optional(),
});
export type HistoryEntry = z.infer<typeof historyEntrySchema>;

export function parseHistoryEntry(json: unknown): HistoryEntry {
  return historyEntrySchema.parse(json);
}

export function createHistoryId(requestId: string): string {
  return `history:${requestId}`;
}

/** `day` is an ISO date. */
export function createHistoryState(day: string): string {
  return `history/${day}`;
}

export function formatDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** How people are told apart: in the index `principal`. */
export function formatPersonKey({ team, user }: { team: string; user: string }): string {
  return `${team}/${user}`;
}

/** Undefined for what was no task: a reply that nobody answers, a word that cancels. */
export function createHistoryEntry({
  task,
  settings: { retentionDays, texts },
  nowMs,
}: {
  task: Task;
  settings: Config["usageHistory"];
  nowMs: number;
}): HistoryEntry | undefined {
  const ended = toHistoryEnd(task);
  if (ended === undefined) return undefined;
  const { id, message, call, outcome, receivedAtMs, wait, question } = task;
  const { team, channel, user } = message;
  const { text: answer, tokens } = outcome?.type === "answer" ? outcome : {};
  return {
    id: createHistoryId(id),
    revision: 1,
    state: createHistoryState(formatDay(nowMs)),
    principal: formatPersonKey(message),
    listedAtMs: nowMs,
    expiresAtMs: nowMs + retentionDays * dayMs,
    requestId: id,
    askedAtMs: receivedAtMs,
    ...{ team, channel, user },
    ...(call !== undefined && { destination: call.destination }),
    ...ended,
    polls: wait?.polls ?? 0,
    questions: question === undefined ? 0 : question.index + 1,
    ...(tokens !== undefined && { tokens }),
    ...(texts && {
      texts: { question: cutText(message.text), ...(answer !== undefined && { answer: cutText(answer) }) },
    }),
  };
}

function toHistoryEnd({
  outcome,
  message,
  call,
  delivery,
}: Task): { outcome: UsageOutcome; reason?: string } | undefined {
  const isUndelivered = hasFailedDelivery({ delivery });
  // Where nobody can post any more, a task ends before anything came of it. The answer to a question is no task, and what does not
  // mention the bot may be none.
  if (outcome === undefined) {
    const isNone = !isUndelivered || (message.unaddressed && call?.deadlineAtMs === undefined);
    return isNone ? undefined : undelivered;
  }
  if (outcome.type === "answer" && isUndelivered) return undelivered;
  return toOutcomeEnd(outcome);
}

const undelivered = { outcome: "failed", reason: "slack" } as const;

function toOutcomeEnd(outcome: TaskOutcome): { outcome: UsageOutcome; reason?: string } | undefined {
  switch (outcome.type) {
    case "answer":
      return { outcome: "answered" };
    case "failed":
      return outcome.reason === "canceled" ? { outcome: "canceled" } : { outcome: "failed", reason: outcome.reason };
    case "limited":
      return { outcome: "limited", reason: outcome.by };
    case "file_refused":
      return { outcome: "file_refused", reason: outcome.why };
    case "not_yours":
      return { outcome: "refused", reason: "not_yours" };
    case "canceling":
      return undefined;
    case "refused":
    case "too_old":
    case "unreadable":
    case "unanswered":
      return { outcome: outcome.type };
  }
}

/** Never half a character at its end. */
function cutText(text: string): string {
  return text.slice(0, maxTextLength).replace(/[\ud800-\udbff]$/, "");
}
