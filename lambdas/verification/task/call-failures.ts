/** What follows when a call to the Execution zone failed, by the act that it was made for. */
import { answerFailed, lookFailed } from "./asking.ts";
import { endingFailed, endsTheTask } from "./ending.ts";
import type { CallFailure, TaskEvent } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import { hasMoved, moveOn, targetsOf } from "./routing.ts";
import { isSessionEnding, toNewSession } from "./session.ts";
import {
  countFailure,
  failed,
  graceMs,
  isPastDeadline,
  isTransient,
  maxAttempts,
  retryDelayMs,
  retryLater,
  type Step,
  setOutcome,
  untilDeadlineMs,
  wake,
} from "./step.ts";

import type { Task } from "./task.ts";

type CallFailed = Extract<TaskEvent, { type: "call_failed" }>;

/** So many answers one after the other that break the contract: then there is no peer that speaks it. */
const maxBroken = 4;
/** So many responses one after the other that are too large: about seven seconds. */
const maxUnread = 4;

export function callFailed({ task, event, policy }: { task: Task; event: CallFailed; policy: Policy }): Step {
  const { nowMs, act, error } = event;
  // The outcome is fixed already, and canceling was best effort.
  if (task.state === "delivering") return { task, effects: [wake(0)] };
  if (task.cancelReason !== undefined)
    return endingFailed({ task, cancelReason: task.cancelReason, act, nowMs, error, policy });
  if (isSessionEnding({ act, error })) {
    const moved = act === "send" ? leaveSessions({ task, nowMs, error, policy }) : undefined;
    return moved ?? toNewSession(task, { act, error, policy });
  }
  if (task.state === "asking")
    return act === "answer" ? answerFailed({ task, nowMs, error, policy }) : lookFailed(task, { error, nowMs });
  if (error.unread) return unread(task, { error, nowMs });
  if (task.state === "waiting") return pollFailed({ task, nowMs, error, policy });
  return act === "send" ? sendFailed({ task, nowMs, error, policy }) : lookUpFailed({ task, nowMs, error, policy });
}

type Failure = { task: Task; nowMs: number; error: CallFailure; policy: Policy };

/** A new session refused as well: none of this destination lives long enough, but one of the route's next may. */
function leaveSessions({ task, nowMs, error, policy }: Failure): Step | undefined {
  if (!task.isSessionNew || !error.undelivered || isPastDeadline(task, nowMs)) return undefined;
  return moveOn({ task, targets: targetsOf(task, policy), nowMs, error, policy, isLastTry: true });
}

function sendFailed({ task, nowMs, error, policy }: Failure): Step {
  // An answer that breaks the contract, or belongs to another call, says nothing of this one: the agent may be at work. What
  // broke it before anything was sent (an agent card that is none) leaves no doubt.
  const breaksContract = error.reason === "invalid_response" && !endsTheTask(error);
  const isInDoubt = error.reason === "ambiguous" || (breaksContract && !error.undelivered);
  const mayHaveArrived = task.mayHaveArrived || isInDoubt;
  if (isTransient(error) || breaksContract) {
    const again = {
      ...countFailure(task, error),
      mayHaveArrived,
      ...(error.undelivered ? {} : { pinnedDestination: true as const }),
    };
    const targets = targetsOf(again, policy);
    const step = isPastDeadline(task, nowMs) ? undefined : tryAgain({ task: again, targets, nowMs, error, policy });
    if (step !== undefined) return step;
  }
  // The doubt of an earlier try stays: what is refused now may be running since then.
  const step = setOutcome(task, failed(mayHaveArrived && !endsTheTask(error) ? inDoubt : error));
  // The host may have taken it all the same: what is given up is not to begin later, or to go on beside the thread's next task.
  return error.retryable || isInDoubt ? { task: step.task, effects: [{ type: "cancel" }] } : step;
}

function tryAgain(failure: Failure & { targets: readonly string[] }): Step | undefined {
  const { task, targets, nowMs, error } = failure;
  if (targets.length > 1) return moveOn(failure);
  if (task.attempts >= maxAttempts || (task.nonTransientFailures ?? 0) >= maxBroken) return undefined;
  const delayMs = retryDelayMs(task.attempts, error.retryAfterMs);
  return { task, effects: [wake(Math.min(delayMs, untilDeadlineMs(task, nowMs)))] };
}

/**
 * A response that is too large may be progress, a question or the answer. The next one may be smaller. Where none is, the task ends
 * in words, and the host is asked to cancel it, so that no agent goes on unseen.
 */
function unread(task: Task, { error, nowMs }: { error: CallFailure; nowMs: number }): Step {
  const known = task.state === "sent" ? { ...task, mayHaveArrived: true, pinnedDestination: true as const } : task;
  const again = countFailure(known, error);
  if ((again.nonTransientFailures ?? 0) < maxUnread) return retryLater(again, error, nowMs);
  return { task: setOutcome(again, failed(error)).task, effects: [{ type: "cancel" }] };
}

/** The peer was asked whether it knows the task. Only one that deduplicates is sent it again, and only in time. */
function lookUpFailed({ task, nowMs, error, policy }: Failure): Step {
  if (endsTheTask(error)) return setOutcome(task, failed(error));
  const again = countFailure(task, error);
  const { attempts, nonTransientFailures = 0 } = again;
  if (isTransient(error) && attempts < maxAttempts) return retryLater(again, error, nowMs);
  if (error.reason === "invalid_response") {
    if (nonTransientFailures < maxBroken && attempts < maxAttempts) return retryLater(again, error, nowMs);
    // Nobody there has ever answered as the contract has it: then nobody has taken the task either.
    return setOutcome(task, failed(nonTransientFailures === attempts ? error : inDoubt));
  }
  // Another peer knows nothing of what the first one may be doing.
  const mayRepeat = !isTransient(error) && destinationOf(task, policy).idempotent && !hasMoved(task, policy);
  if (mayRepeat && !isPastDeadline(task, nowMs)) return { task, effects: [{ type: "send" }] };
  const neverArrived = mayRepeat && error.reason === "task_not_found";
  return setOutcome(task, failed(neverArrived ? { reason: "timeout", lost: false } : inDoubt));
}

/** Reading is safe to repeat: only what the task itself ended with, or its absence, ends the wait before the deadline. */
function pollFailed({ task, nowMs, error, policy }: Failure): Step {
  // Another peer that does not know the task says nothing of the one that took it.
  const isForeign = error.reason === "task_not_found" && hasMoved(task, policy);
  if (isForeign) return setOutcome(task, failed(inDoubt));
  if (endsTheTask(error) || error.reason === "task_not_found") return setOutcome(task, failed(error));
  const again = countFailure(task, error);
  // A peer that cannot be reached may come back; one that answers nonsense, or lets us in no more, hardly does.
  if ((again.nonTransientFailures ?? 0) >= maxAttempts) {
    return { task: setOutcome(task, failed(inDoubt)).task, effects: [{ type: "cancel" }] };
  }
  const mostMs = untilDeadlineMs(task, nowMs - graceMs);
  const delayMs = Math.min(retryDelayMs(again.attempts, error.retryAfterMs), mostMs);
  // All tasks of a host that is away would ask it again at the same moment.
  return { task: again, effects: [wake({ delayMs, jitterMs: Math.floor(delayMs / 2) })] };
}

const inDoubt = { reason: "ambiguous", lost: false } as const;
