/**
 * A task whose end is asked for before its agent has ended it: its deadline has passed, nobody answered its question, or somebody
 * wants it. It stays `sent`, `waiting` or `asking` with a `cancelReason`; only a result that is there already still counts.
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

/** Look-ups of a task of which nobody knows whether it arrived, before it is told as canceled: about a quarter of a minute. */
const maxLookUps = 4;
/** Tries to cancel a task at its deadline: its result may be there, but somebody waits for words. */
const maxLateCancels = 2;
/** Tries to cancel what a host said that it could not take. */
const maxUntaken = 3;

/** What was certainly not sent is over at once; for everything else the host is asked. What has an outcome keeps it. */
export function onCancelAsked(task: Task, { resumed, nowMs }: EventOf<"cancel_asked">, policy: Policy): Transition {
  switch (task.state) {
    case "received":
    case "queued":
    case "announced":
      // A worker may have died of the announcement: the delivery looks into the thread first.
      return setOutcome(task, outcomeOf("asked"), { reconcile: true });
    case "sent":
      // A host that was asked in vain may have taken the task down all the same.
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

/** A result that is there counts. What has none cannot be canceled either: its time may be over all the same; a wish was not granted. */
export function onAnsweredCanceling(entered: Task, { result, nowMs }: EventOf<"answered">): Transition {
  const known = inKnownSession(entered);
  const isOver = known.state === "asking" && result.status !== "input_required";
  const task = isOver ? extendDeadline(known, nowMs) : known;
  if (result.status === "success") return setAnswer(task, result);
  return setOutcome(task, task.cancelReason === "asked" ? ambiguousOutcome : outcomeOf(task.cancelReason));
}

/** Canceling failed, or looking for the result of what could not be canceled any more. */
export function onCancelFailed(task: Task, { act, nowMs, error }: EventOf<"call_failed">, policy: Policy): Transition {
  const { cancelReason } = task;
  // Too late to cancel: it has ended, so its result is there.
  if (act === "cancel" && error.reason === "invalid_state") {
    return { task, effects: [{ type: "poll", by: task.call?.taskId === undefined ? "request_id" : "task_id" }] };
  }
  // A host that ended it for the same reason has nothing to add.
  const isOwnEnd = cancelReason === "unanswered" && (error.reason === "timeout" || error.reason === "canceled");
  if (act === "poll" && isEndOfTask(error)) {
    return setOutcome(task, isOwnEnd ? outcomeOf(cancelReason) : failedOutcome(error));
  }
  const again = { ...task, attempts: task.attempts + 1 };
  // An answer that breaks the contract, or belongs to another call, says nothing of this one.
  const saysNothing = error.reason === "invalid_response" || error.unread;
  const mayRepeat = error.retryable || error.reason === "ambiguous" || saysNothing;
  // What was sent and not answered may still be on its way.
  const mayStillCome = error.reason === "task_not_found" && mayHaveArrived(task) && again.attempts <= maxLookUps;
  // A host that never took it is hardly running it, and nobody is to wait for one that cannot be asked.
  const neverTaken = task.state === "sent" && !mayHaveArrived(task);
  const isLate = cancelReason !== "asked" && act === "cancel";
  const most = isLate ? maxLateCancels : neverTaken ? maxUntaken : maxAttempts;
  const hasTime = again.attempts < most && (cancelReason !== "asked" || !isPastDeadline(task, nowMs - graceMs));
  if (hasTime && (mayStillCome || mayRepeat)) return { task: again, effects: [wake(againMs(again, error, nowMs))] };
  // Nothing is known where it was sent: there is nothing that could go on. Anything else may go on.
  const isUnknown = error.reason === "task_not_found" && !hasMoved(task, policy);
  const isOver = cancelReason !== "asked" || isUnknown || neverTaken;
  return setOutcome(task, isOver ? outcomeOf(cancelReason) : ambiguousOutcome);
}

function outcomeOf(cancelReason: Task["cancelReason"]): TaskOutcome {
  if (cancelReason === "unanswered") return { type: "unanswered" };
  return failedOutcome({ reason: cancelReason === "asked" ? "canceled" : "timeout", lost: false });
}
