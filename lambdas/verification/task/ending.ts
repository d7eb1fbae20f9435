/** How a task ends before its agent has: its deadline has passed, nobody answered its question, or somebody asked for it. */
import type { ClientReason } from "../../../contracts/errors.ts";
import { waited } from "./asking.ts";
import type { CallAct, CallFailure, TaskEvent } from "./events.ts";
import { hasMoved } from "./failover.ts";
import type { Policy } from "./policy.ts";
import { streamInDoubt } from "./progress.ts";
import { advance, againMs, conclude, failed, graceMs, isPastDeadline, maxAttempts, type Step, wake } from "./step.ts";
import type { Outcome, Task } from "./task.ts";

const endReasons: readonly ClientReason[] = [
  "execution_failed",
  "timeout",
  "canceled",
  "plan_error",
  "budget_exceeded",
  "payload_too_large",
];

/** Look-ups of a task of which nobody knows whether it arrived, before it is told as canceled: about a quarter of a minute. */
const maxLookUps = 4;
/** Tries to cancel a task at its deadline: its result may be there, but somebody waits for words. */
const maxLateCancels = 2;
/** Tries to cancel what a host said that it could not take. */
const maxUntaken = 3;

type CancelAsked = Extract<TaskEvent, { type: "cancel_asked" }>;

/** What was certainly not sent is over at once; for everything else the host is asked. What has an outcome keeps it. */
export function cancelAsked({
  task,
  event: { resumed, nowMs },
  policy,
}: {
  task: Task;
  event: CancelAsked;
  policy: Policy;
}): Step {
  switch (task.state) {
    case "received":
    case "queued":
    case "announced": {
      const { task: concluded, effects } = conclude(task, outcomeOf("asked"));
      // A worker may have died of the announcement: the delivery looks into the thread first.
      return { task: { ...concluded, attempts: 1 }, effects };
    }
    case "sent":
      // A host that was asked in vain may have taken the task down all the same.
      if (!resumed && !task.mayHaveArrived && task.attempts === 0) return conclude(task, outcomeOf("asked"));
      return end({ ...task, mayHaveArrived: task.mayHaveArrived || resumed }, "asked");
    case "waiting":
      return end(resumed ? streamInDoubt(task, policy) : task, "asked");
    case "asking":
      return end(waited(task, nowMs), "asked");
    case "delivering":
    case "done":
      return { task, effects: task.swept ? [] : [wake(0)] };
  }
}

export function end(task: Task, ending: NonNullable<Task["ending"]>): Step {
  return { task: advance(task, { ending: task.ending ?? ending }), effects: [{ type: "cancel" }] };
}

export function canceled(task: Task): Step {
  if (task.state === "delivering") return { task, effects: [wake(0)] };
  return conclude(task, outcomeOf(task.ending));
}

/** It cannot be canceled and has no result either. Its time may be over all the same; a wish was not granted. */
export function notEnding(task: Task, ending: NonNullable<Task["ending"]>): Step {
  return conclude(task, ending === "asked" ? failed({ reason: "ambiguous", lost: false }) : outcomeOf(ending));
}

/** Canceling failed, or looking for the result of what could not be canceled any more. */
export function endingFailed({
  task,
  ending,
  act,
  nowMs,
  error,
  policy,
}: {
  task: Task;
  policy: Policy;
  nowMs: number;
  ending: NonNullable<Task["ending"]>;
  act: CallAct;
  error: CallFailure;
}): Step {
  // Too late to cancel: it has ended, so its result is there.
  if (act === "cancel" && error.reason === "invalid_state") {
    return { task, effects: [{ type: "poll", by: task.taskId === undefined ? "request_id" : "task_id" }] };
  }
  // A host that ended it for the same reason has nothing to add.
  const isOwnEnd = ending === "unanswered" && (error.reason === "timeout" || error.reason === "canceled");
  if (act === "poll" && endsTheTask(error)) return conclude(task, isOwnEnd ? outcomeOf(ending) : failed(error));
  const again = { ...task, attempts: task.attempts + 1 };
  // An answer that breaks the contract, or belongs to another call, says nothing of this one.
  const saysNothing = error.reason === "invalid_response" || error.unread;
  const isPassing = error.retryable || error.reason === "ambiguous" || saysNothing;
  // What was sent and not answered may still be on its way.
  const mayStillCome = error.reason === "task_not_found" && task.mayHaveArrived && again.attempts <= maxLookUps;
  // A host that never took it is hardly running it, and nobody is to wait for one that cannot be asked.
  const neverTaken = task.state === "sent" && !task.mayHaveArrived;
  const isLate = ending !== "asked" && act === "cancel";
  const most = isLate ? maxLateCancels : neverTaken ? maxUntaken : maxAttempts;
  const hasTime = again.attempts < most && (ending !== "asked" || !isPastDeadline(task, nowMs - graceMs));
  if (hasTime && (mayStillCome || isPassing)) {
    return { task: again, effects: [wake(againMs(again, error, nowMs))] };
  }
  // Nothing is known where it was sent: there is nothing that could go on. Anything else may go on.
  const isUnknown = error.reason === "task_not_found" && !hasMoved(task, policy);
  const isOver = ending !== "asked" || isUnknown || neverTaken;
  return conclude(task, isOver ? outcomeOf(ending) : failed({ reason: "ambiguous", lost: false }));
}

/** What a task itself can have ended with, as opposed to what can be wrong with a call about it. */
export function endsTheTask({ reason, unread, endsTask = false }: CallFailure): boolean {
  return endsTask || (!unread && endReasons.includes(reason));
}

function outcomeOf(ending: Task["ending"]): Outcome {
  if (ending === "unanswered") return { type: "unanswered" };
  return failed({ reason: ending === "asked" ? "canceled" : "timeout", lost: false });
}
