/** The usage history: one entry per finished task that says who asked, when and where, and how it ended. */

import type { Config } from "@sekisho/config/schema.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { checkRecord } from "@sekisho/runtime/engine/record-version.ts";
import { truncate } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";
import { voteSchema } from "../task/messages.ts";
import { hasFailedDelivery, personKeyOf, type Task, type TaskOutcome } from "../task/task.ts";
import { tokensSchema } from "../task/token-usage.ts";

const dayMs = 24 * 3600_000;
/** Applies to each text separately. A DynamoDB item holds at most 400 KB, and a listing reads many items. */
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

/** A record of the task store. Its id and state can never be those of a task. Times are milliseconds since the epoch. */
const historyEntrySchema = z.object({
  id: z.string(),
  revision: z.int(),
  /** Contains the UTC day on which the task ended, so that the entries of a past day stay the same but for their votes. */
  state: z.string().startsWith("history/"),
  principal: z.string(),
  /** When the task ended. */
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
  /** How many questions the agent asked. */
  questions: z.int(),
  tokens: tokensSchema.optional(),
  /** What people think of the answer, by their opaque ids. */
  votes: z.record(z.string(), voteSchema).optional(),
  texts: z.object({ question: z.string(), answer: z.string().optional() }).optional(),
});
export type HistoryEntry = z.infer<typeof historyEntrySchema>;

export function parseHistoryEntry(json: unknown): HistoryEntry {
  return checkRecord({ schema: historyEntrySchema, json });
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

/** The key of a person's entries in the index `principal`. It differs from the key of the person's tasks. */
export function formatHistoryKey(person: { team: string; user: string }): string {
  return `history/${personKeyOf(person)}`;
}

export type UsageHistory = {
  /** Idempotent. Rejects if the store is unavailable. */
  note(request: { task: Task }): Promise<void>;
  /** Returns what `note` creates, or undefined if it creates nothing. */
  entryOf(request: { task: Task }): HistoryEntry | undefined;
};

/** Writes nothing if `retentionDays` is 0. */
export function createUsageHistory(options: {
  store: Pick<TaskStore<HistoryEntry>, "create">;
  settings: Config["usageHistory"];
  now: () => number;
}): UsageHistory {
  const { store, settings, now } = options;

  function entryOf({ task }: { task: Task }): HistoryEntry | undefined {
    if (settings.retentionDays === 0) return undefined;
    try {
      return createHistoryEntry({ task, settings, nowMs: now() });
    } catch {
      // A broken record must not prevent its task from ending, so its entry is left out.
      return undefined;
    }
  }

  return {
    entryOf,
    async note({ task }) {
      const item = entryOf({ task });
      if (item !== undefined) await store.create({ item });
    },
  };
}

/** Returns undefined if the message turned out not to be a task, such as a cancel word or a reply to a question. */
export function createHistoryEntry(options: {
  task: Task;
  settings: Config["usageHistory"];
  nowMs: number;
}): HistoryEntry | undefined {
  const { task, nowMs } = options;
  const { retentionDays, texts } = options.settings;
  const end = toHistoryEnd(task);
  if (end === undefined) return undefined;
  const { id, message, call, outcome, receivedAtMs, wait, question } = task;
  const { team, channel, user } = message;
  const { text: answer, tokens } = outcome?.type === "answer" ? outcome : {};
  return {
    id: createHistoryId(id),
    revision: 1,
    state: createHistoryState(formatDay(nowMs)),
    principal: formatHistoryKey(message),
    listedAtMs: nowMs,
    expiresAtMs: nowMs + retentionDays * dayMs,
    requestId: id,
    askedAtMs: receivedAtMs,
    ...{ team, channel, user },
    ...(call !== undefined && { destination: call.destination }),
    ...end,
    polls: wait?.polls ?? 0,
    questions: question === undefined ? 0 : question.index + 1,
    ...(tokens !== undefined && { tokens }),
    ...(task.votes !== undefined && { votes: votesByPerson(task.votes) }),
    ...(texts && {
      texts: {
        question: truncate(message.text, maxTextLength),
        ...(answer !== undefined && { answer: truncate(answer, maxTextLength) }),
      },
    }),
  };
}

export function votesByPerson(
  votes: NonNullable<Task["votes"]>,
): NonNullable<HistoryEntry["votes"]> {
  return Object.fromEntries(votes.map(({ voterId, vote }) => [voterId, vote]));
}

/** How many people found the answer helpful, and how many did not. */
export function countVotes(votes: HistoryEntry["votes"]): { up: number; down: number } {
  const all = Object.values(votes ?? {});
  const up = all.filter((vote) => vote === "up").length;
  return { up, down: all.length - up };
}

/** Keeps an entry small, however many people vote. */
const maxVoters = 1000;

/** Adds the task's votes to its entry, up to `maxVoters` people. Returns undefined if that changes nothing. */
export function withVotes(
  entry: HistoryEntry,
  votes: NonNullable<Task["votes"]>,
): HistoryEntry | undefined {
  const { votes: noted = {} } = entry;
  const freePlaces = Math.max(0, maxVoters - Object.keys(noted).length);
  const added = votes.filter(({ voterId }) => !(voterId in noted)).slice(0, freePlaces);
  const changed = votes.filter(({ voterId, vote }) => voterId in noted && noted[voterId] !== vote);
  const news = [...changed, ...added];
  return news.length === 0 ? undefined : { ...entry, votes: { ...noted, ...votesByPerson(news) } };
}

type HistoryEnd = Pick<HistoryEntry, "outcome" | "reason">;

const undelivered: HistoryEnd = { outcome: "failed", reason: "slack" };

function toHistoryEnd({ outcome, message, call, delivery }: Task): HistoryEnd | undefined {
  const isUndelivered = hasFailedDelivery({ delivery });
  // Without an outcome, a task ended because the bot could no longer post. A reply to a question also has no outcome, and a
  // message that does not mention the bot may be one.
  if (outcome === undefined) {
    const isTask = isUndelivered && !(message.unaddressed && call?.deadlineAtMs === undefined);
    return isTask ? undelivered : undefined;
  }
  return outcome.type === "answer" && isUndelivered ? undelivered : toOutcomeEnd(outcome);
}

function toOutcomeEnd(outcome: TaskOutcome): HistoryEnd | undefined {
  switch (outcome.type) {
    case "answer":
      return { outcome: "answered" };
    case "failed":
      return outcome.reason === "canceled"
        ? { outcome: "canceled" }
        : { outcome: "failed", reason: outcome.reason };
    case "limited":
      return { outcome: "limited", reason: outcome.by };
    case "file_refused":
      return { outcome: "file_refused", reason: outcome.why };
    case "not_yours":
      return { outcome: "refused", reason: "not_yours" };
    case "canceling":
    case "help":
      return undefined;
    case "refused":
    case "too_old":
    case "unreadable":
    case "unanswered":
      return { outcome: outcome.type };
  }
}
