/** One row of the live list. */
import type { TaskRow } from "@sekisho/local/web/operators-api.ts";
import { hasFailedDelivery, type Task } from "@sekisho/verification/task/task.ts";
import { countVotes } from "@sekisho/verification/usage/entry.ts";
import { describeNextStep, describeOutcome } from "../tasks/text.ts";

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
