/** The state `sent`: the first call is running, or it is unknown whether it arrived. A failure decides whether and where to repeat it. */
import {
  canRepeat,
  isEndOfTask,
  isTransient,
  isUndelivered,
  isUninformative,
  isUnread,
  mayHaveRun,
} from "@sekisho/contracts/certainty.ts";
import { startAsking } from "./asking.ts";
import type { CallFailure, EventOf } from "./events.ts";
import {
  countFailure,
  isSessionEnding,
  maxAttempts,
  moveToNewSession,
  retryLater,
  retryUnread,
  taskRetryDelayMs,
} from "./failures.ts";
import { startWaiting } from "./polls.ts";
import {
  chooseDestination,
  confirmSession,
  destinationOf,
  hasMoved,
  isPinned,
  mayHaveArrived,
  type Policy,
  targetsOf,
  withCall,
  withDestination,
} from "./routing.ts";
import type { Task, TaskCall } from "./task.ts";
import { isPastDeadline, timeToDeadlineMs } from "./time-limits.ts";
import {
  ambiguousOutcome,
  failedOutcome,
  setAnswer,
  setOutcome,
  type Transition,
  unavailableOutcome,
  wake,
} from "./transition.ts";

/** After this many responses in a row that break the contract, Sekisho assumes that the peer does not implement it. */
const maxBroken = 4;

/** Sends the task. If it may have arrived and the destination's address has changed since, it is only looked up. */
export function sendTask(
  task: Task,
  { nowMs, policy }: { nowMs: number; policy: Policy },
): Transition {
  const ready = isPinned(task) ? task : chooseDestination(task, policy);
  if (ready === undefined)
    return setOutcome(task, failedOutcome({ reason: "agent_not_found", lost: false }));
  if (isPinned(task) && hasMoved(task, policy))
    return { task, effects: [{ type: "poll", by: "request_id" }] };
  const { address } = destinationOf(ready, policy);
  const addressedTask = withCall(limitTimeout(ready, nowMs), { address });
  return {
    task: { ...addressedTask, state: "sent", wait: { polls: 0, workStartedAtMs: nowMs } },
    effects: [{ type: "send" }],
  };
}

/** Reduces `timeout_ms` to the remaining time. Params that may have arrived stay unchanged. */
function limitTimeout(task: Task, nowMs: number): Task {
  const { params, deadlineAtMs } = task.call ?? {};
  if (isPinned(task) || params === undefined || deadlineAtMs === undefined) return task;
  return withCall(task, { params: { ...params, timeout_ms: Math.max(1, deadlineAtMs - nowMs) } });
}

export function onWokenSent(
  task: Task,
  { nowMs, workerDied }: EventOf<"woken">,
  policy: Policy,
): Transition {
  // A task in doubt is looked up before it is sent again, even after its deadline, because the agent may be at work.
  const inDoubt = workerDied || mayHaveArrived(task);
  if (inDoubt)
    return {
      task: withCall(task, { arrival: "in_doubt" }),
      effects: [{ type: "poll", by: "request_id" }],
    };
  if (!isPastDeadline(task, nowMs)) return sendTask(task, { nowMs, policy });
  // The host may have stored the task although it refused. It is canceled there, because a task that is given up must not begin later.
  // If the host's address has changed, it cannot be reached, so the outcome stays unknown.
  const outcome = isPinned(task) && hasMoved(task, policy) ? ambiguousOutcome : unavailableOutcome;
  return { ...setOutcome(task, outcome), effects: [{ type: "cancel" }] };
}

export function onAnsweredSent(
  enteredTask: Task,
  { nowMs, result }: EventOf<"answered">,
  policy: Policy,
): Transition {
  const task = confirmSession(enteredTask);
  if (result.status === "success") return setAnswer(task, result);
  if (result.status === "input_required") return startAsking(task, { result, nowMs, policy });
  return startWaiting(task, { result, nowMs, policy });
}

type Failure = { nowMs: number; error: CallFailure; policy: Policy };

export function onCallFailedSent(
  task: Task,
  { act, nowMs, error }: EventOf<"call_failed">,
  policy: Policy,
): Transition {
  if (isSessionEnding({ act, error })) {
    return (
      leaveSessions(task, { nowMs, error, policy }) ??
      moveToNewSession(task, { act, error, policy })
    );
  }
  if (isUnread(error))
    return retryUnread(withCall(task, { arrival: "in_doubt" }), { error, nowMs });
  return (act === "send" ? handleFailedSend : handleFailedLookUp)(task, { nowMs, error, policy });
}

/** If a new session refuses too, no session of this destination lives long enough, so the route's next destination is tried. */
function leaveSessions(task: Task, { nowMs, error, policy }: Failure): Transition | undefined {
  if (!task.call?.isSessionNew || !isUndelivered(error) || isPastDeadline(task, nowMs))
    return undefined;
  return moveOn(task, { targets: targetsOf(task, policy), nowMs, error, policy, isLastTry: true });
}

