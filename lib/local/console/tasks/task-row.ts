/** One line of the live list: ids, states and times of a task, never its texts. */
import { hasFailedDelivery, type Task } from "../../../../lambdas/verification/task/task.ts";
import { describeOutcome, nextText } from "../../../cli/tasks/text.ts";

export type TaskRow = {
  id: string;
  state: Task["state"];
  /** `open`: under way. `stopped`: it did not fail, and nothing was answered either (refused, canceled). */
  kind: "open" | "good" | "bad" | "stopped";
  /** What it came to, or what is next. */
  words: string;
  receivedAtMs: number;
  changedAtMs: number;
  /** When something is to be expected: as planned by the latest step, not a promise. */
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
  /** Its answer could not be brought into the thread. */
  undelivered?: true;
  retryOf?: string | undefined;
};

export function taskRowOf({ task, nowMs }: { task: Task; nowMs: number }): TaskRow {
  const { team, channel, user } = task.message;
  const undelivered = isUndelivered(task);
  return {
    id: task.id,
    state: task.state,
    kind: kindOf(task),
    words: undelivered ? `${describeOutcome(task)}, but not in the thread` : nextText({ task, nowMs }),
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
  };
}

/** Slack did not take it, and it was given up. */
export function isUndelivered(task: Task): boolean {
  return task.state === "done" && task.outcome !== undefined && hasFailedDelivery(task);
}

function kindOf(task: Task): TaskRow["kind"] {
  const { state, outcome } = task;
  if (isUndelivered(task)) return "bad";
  if (outcome === undefined) return state === "done" ? "good" : "open";
  if (outcome.type === "answer") return state === "done" ? "good" : "open";
  return outcome.type === "failed" && outcome.reason !== "canceled" ? "bad" : "stopped";
}

function nextAtMsOf({ state, wait, question, lease }: Task): number | undefined {
  if (lease !== undefined) return undefined;
  if (state === "asking") return question?.expiresAtMs;
  return state === "waiting" ? wait?.nextPollAtMs : undefined;
}
