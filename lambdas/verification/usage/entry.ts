/**
 * The use of a finished task: who asked, when and where, how it ended, and how many tokens it took. The task's own record says all of it,
 * so there is no second record that could disagree.
 */
import { truncate } from "@sekisho/runtime/untrusted-input.ts";
import type { Policy } from "../task/routing.ts";
import { hasFailedDelivery, type Task, type TaskOutcome } from "../task/task.ts";
import type { TokenUsage } from "../task/token-usage.ts";

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

type UsageEnd = { outcome: (typeof usageOutcomes)[number]; reason?: string | undefined };

export type UsageEntry = UsageEnd & {
  requestId: string;
  askedAtMs: number;
  endedAtMs: number;
  team: string;
  channel: string;
  user: string;
  destination?: string | undefined;
  polls: number;
  /** How many questions the agent asked. */
  questions: number;
  tokens?: TokenUsage | undefined;
  /** Absent if nobody voted. */
  votes?: VoteCount | undefined;
  texts?: Task["texts"];
};

/**
 * Notes in the record of a task that ends when it did, and keeps the record for `retentionDays`. When the texts are erased, the tokens stay,
 * and the beginning of the texts if `texts` is on. Notes nothing if `retentionDays` is 0.
 */
export function recordUsage(step: {
  previousTask: Task;
  task: Task;
  settings: Policy["usage"];
  atMs: number;
}): Task {
  const { previousTask, task, settings, atMs } = step;
  const { retentionDays } = settings;
  if (retentionDays === 0 || task.state !== "done") return task;
  if (previousTask.state === "done") return withErasedUsage(step);
  // An operator has repeated the delivery. Version 1.0.0 has counted a task that has ended before without a note of it.
  const hasEnded =
    previousTask.endedAtMs !== undefined ||
    previousTask.history.some(({ state }) => state === "done");
  if (hasEnded || !isUse(task)) return task;
  const expiresAtMs = Math.max(task.expiresAtMs, atMs + retentionDays * dayMs);
  return { ...task, endedAtMs: atMs, expiresAtMs };
}

function withErasedUsage({
  previousTask,
  task,
  settings,
}: Parameters<typeof recordUsage>[0]): Task {
  const areTextsErasedNow = task.textsErased === true && previousTask.textsErased === undefined;
  if (!areTextsErasedNow || task.endedAtMs === undefined) return task;
  const { text: answer, tokens } =
    previousTask.outcome?.type === "answer" ? previousTask.outcome : {};
  return {
    ...task,
    ...(tokens && { tokens }),
    ...(settings.texts && {
      texts: {
        question: truncate(previousTask.message.text, maxTextLength),
        ...(answer !== undefined && { answer: truncate(answer, maxTextLength) }),
      },
    }),
  };
}

/** False if the message turned out not to be a task, such as a cancel word or a reply to a question. */
function isUse({ outcome, message, call, delivery }: Task): boolean {
  if (outcome !== undefined) return outcome.type !== "canceling" && outcome.type !== "help";
  // Without an outcome, a task ended because the bot could no longer post. A reply to a question also has no outcome, and a
  // message that does not mention the bot may be one.
  const mayBeReply = message.unaddressed && call?.deadlineAtMs === undefined;
  return hasFailedDelivery({ delivery }) && !mayBeReply;
}

/** Returns undefined if the task is not counted: `recordUsage` has noted no end. */
export function toUsageEntry(task: Task): UsageEntry | undefined {
  const { id, message, call, outcome, receivedAtMs, endedAtMs, wait, question, votes } = task;
  const end = endOf(task);
  if (endedAtMs === undefined || end === undefined) return undefined;
  return {
    ...end,
    requestId: id,
    askedAtMs: receivedAtMs,
    endedAtMs,
    team: message.team,
    channel: message.channel,
    user: message.user,
    destination: call?.destination,
    polls: wait?.polls ?? 0,
    questions: question === undefined ? 0 : question.index + 1,
    tokens: task.tokens ?? (outcome?.type === "answer" ? outcome.tokens : undefined),
    votes: votes && countVotes(votes),
    texts: task.texts,
  };
}

type VoteCount = { up: number; down: number };

/** How many people found the answer helpful, and how many did not. */
export function countVotes(votes: Task["votes"] = []): VoteCount {
  const up = votes.filter(({ vote }) => vote === "up").length;
  return { up, down: votes.length - up };
}

/** A delivered answer is erased. Every other outcome stays. */
function endOf(task: Task): UsageEnd | undefined {
  const { outcome = { type: "answer" } } = task;
  if (outcome.type !== "answer") return toOutcomeEnd(outcome);
  return hasFailedDelivery(task) ? { outcome: "failed", reason: "slack" } : { outcome: "answered" };
}

function toOutcomeEnd(outcome: Exclude<TaskOutcome, { type: "answer" }>): UsageEnd | undefined {
  switch (outcome.type) {
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