function handleFailedSend(task: Task, { nowMs, error, policy }: Failure): Transition {
  // A response that breaks the contract or belongs to another call says nothing about this one, so the agent may be at work. A failure
  // before anything was sent, such as an unusable agent card, leaves no doubt.
  const breaksContract = isUninformative(error) && !isEndOfTask(error);
  const isInDoubt = mayHaveRun(error);
  // A doubt from an earlier try stays, because the task may be running since then although this try was refused.
  const arrival = isInDoubt ? "in_doubt" : chooseArrival(task, error);
  if (isTransient(error) || breaksContract) {
    const again = withCall(countFailure(task, error), { arrival });
    const targets = targetsOf(again, policy);
    const step = isPastDeadline(task, nowMs)
      ? undefined
      : tryAgain(again, { targets, nowMs, error, policy });
    if (step !== undefined) return step;
  }
  const isUnknown = arrival === "in_doubt" && !isEndOfTask(error);
  const step = setOutcome(task, isUnknown ? ambiguousOutcome : failedOutcome(error));
  // The host may have stored the task. A task that is given up must not begin later or run beside the thread's next task.
  return canRepeat(error) || isInDoubt ? { task: step.task, effects: [{ type: "cancel" }] } : step;
}

/** The arrival after a try that was refused. */
function chooseArrival({ call }: Task, error: CallFailure): TaskCall["arrival"] {
  const { arrival = "none" } = call ?? {};
  return arrival === "none" && !isUndelivered(error) ? "refused" : arrival;
}

function tryAgain(
  task: Task,
  failure: Failure & { targets: readonly string[] },
): Transition | undefined {
  const { targets, nowMs, error } = failure;
  if (targets.length > 1) return moveOn(task, failure);
  if (task.attempts >= maxAttempts || (task.nonTransientFailures ?? 0) >= maxBroken)
    return undefined;
  const delayMs = taskRetryDelayMs(task.attempts, error.retryAfterMs);
  return { task, effects: [wake(Math.min(delayMs, timeToDeadlineMs(task, nowMs)))] };
}

/**
 * Chooses the target whose next try is due first. Each target has its own count of tries and its own delay. The present one has just
 * failed, and with `isLastTry` it is not tried again. Returns undefined if every target has used up its tries.
 */
function moveOn(
  task: Task,
  {
    targets,
    nowMs,
    error,
    policy,
    isLastTry = false,
  }: Failure & { targets: readonly string[]; isLastTry?: boolean },
): Transition | undefined {
  const [present = "", ...others] = targets;
  const earlier = task.call?.undeliveredAttempts ?? {};
  const times = isLastTry ? maxAttempts : (earlier[present]?.times ?? 0) + 1;
  const notBeforeMs = nowMs + taskRetryDelayMs(times, error.retryAfterMs);
  const undeliveredAttempts: typeof earlier = { ...earlier, [present]: { times, notBeforeMs } };
  const [first, ...otherNames] = [...others, present].filter(
    (name) => (undeliveredAttempts[name]?.times ?? 0) < maxAttempts,
  );
  if (first === undefined) return undefined;
  const timeOf = (name: string) => Math.max(undeliveredAttempts[name]?.notBeforeMs ?? 0, nowMs);
  const to = otherNames.reduce((best, name) => (timeOf(name) < timeOf(best) ? name : best), first);
  const attempts = undeliveredAttempts[to]?.times ?? 0;
  const movedTask = withDestination(
    { ...withCall(task, { undeliveredAttempts }), attempts },
    { to, policy },
  );
  return {
    task: movedTask,
    effects: [wake(Math.min(timeOf(to) - nowMs, timeToDeadlineMs(task, nowMs)))],
  };
}

/** Handles a failed look-up of a task in doubt. It is sent again only to a peer that deduplicates, and only before its deadline. */
function handleFailedLookUp(task: Task, { nowMs, error, policy }: Failure): Transition {
  if (isEndOfTask(error)) return setOutcome(task, failedOutcome(error));
  const again = countFailure(task, error);
  const { attempts, nonTransientFailures = 0 } = again;
  if (isTransient(error) && attempts < maxAttempts) return retryLater(again, error, nowMs);
  if (error.reason === "invalid_response") {
    if (nonTransientFailures < maxBroken && attempts < maxAttempts)
      return retryLater(again, error, nowMs);
    // A peer that has never answered by the contract cannot have accepted the task.
    return setOutcome(
      task,
      nonTransientFailures === attempts ? failedOutcome(error) : ambiguousOutcome,
    );
  }
  // A peer at another address does not know whether the first one runs the task.
  const mayRepeat =
    !isTransient(error) && destinationOf(task, policy).idempotent && !hasMoved(task, policy);
  if (mayRepeat && !isPastDeadline(task, nowMs)) return { task, effects: [{ type: "send" }] };
  const neverArrived = mayRepeat && error.reason === "task_not_found";
  return setOutcome(
    task,
    neverArrived ? failedOutcome({ reason: "timeout", lost: false }) : ambiguousOutcome,
  );
}
