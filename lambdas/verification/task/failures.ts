/** Handles failed acts: counts them, and decides on the delay before a repetition, another session, or the end of the task. */
import { canRepeat, isTransient } from "@sekisho/contracts/certainty.ts";
import type { CallAct, CallFailure, EventOf } from "./events.ts";
import { assignNewSession, mayHaveArrived, type Policy } from "./routing.ts";
import type { Task } from "./task.ts";
import { graceMs, timeToDeadlineMs } from "./time-limits.ts";
import {
  ambiguousOutcome,
  failedOutcome,
  markForReconcile,
  setOutcome,
  type Transition,
  wake,
} from "./transition.ts";

/** After this many failed calls in a row, sending, polling or canceling is given up. */
export const maxAttempts = 8;

/**
 * The limit of tries of an act that Slack refuses. Retries are at most a minute apart, which makes a day, or two weeks if Slack asks for
 * longer waits (at most 15 minutes are respected). It counts tries instead of time, so that an outage of Sekisho does not count.
 */
export const maxSlackTries = 1440;

/** The delay before a dead letter is tried again. */
export const afterDeadLetterMs = 5 * 60_000;

/** Counts one more failure in a row. A non-transient failure is a response that says nothing about the task. */
export function countFailure(task: Task, error: CallFailure): Task {
  return {
    ...task,
    attempts: task.attempts + 1,
    nonTransientFailures: isTransient(error) ? 0 : (task.nonTransientFailures ?? 0) + 1,
  };
}

export function retryLater(task: Task, error: CallFailure, nowMs: number): Transition {
  return { task, effects: [wake(repeatDelayMs(task, error, nowMs))] };
}

/** Returns the delay before a call is repeated. A peer's `retryAfterMs` never delays it past the deadline. */
export function repeatDelayMs(task: Task, { retryAfterMs }: CallFailure, nowMs: number): number {
  const maxDelayMs = Math.max(
    taskRetryDelayMs(task.attempts, undefined),
    timeToDeadlineMs(task, nowMs - graceMs),
  );
  return Math.min(taskRetryDelayMs(task.attempts, retryAfterMs), maxDelayMs);
}

/**
 * Returns the delay before a failed act is repeated: 1 s, 2 s, 4 s up to a minute, or up to a shorter `maxBackoffMs`, and at least the
 * peer's own `retryAfterMs`.
 */
export function taskRetryDelayMs(
  attempts: number,
  retryAfterMs: number | undefined,
  maxBackoffMs: number = retryCapMs,
): number {
  const backoff = Math.min(
    retryCapMs,
    maxBackoffMs,
    retryBaseMs * 2 ** Math.min(Math.max(attempts - 1, 0), 20),
  );
  return Math.max(backoff, Math.min(retryAfterMs ?? 0, maxObeyedMs));
}

const retryBaseMs = 1000;

const retryCapMs = 60_000;

/** A peer's longer `retryAfterMs` is cut to this. */
export const maxObeyedMs = 15 * 60_000;

/** After this many unreadable responses in a row (about seven seconds), the task ends. */
const maxUnread = 4;

/**
 * Retries after a response that is too large. It may be progress, a question or the answer, and the next one may be smaller. If none is,
 * the task fails and is canceled at the host, so that no agent keeps running unseen.
 */
export function retryUnread(
  task: Task,
  { error, nowMs }: { error: CallFailure; nowMs: number },
): Transition {
  const failedTask = countFailure(task, error);
  if ((failedTask.nonTransientFailures ?? 0) < maxUnread)
    return retryLater(failedTask, error, nowMs);
  return { task: setOutcome(failedTask, failedOutcome(error)).task, effects: [{ type: "cancel" }] };
}

/** True if the session refused the call because it is about to end. Only `send` and `answer` begin work that needs a session. */
export function isSessionEnding({ act, error }: { act: CallAct; error: CallFailure }): boolean {
  return (
    error.reason === "session_ending" && canRepeat(error) && (act === "send" || act === "answer")
  );
}

/**
 * Repeats the call in a new session of the task's own. The session is in the record first, so that later polls, answers and cancels go
 * there too. The thread's next task uses the thread's session again. If a new session refuses too, the task ends.
 */
export function moveToNewSession(
  task: Task,
  { act, error, policy }: { act: CallAct; error: CallFailure; policy: Policy },
): Transition {
  if (!task.call?.isSessionNew) return { task: assignNewSession(task, policy), effects: [wake(0)] };
  const isInDoubt = mayHaveArrived(task);
  const isKnown = act === "answer" || isInDoubt;
  const { task: endedTask, effects } = setOutcome(
    task,
    isInDoubt ? ambiguousOutcome : failedOutcome(error),
  );
  // A task that is given up must not begin later.
  return { task: endedTask, effects: isKnown ? [{ type: "cancel" }] : effects };
}

/** Counts a failed act of Slack, and marks the task for reconciling, because the post may still have arrived. */
export function countSlackFailure(
  task: Task,
  { kind, isReadLimited }: EventOf<"slack_failed">,
): { again: Task; isTerminal: boolean; isGivenUp: boolean } {
  const again = markForReconcile({
    ...task,
    attempts: task.attempts + 1,
    ...(isReadLimited && { limitedReads: (task.limitedReads ?? 0) + 1 }),
  });
  const isTerminal = kind === "gone" || kind === "refused" || kind === "no_such_message";
  return { again, isTerminal, isGivenUp: isTerminal || again.attempts >= maxSlackTries };
}

export function retrySlack(task: Task, { retryAfterMs }: EventOf<"slack_failed">): Transition {
  return { task, effects: [wake(taskRetryDelayMs(task.attempts, retryAfterMs))] };
}

/** Shows the same content without blocks, which Slack refuses most often. */
export function fallBackToMrkdwn(task: Task): Transition {
  return { task: { ...task, mrkdwnFallback: true }, effects: [wake(0)] };
}
