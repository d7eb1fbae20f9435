/** One row of the live list: a task's ids, states and times, never its texts. */
import { hasFailedDelivery, type Task } from "@sekisho/verification/task/task.ts";
import { countVotes } from "@sekisho/verification/usage/entry.ts";
import { describeNextStep, describeOutcome } from "../tasks/text.ts";

export type TaskRow = {
  id: string;
  state: Task["state"];
  /** `open` is under way. `stopped` neither failed nor has an answer: refused or canceled. */
  kind: "open" | "good" | "bad" | "stopped";
  /** The outcome, or what is next. */
  text: string;
  receivedAtMs: number;
  changedAtMs: number;
  /** The planned time of the next step. Not a promise. */
  nextAtMs?: number | undefined;
  destination?: string | undefined;
  team: string;
  channel: string;
  user: string;
  thread: string;
  taskId?: string | undefined;
  attempts: number;
  polls: number;
  percent?: number | undefined;
  /** Its answer could not be posted in the thread. */
  undelivered?: true;
  retryOf?: string | undefined;
  /** How many people found the answer helpful, and how many did not. */
  votes?: { up: number; down: number };
};

export function toTaskRow({ task, nowMs }: { task: Task; nowMs: number }): TaskRow {
  const { team, channel, user } = task.message;
  const undelivered = isUndelivered(task);
  return {
    id: task.id,
    state: task.state,
    kind: kindOf(task),
    text: undelivered
      ? `${describeOutcome(task)}, but not posted`
      : describeNextStep({ task, nowMs }),
    receivedAtMs: task.receivedAtMs,
    changedAtMs: task.history.at(-1)?.atMs ?? task.receivedAtMs,
    nextAtMs: nextAtMsOf(task),
    destination: task.call?.destination,
    team,
    channel,
    user,
    thread: task.thread,
    taskId: task.call?.taskId,
    attempts: task.attempts,
    polls: task.wait?.polls ?? 0,
    percent: task.state === "done" ? undefined : task.progress?.percent,
    ...(undelivered && { undelivered }),
    retryOf: task.retryOf,
    ...(task.votes && { votes: countVotes(task.votes) }),
  };
}

/** True if the delivery of the task's answer was given up, because Slack did not accept it. */
export function isUndelivered(task: Task): boolean {
  return task.state === "done" && task.outcome !== undefined && hasFailedDelivery(task);
}

function kindOf(task: Task): TaskRow["kind"] {
  const { state, outcome } = task;
  if (isUndelivered(task)) return "bad";
  if (outcome === undefined || outcome.type === "answer") return state === "done" ? "good" : "open";
  return outcome.type === "failed" && outcome.reason !== "canceled" ? "bad" : "stopped";
}

function nextAtMsOf({ state, wait, question, lease }: Task): number | undefined {
  if (lease !== undefined) return undefined;
  if (state === "asking") return question?.expiresAtMs;
  return state === "waiting" ? wait?.nextPollAtMs : undefined;
}
