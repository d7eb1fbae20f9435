/** How a task ends before its agent has: its deadline has passed, nobody answered its question, or somebody asked for it. */
import type { ClientReason } from "../../../contracts/errors.ts";
import type { CallAct, CallFailure, TaskEvent } from "./events.ts";
import type { Policy } from "./policy.ts";
import { settlesInMs, streamInDoubt } from "./progress.ts";
import { needsThread } from "./received.ts";
import { hasMoved } from "./routing.ts";
import {
  advance,
  againMs,
  failed,
  graceMs,
  isPastDeadline,
  markForReconcile,
  maxAttempts,
  resetFailures,
  type Step,
  setOutcome,
  waited,
  wake,
} from "./step.ts";
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
    case "announced":
      // A worker may have died of the announcement: the delivery looks into the thread first.
      return setOutcome(task, outcomeOf("asked"), { reconcile: true });
    case "sent":
      // A host that was asked in vain may have taken the task down all the same.
      if (!resumed && !task.mayHaveArrived && task.attempts === 0) return setOutcome(task, outcomeOf("asked"));
      return end({ ...task, mayHaveArrived: task.mayHaveArrived || resumed }, "asked");
    case "waiting":
      return end(resumed ? streamInDoubt(task, policy) : task, "asked");
    case "asking":
      return end(waited(task, nowMs), "asked");
    case "delivering":
    case "done":
      return { task, effects: task.cleanupDone ? [] : [wake(0)] };
  }
}

export function end(task: Task, cancelReason: NonNullable<Task["cancelReason"]>): Step {
  return { task: advance(task, { cancelReason: task.cancelReason ?? cancelReason }), effects: [{ type: "cancel" }] };
}

export function canceled(task: Task): Step {
  if (task.state === "delivering") return { task, effects: [wake(0)] };
  return setOutcome(task, outcomeOf(task.cancelReason));
}

/** It cannot be canceled and has no result either. Its time may be over all the same; a wish was not granted. */
export function notEnding(task: Task, cancelReason: NonNullable<Task["cancelReason"]>): Step {
  return setOutcome(
    task,
    cancelReason === "asked" ? failed({ reason: "ambiguous", lost: false }) : outcomeOf(cancelReason),
  );
}

/** Canceling failed, or looking for the result of what could not be canceled any more. */
export function endingFailed({
  task,
  cancelReason,
  act,
  nowMs,
  error,
  policy,
}: {
  task: Task;
  policy: Policy;
  nowMs: number;
  cancelReason: NonNullable<Task["cancelReason"]>;
  act: CallAct;
  error: CallFailure;
}): Step {
  // Too late to cancel: it has ended, so its result is there.
  if (act === "cancel" && error.reason === "invalid_state") {
    return { task, effects: [{ type: "poll", by: task.taskId === undefined ? "request_id" : "task_id" }] };
  }
  // A host that ended it for the same reason has nothing to add.
  const isOwnEnd = cancelReason === "unanswered" && (error.reason === "timeout" || error.reason === "canceled");
  if (act === "poll" && endsTheTask(error)) return setOutcome(task, isOwnEnd ? outcomeOf(cancelReason) : failed(error));
  const again = { ...task, attempts: task.attempts + 1 };
  // An answer that breaks the contract, or belongs to another call, says nothing of this one.
  const saysNothing = error.reason === "invalid_response" || error.unread;
  const isTransient = error.retryable || error.reason === "ambiguous" || saysNothing;
  // What was sent and not answered may still be on its way.
  const mayStillCome = error.reason === "task_not_found" && task.mayHaveArrived && again.attempts <= maxLookUps;
  // A host that never took it is hardly running it, and nobody is to wait for one that cannot be asked.
  const neverTaken = task.state === "sent" && !task.mayHaveArrived;
  const isLate = cancelReason !== "asked" && act === "cancel";
  const most = isLate ? maxLateCancels : neverTaken ? maxUntaken : maxAttempts;
  const hasTime = again.attempts < most && (cancelReason !== "asked" || !isPastDeadline(task, nowMs - graceMs));
  if (hasTime && (mayStillCome || isTransient)) {
    return { task: again, effects: [wake(againMs(again, error, nowMs))] };
  }
  // Nothing is known where it was sent: there is nothing that could go on. Anything else may go on.
  const isUnknown = error.reason === "task_not_found" && !hasMoved(task, policy);
  const isOver = cancelReason !== "asked" || isUnknown || neverTaken;
  return setOutcome(task, isOver ? outcomeOf(cancelReason) : failed({ reason: "ambiguous", lost: false }));
}

/** What a task itself can have ended with, as opposed to what can be wrong with a call about it. */
export function endsTheTask({ reason, unread, endsTask = false }: CallFailure): boolean {
  return endsTask || (!unread && endReasons.includes(reason));
}

function outcomeOf(cancelReason: Task["cancelReason"]): Outcome {
  if (cancelReason === "unanswered") return { type: "unanswered" };
  return failed({ reason: cancelReason === "asked" ? "canceled" : "timeout", lost: false });
}

// The way of the outcome into the thread: its place, its files, then its posts.

/** Files first: only then is it known what the answer's words have to say of them. Each is in the record before the next. */
export function wokenDelivering(
  task: Task,
  { nowMs, reconcile, policy }: { nowMs: number; reconcile: boolean; policy: Policy },
): Step {
  // What was refused, or failed early, is nobody else's business.
  if (needsThread(task)) return { task, effects: [{ type: "open_thread", privately: true, reconcile }] };
  const index = pendingUpload(task, policy);
  if (index !== undefined) return { task, effects: [{ type: "upload", index }] };
  const restMs = settlesInMs(task, nowMs);
  if (restMs > 0) return { task, effects: [wake(restMs)] };
  return { task, effects: [{ type: "deliver", reconcile }] };
}

/** The index of the answer's next file that Slack does not have yet. */
function pendingUpload(task: Task, policy: Policy): number | undefined {
  if (task.outcome?.type !== "answer" || task.undelivered !== undefined) return undefined;
  const { uploads = [] } = task.outcome;
  return uploads.length < policy.fileCountOf(task) ? uploads.length : undefined;
}

/** The files are there, and nobody is to see them: the words say that they could not be attached. */
export function shareRefused(task: Task): Step {
  const { outcome } = task;
  if (outcome?.type !== "answer") return { task, effects: [wake(0)] };
  const uploads = (outcome.uploads ?? []).map(() => ({ failed: true as const }));
  const marked = markForReconcile(resetFailures(task));
  return { task: { ...marked, rewriteParts: true, outcome: { ...outcome, uploads } }, effects: [wake(0)] };
}

export function uploaded(task: Task, { fileId }: { fileId: string | undefined }): Step {
  const { outcome } = task;
  if (outcome?.type !== "answer") return { task, effects: [wake(0)] };
  const uploads = [...(outcome.uploads ?? []), fileId === undefined ? { failed: true as const } : { fileId }];
  // What an earlier try at the delivery may have left in the thread is still to be looked for.
  return { task: { ...resetFailures(task), outcome: { ...outcome, uploads } }, effects: [wake(0)] };
}
