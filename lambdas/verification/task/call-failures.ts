/** What follows when a call to the Execution zone failed, by the act that it was made for. */
import type { ClientReason } from "../../../contracts/errors.ts";
import { retryDelayMs } from "./delays.ts";
import type { CallFailure, TaskEvent } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { conclude, failed, graceMs, isPastDeadline, later, maxAttempts, type Step, wake } from "./step.ts";
import type { Task } from "./task.ts";

type CallFailed = Extract<TaskEvent, { type: "call_failed" }>;

const endReasons: readonly ClientReason[] = [
  "execution_failed",
  "timeout",
  "canceled",
  "plan_error",
  "budget_exceeded",
  "payload_too_large",
];

export function callFailed({ task, event, policy }: { task: Task; event: CallFailed; policy: Policy }): Step {
  const { nowMs, act, error } = event;
  // The outcome is fixed already, and canceling was best effort.
  if (task.state === "delivering") return { task, effects: [wake(0)] };
  if (task.state === "waiting") return pollFailed({ task, nowMs, error });
  return act === "send" ? sendFailed({ task, nowMs, error }) : lookUpFailed({ task, nowMs, error, policy });
}

function sendFailed({ task, nowMs, error }: { task: Task; nowMs: number; error: CallFailure }): Step {
  const mayHaveArrived = task.mayHaveArrived || error.reason === "ambiguous";
  if (isPassing(error)) {
    const again = { ...task, mayHaveArrived, attempts: task.attempts + 1 };
    if (again.attempts < maxAttempts && !isPastDeadline(task, nowMs)) return later(again, error);
  }
  // The doubt of an earlier try stays: what is refused now may be running since then.
  return conclude(task, failed(mayHaveArrived && !endsTheTask(error) ? { reason: "ambiguous", lost: false } : error));
}

/** The peer was asked whether it knows the task. Only one that deduplicates is sent it again, and only in time. */
function lookUpFailed({
  task,
  nowMs,
  error,
  policy,
}: {
  task: Task;
  nowMs: number;
  error: CallFailure;
  policy: Policy;
}): Step {
  if (endsTheTask(error)) return conclude(task, failed(error));
  const again = { ...task, attempts: task.attempts + 1 };
  if (isPassing(error) && again.attempts < maxAttempts) return later(again, error);
  const mayRepeat = !isPassing(error) && destinationOf(task, policy).idempotent;
  if (mayRepeat && !isPastDeadline(task, nowMs)) return { task, effects: [{ type: "send" }] };
  const neverArrived = mayRepeat && error.reason === "task_not_found";
  return conclude(task, failed({ reason: neverArrived ? "timeout" : "ambiguous", lost: false }));
}

/** Reading is safe to repeat: only what the task itself ended with, or its absence, ends the wait before the deadline. */
function pollFailed({ task, nowMs, error }: { task: Task; nowMs: number; error: CallFailure }): Step {
  if (task.expired) {
    // Too late to cancel: it has ended, so its result is there. Anything else: its time is over.
    const ended = error.reason === "invalid_state" && task.attempts === 0;
    if (ended) return { task: { ...task, attempts: 1 }, effects: [{ type: "poll", by: "task_id" }] };
    return conclude(task, failed({ reason: "timeout", lost: false }));
  }
  if (endsTheTask(error) || error.reason === "task_not_found") return conclude(task, failed(error));
  const again = { ...task, attempts: task.attempts + 1 };
  // A peer that cannot be reached may come back; one that answers nonsense, or lets us in no more, hardly does.
  if (!isPassing(error) && again.attempts >= maxAttempts)
    return conclude(task, failed({ reason: "ambiguous", lost: false }));
  const untilDeadlineMs = Math.max(0, (task.deadlineAtMs ?? nowMs) + graceMs - nowMs);
  return { task: again, effects: [wake(Math.min(retryDelayMs(again.attempts, error.retryAfterMs), untilDeadlineMs))] };
}

/** Nobody knows, or certainly not processed: the same call may be made again. */
function isPassing({ reason, retryable }: CallFailure): boolean {
  return reason === "ambiguous" || retryable;
}

/** What a task itself can have ended with, as opposed to what can be wrong with a call about it. */
function endsTheTask({ reason }: CallFailure): boolean {
  return endReasons.includes(reason);
}
