/**
 * Cancellation of a task whose agent is at work: the deadline has passed, nobody answered the question, or somebody asked for it. The
 * task stays `sent`, `waiting` or `asking` with a `cancelReason`. Only a result that exists already still counts.
 */
import type { EventOf } from "./events.ts";
import { hasMoved, inKnownSession, mayHaveArrived, type Policy, withCall } from "./routing.ts";
import {
  againMs,
  ambiguousOutcome,
  extendDeadline,
  failedOutcome,
  graceMs,
  isEndOfTask,
  isPastDeadline,
  maxAttempts,
  requestCancel,
  setAnswer,
  setOutcome,
  type Transition,
  wake,
} from "./step.ts";
import type { Task, TaskOutcome } from "./task.ts";
import { markStreamInDoubt } from "./waiting.ts";

/** Look-ups of a task that may not have arrived, before it counts as canceled: about 15 seconds. */
const maxLookUps = 4;
/** Tries to cancel a task at its deadline: few, because a person waits for the message that it ran out of time. */
const maxLateCancels = 2;
/** Tries to cancel a task that the host said it could not take. */
const maxUntaken = 3;

/** A task that was certainly not sent ends at once. For any other the host is asked. A task that has an outcome keeps it. */
export function onCancelAsked(task: Task, { resumed, nowMs }: EventOf<"cancel_asked">, policy: Policy): Transition {
  switch (task.state) {
    case "received":
    case "queued":
    case "announced":
      // A worker may have died while it posted the placeholder: the delivery looks into the thread first.
      return setOutcome(task, outcomeOf("asked"), { reconcile: true });
    case "sent":
      // A host that failed to answer may have stored the task all the same.
      if (!resumed && !mayHaveArrived(task) && task.attempts === 0) return setOutcome(task, outcomeOf("asked"));
      return requestCancel(resumed ? withCall(task, { arrival: "in_doubt" }) : task, "asked");
    case "waiting":
      return requestCancel(resumed ? markStreamInDoubt(task, policy) : task, "asked");
    case "asking":
      return requestCancel(extendDeadline(task, nowMs), "asked");
    case "delivering":
    case "done":
      return { task, effects: task.cleanupDone ? [] : [wake(0)] };
  }
}

export function onWokenCanceling(task: Task, { resumed }: EventOf<"woken">, policy: Policy): Transition {
  const known = resumed && task.state === "waiting" ? markStreamInDoubt(task, policy) : task;
  return { task: known, effects: [{ type: "cancel" }] };
}

export function onCanceled(task: Task): Transition {
  return setOutcome(task, outcomeOf(task.cancelReason));
}

/** A result that exists counts. A task that still runs could not be canceled: a person who asked for it is told that its end is unknown. */
export function onAnsweredCanceling(entered: Task, { result, nowMs }: EventOf<"answered">): Transition {
  const known = inKnownSession(entered);
  const isOver = known.state === "asking" && result.status !== "input_required";
  const task = isOver ? extendDeadline(known, nowMs) : known;
  if (result.status === "success") return setAnswer(task, result);
  return setOutcome(task, task.cancelReason === "asked" ? ambiguousOutcome : outcomeOf(task.cancelReason));
}

/** The cancel call failed, or the poll for the result of a task that could not be canceled any more. */
export function onCancelFailed(task: Task, { act, nowMs, error }: EventOf<"call_failed">, policy: Policy): Transition {
  const { cancelReason } = task;
  // Too late to cancel: it has ended, so its result is there.
  if (act === "cancel" && error.reason === "invalid_state") {
    return { task, effects: [{ type: "poll", by: task.call?.taskId === undefined ? "request_id" : "task_id" }] };
  }
  // Where the host ended it for the same reason, our own outcome says more.
  const isOwnEnd = cancelReason === "unanswered" && (error.reason === "timeout" || error.reason === "canceled");
  if (act === "poll" && isEndOfTask(error)) {
    return setOutcome(task, isOwnEnd ? outcomeOf(cancelReason) : failedOutcome(error));
  }
  const again = { ...task, attempts: task.attempts + 1 };
  // A response that breaks the contract, or belongs to another call, says nothing about this one.
  const saysNothing = error.reason === "invalid_response" || error.unread;
  const mayRepeat = error.retryable || error.reason === "ambiguous" || saysNothing;
  // A send that was not answered may still arrive.
  const mayStillCome = error.reason === "task_not_found" && mayHaveArrived(task) && again.attempts <= maxLookUps;
  // A host that never took the task hardly runs it, and nobody should wait for a host that cannot be reached.
  const neverTaken = task.state === "sent" && !mayHaveArrived(task);
  const isLate = cancelReason !== "asked" && act === "cancel";
  const most = isLate ? maxLateCancels : neverTaken ? maxUntaken : maxAttempts;
  const hasTime = again.attempts < most && (cancelReason !== "asked" || !isPastDeadline(task, nowMs - graceMs));
  if (hasTime && (mayStillCome || mayRepeat)) return { task: again, effects: [wake(againMs(again, error, nowMs))] };
  // Where the host that it was sent to does not know it, nothing can go on. In any other case the agent may go on.
  const isUnknown = error.reason === "task_not_found" && !hasMoved(task, policy);
  const isOver = cancelReason !== "asked" || isUnknown || neverTaken;
  return setOutcome(task, isOver ? outcomeOf(cancelReason) : ambiguousOutcome);
}

function outcomeOf(cancelReason: Task["cancelReason"]): TaskOutcome {
  if (cancelReason === "unanswered") return { type: "unanswered" };
  return failedOutcome({ reason: cancelReason === "asked" ? "canceled" : "timeout", lost: false });
}
