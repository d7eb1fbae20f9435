/**
 * Cancels a task whose agent is at work, because the deadline has passed, the question got no reply, or a person asked for it. The task
 * stays `sent`, `waiting` or `asking` with a `cancelReason`. A result counts only if it exists already.
 */
import { isEndOfTask, isTransient, isUninformative } from "@sekisho/contracts/certainty.ts";
import type { EventOf } from "./events.ts";
import { maxAttempts, repeatDelayMs } from "./failures.ts";
import { confirmSession, hasMoved, mayHaveArrived, type Policy, withCall } from "./routing.ts";
import type { Task, TaskOutcome } from "./task.ts";
import { extendDeadline, graceMs, isPastDeadline } from "./time-limits.ts";
import {
  ambiguousOutcome,
  failedOutcome,
  requestCancel,
  setAnswer,
  setOutcome,
  type Transition,
  wake,
} from "./transition.ts";
import { markStreamInDoubt } from "./waiting.ts";

/** The limit of look-ups of a task that may not have arrived, before it counts as canceled: about 15 seconds. */
const maxLookUps = 4;
/** The limit of tries to cancel a task at its deadline. It is low because a person waits for the message that it ran out of time. */
const maxLateCancels = 2;
/** The limit of tries to cancel a task that the host refused to accept. */
const maxUntaken = 3;

/** Ends a task that was certainly not sent. Asks the host to cancel any other. A task that has an outcome keeps it. */
export function onCancelAsked(
  task: Task,
  { workerDied, nowMs }: EventOf<"cancel_asked">,
  policy: Policy,
): Transition {
  switch (task.state) {
    case "received":
    case "queued":
    case "announced":
      // A worker may have died while it posted the placeholder, so the delivery reads the thread first.
      return setOutcome(task, outcomeOf("asked"), { reconcile: true });
    case "sent":
      // A host that did not answer may have stored the task.
      if (!workerDied && !mayHaveArrived(task) && task.attempts === 0)
        return setOutcome(task, outcomeOf("asked"));
      return requestCancel(workerDied ? withCall(task, { arrival: "in_doubt" }) : task, "asked");
    case "waiting":
      return requestCancel(workerDied ? markStreamInDoubt(task, policy) : task, "asked");
    case "asking":
      return requestCancel(extendDeadline(task, nowMs), "asked");
    case "delivering":
    case "done":
      return { task, effects: task.cleanupDone ? [] : [wake(0)] };
  }
}

export function onWokenCanceling(
  task: Task,
  { workerDied }: EventOf<"woken">,
  policy: Policy,
): Transition {
  const markedTask =
    workerDied && task.state === "waiting" ? markStreamInDoubt(task, policy) : task;
  return { task: markedTask, effects: [{ type: "cancel" }] };
}

export function onCanceled(task: Task): Transition {
  return setOutcome(task, outcomeOf(task.cancelReason));
}

/** An existing result counts. A task that still runs could not be canceled, so a person who asked for that sees an unknown outcome. */
export function onAnsweredCanceling(
  enteredTask: Task,
  { result, nowMs }: EventOf<"answered">,
): Transition {
  const confirmedTask = confirmSession(enteredTask);
  const isOver = confirmedTask.state === "asking" && result.status !== "input_required";
  const task = isOver ? extendDeadline(confirmedTask, nowMs) : confirmedTask;
  if (result.status === "success") return setAnswer(task, result);
  return setOutcome(
    task,
    task.cancelReason === "asked" ? ambiguousOutcome : outcomeOf(task.cancelReason),
  );
}

/** Handles a failed cancel, or a failed poll of a task that could no longer be canceled. */
export function onCancelFailed(
  task: Task,
  { act, nowMs, error }: EventOf<"call_failed">,
  policy: Policy,
): Transition {
  const { cancelReason } = task;
  // The task has ended, so it is polled for its result.
  if (act === "cancel" && error.reason === "invalid_state") {
    return {
      task,
      effects: [{ type: "poll", by: task.call?.taskId === undefined ? "request_id" : "task_id" }],
    };
  }
  // If the host ended the task for the same reason, Sekisho's own outcome says more.
  const isOwnEnd =
    cancelReason === "unanswered" && (error.reason === "timeout" || error.reason === "canceled");
  if (act === "poll" && isEndOfTask(error)) {
    return setOutcome(task, isOwnEnd ? outcomeOf(cancelReason) : failedOutcome(error));
  }
  const again = { ...task, attempts: task.attempts + 1 };
  // A response that breaks the contract or belongs to another call says nothing about this one.
  const mayRepeat = isTransient(error) || isUninformative(error);
  // A send that was not answered may still arrive.
  const mayStillCome =
    error.reason === "task_not_found" && mayHaveArrived(task) && again.attempts <= maxLookUps;
  // A host that never accepted the task is unlikely to run it, and a person should not wait for an unreachable host.
  const neverTaken = task.state === "sent" && !mayHaveArrived(task);
  const isLate = cancelReason !== "asked" && act === "cancel";
  const most = isLate ? maxLateCancels : neverTaken ? maxUntaken : maxAttempts;
  const hasTime =
    again.attempts < most && (cancelReason !== "asked" || !isPastDeadline(task, nowMs - graceMs));
  if (hasTime && (mayStillCome || mayRepeat))
    return { task: again, effects: [wake(repeatDelayMs(again, error, nowMs))] };
  // If the host that got the task does not know it, nothing is running. Otherwise the agent may still be at work.
  const isUnknown = error.reason === "task_not_found" && !hasMoved(task, policy);
  const isOver = cancelReason !== "asked" || isUnknown || neverTaken;
  return setOutcome(task, isOver ? outcomeOf(cancelReason) : ambiguousOutcome);
}

function outcomeOf(cancelReason: Task["cancelReason"]): TaskOutcome {
  if (cancelReason === "unanswered") return { type: "unanswered" };
  return failedOutcome({ reason: cancelReason === "asked" ? "canceled" : "timeout", lost: false });
}
