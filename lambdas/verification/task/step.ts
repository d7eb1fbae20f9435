/** Helpers that the handlers of several states share: transitions, outcomes, failures, delays, deadlines, polls and the history. */
import { canRepeat, isTransient } from "@sekisho/contracts/certainty.ts";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import {
  type AcceptedResult,
  answerBytesMember,
  type CallAct,
  type CallFailure,
  type Delay,
  type EventOf,
  type TaskEffect,
  type TaskEvent,
} from "./events.ts";
import {
  destinationOf,
  inNewSession,
  mayHaveArrived,
  type Policy,
  withCall,
  withoutParams,
} from "./routing.ts";
import { leftOutCountOf, type Task, type TaskOutcome } from "./task.ts";
import { tokensOf } from "./token-usage.ts";

export type Transition = { task: Task; effects: TaskEffect[] };

/** The time after the deadline in which the host may still report `timeout` itself. */
export const graceMs = 15_000;
/** The time after the deadline in which a task may post its answer, before the thread's next task begins. */
export const deliveryMs = 60_000;
/** The time after its outcome is known in which a task may post it, before the thread's next task begins. */
export const threadReleaseMs = 75_000;
/** The delay before a dead letter is tried again. */
export const afterDeadLetterMs = 5 * 60_000;
/** After this many failed calls in a row, sending, polling or canceling is given up. */
export const maxAttempts = 8;
/**
 * The limit of tries of an act that Slack refuses. Retries are at most a minute apart, which makes a day, or two weeks if Slack asks for
 * longer waits (at most 15 minutes are respected). It counts tries instead of time, so that an outage of Sekisho does not count.
 */
export const maxSlackTries = 1440;
/** The limit of a record as JSON. A DynamoDB item holds 400 KB including its keys. */
const maxRecordBytes = 390_000;

export function wake(delay: number | Delay): TaskEffect {
  return typeof delay === "number" ? { type: "wake", delayMs: delay } : { type: "wake", ...delay };
}

/** Applies `changes` after a success: resets the failures and removes the mark for reconciling. */
export function advance(task: Task, changes: Partial<Task>): Task {
  const { reconcile: _reconcile, ...settled } = resetFailures(task);
  return { ...settled, ...changes };
}

/** Marks that a try may have posted something, so that the next one looks at the thread first. `advance` removes the mark. */
export function markForReconcile(task: Task): Task {
  return { ...task, reconcile: true };
}

/**
 * Sets the outcome and drops the params. An answer that no record can hold becomes `payload_too_large`. `reconcile`: parts of an
 * outcome may be in the thread already. A message that was only received keeps its mark, because its thread may have been opened.
 */
export function setOutcome(
  task: Task,
  outcome: TaskOutcome,
  {
    reconcile = task.state === "received" && task.reconcile === true,
  }: { reconcile?: boolean } = {},
): Transition {
  const advanced = advance(withoutParams(task), {
    state: "delivering",
    outcome,
    delivery: task.delivery ?? { status: "posting" },
  });
  const concluded = reconcile ? markForReconcile(advanced) : advanced;
  const isTooLarge =
    outcome.type === "answer" && Buffer.byteLength(JSON.stringify(concluded)) > maxRecordBytes;
  const fitting = isTooLarge
    ? failedOutcome({ reason: "payload_too_large", lost: false })
    : outcome;
  return { task: { ...concluded, outcome: fitting }, effects: [wake(0)] };
}

type Failed = Extract<TaskOutcome, { type: "failed" }>;

export function failedOutcome({
  reason,
  lost,
  explanation,
}: Pick<CallFailure, "reason" | "lost" | "explanation">): Failed {
  return { type: "failed", reason, lost, ...(explanation !== undefined && { explanation }) };
}

/** It is unknown what happened to the task at its destination. */
export const ambiguousOutcome = failedOutcome({ reason: "ambiguous", lost: false });
/** The deadline passed before any destination accepted the task. */
export const unavailableOutcome = failedOutcome({ reason: "unavailable", lost: false });
/** Sekisho's own code, or Slack, failed. */
export const internalOutcome = failedOutcome({ reason: "internal", lost: false });

export function setAnswer(
  task: Task,
  result: Extract<TaskResult, { status: "success" }>,
): Transition {
  const { response_text: text, artifacts = [], usage } = result;
  const tokens = tokensOf(usage);
  const leftOut = leftOutCountOf(result);
  return setOutcome(task, {
    type: "answer",
    text,
    ...(artifacts.length > 0 && { artifacts }),
    ...(leftOut > 0 && { leftOut }),
    ...(tokens && { tokens }),
  });
}

/** Drops the params and schedules the first poll, because the agent is now at work. */
export function startWaiting(
  task: Task,
  { result, nowMs, policy }: { result: AcceptedResult; nowMs: number; policy: Policy },
): Transition {
  const sent = withCall(withoutParams(task), { taskId: result.task_id });
  return schedulePoll(advance(sent, { state: "waiting", wait: noteGaps(task, result) }), {
    nowMs,
    policy,
  });
}

/** Asks the host to cancel the task. The first reason stays. */
export function requestCancel(
  task: Task,
  cancelReason: NonNullable<Task["cancelReason"]>,
): Transition {
  return {
    task: advance(task, { cancelReason: task.cancelReason ?? cancelReason }),
    effects: [{ type: "cancel" }],
  };
}

/** Waits for a destination that is at its limit of concurrent calls. Nothing was sent, so this is no failure. */
export function onBusy(task: Task, { delayMs }: EventOf<"busy">): Transition {
  // The planned poll was not made. If `nextPollAtMs` stayed, a completion push would take that poll as due now and be dropped.
  const { nextPollAtMs: _passed, ...wait } = waitOf(task);
  const later = task.wait === undefined ? task : { ...task, wait };
  return { task: later, effects: [wake({ delayMs, jitterMs: Math.floor(delayMs / 4) })] };
}

/** Counts one more failure in a row. A non-transient failure is a response that says nothing about the task. */
export function countFailure(task: Task, error: CallFailure): Task {
  return {
    ...task,
    attempts: task.attempts + 1,
    nonTransientFailures: isTransient(error) ? 0 : (task.nonTransientFailures ?? 0) + 1,
  };
}

/** Ends a row of failures after a success. */
export function resetFailures(task: Task): Task {
  return { ...task, attempts: 0, nonTransientFailures: 0 };
}

/** Counts a failed act of Slack, and marks the task for reconciling, because the post may still have arrived. */
export function countSlackFailure(
  task: Task,
  { kind }: EventOf<"slack_failed">,
): { again: Task; isTerminal: boolean; isGivenUp: boolean } {
  const again = markForReconcile({ ...task, attempts: task.attempts + 1 });
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
  if (!task.call?.isSessionNew) return { task: inNewSession(task, policy), effects: [wake(0)] };
  const isInDoubt = mayHaveArrived(task);
  const isKnown = act === "answer" || isInDoubt;
  const { task: concluded, effects } = setOutcome(
    task,
    isInDoubt ? ambiguousOutcome : failedOutcome(error),
  );
  // A task that is given up must not begin later.
  return { task: concluded, effects: isKnown ? [{ type: "cancel" }] : effects };
}

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
  const again = countFailure(task, error);
  if ((again.nonTransientFailures ?? 0) < maxUnread) return retryLater(again, error, nowMs);
  return { task: setOutcome(again, failedOutcome(error)).task, effects: [{ type: "cancel" }] };
}

/** Infinite before the deadline is set. */
export function untilDeadlineMs({ call }: Task, nowMs: number): number {
  return Math.max(0, (call?.deadlineAtMs ?? Number.POSITIVE_INFINITY) - nowMs);
}

export function isPastDeadline(task: Task, nowMs: number): boolean {
  return untilDeadlineMs(task, nowMs) === 0;
}

/** Adds the time in which the task waited for a person to its deadline. */
export function extendDeadline(task: Task, nowMs: number): Task {
  const { question, call } = task;
  if (question === undefined || question.answer !== undefined || call?.deadlineAtMs === undefined)
    return task;
  return withCall(task, {
    deadlineAtMs: call.deadlineAtMs + Math.max(0, nowMs - question.askedAtMs),
  });
}

/** A message that waited longer than this for a worker is answered with an apology and never executed. */
export const maxAgeMs = 24 * 3600_000;

/** Uses Slack's `ts` (seconds since the epoch) or the time of receipt, whichever is earlier. An invalid `ts` counts as too old. */
export function isTooOld({
  ts,
  receivedAtMs,
  nowMs,
}: {
  ts: string;
  receivedAtMs: number;
  nowMs: number;
}): boolean {
  const sinceMs = Math.min(Number(ts) * 1000, receivedAtMs);
  return !(nowMs - sinceMs <= maxAgeMs);
}

/** The age of an operator's retry counts from the operator's request. */
export function isOutdated({ message, receivedAtMs, retryOf }: Task, nowMs: number): boolean {
  const ts = retryOf === undefined ? message.ts : String(receivedAtMs / 1000);
  return isTooOld({ ts, receivedAtMs, nowMs });
}

const retryBaseMs = 1000;
const retryCapMs = 60_000;
/** A peer's longer `retryAfterMs` is cut to this. */
const mostObeyedMs = 15 * 60_000;

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
  return Math.max(backoff, Math.min(retryAfterMs ?? 0, mostObeyedMs));
}

/** Returns the delay before a call is repeated. A peer's `retryAfterMs` never delays it past the deadline. */
export function againMs(task: Task, { retryAfterMs }: CallFailure, nowMs: number): number {
  const mostMs = Math.max(
    taskRetryDelayMs(task.attempts, undefined),
    untilDeadlineMs(task, nowMs - graceMs),
  );
  return Math.min(taskRetryDelayMs(task.attempts, retryAfterMs), mostMs);
}

export function retryLater(task: Task, error: CallFailure, nowMs: number): Transition {
  return { task, effects: [wake(againMs(task, error, nowMs))] };
}

const pollBaseMs = 500;
/** Each of the first polls comes after up to half as much time again as the one before. */
const pollGrowth = 1.5;
/** A gap between two polls is at most this share of the task's age, which bounds how late an answer is. */
const pollAgeShare = 0.2;
/** The longest gap between two polls, however old the task is. */
const pollCeilingMs = 10 * 60_000;
/** The random share of a gap, so that tasks that were sent together are not polled together. */
const pollJitterShare = 0.5;
/** The longest gap between two polls of a destination with long polls. */
const longPollGapMs = 30_000;

/**
 * Returns the delay before the next `get_task`: at most a fifth of the time for which the agent has been at work, ten minutes, and
 * `ceilingMs`. It is at least `leastMs`, and what the host asks for (up to 15 minutes), or else half a second.
 */
export function pollDelay({
  polls,
  ageMs,
  pollAfterMs,
  ceilingMs = pollCeilingMs,
  leastMs: shortestMs = 0,
}: {
  polls: number;
  ageMs: number;
  pollAfterMs?: number | undefined;
  ceilingMs?: number | undefined;
  leastMs?: number | undefined;
}): Required<Delay> {
  const advisedMs = Math.min(Math.max(pollAfterMs ?? pollBaseMs, 100), mostObeyedMs);
  const leastMs = Math.max(advisedMs, shortestMs);
  const grownMs = advisedMs * pollGrowth ** Math.min(polls, 30);
  const boundMs = Math.min(grownMs, ageMs * pollAgeShare, pollCeilingMs, ceilingMs);
  const mostMs = Math.max(leastMs, Math.floor(boundMs));
  const delayMs = Math.max(leastMs, Math.floor(mostMs * (1 - pollJitterShare)));
  return { delayMs, jitterMs: mostMs - delayMs };
}

/** One second for each 50 KB of the last answer: reading a megabyte holds the process for up to a tenth of a second. */
const bytesPerMs = 50;

/** Returns the task's `wait` with the gaps before its next poll that the answer calls for. */
export function noteGaps(task: Task, result: AcceptedResult): NonNullable<Task["wait"]> {
  const { poll_after_ms: pollAfterMs, [answerBytesMember]: bytes } = result;
  const minPollGapMs = typeof bytes === "number" ? Math.floor(bytes / bytesPerMs) : undefined;
  return { ...waitOf(task), pollAfterMs, minPollGapMs };
}

/** Schedules the next poll by `pollDelay`, but not after the time by which the host must have ended the task. */
export function schedulePoll(
  task: Task,
  request: {
    nowMs: number;
    policy: Policy;
    ceilingMs?: number | undefined;
    leastMs?: number | undefined;
  },
): Transition {
  const { nowMs, policy, ceilingMs, leastMs: shortestMs } = request;
  const { longPollMs, maxPollGapMs } = destinationOf(task, policy);
  const gapMs = longPollMs > 0 ? Math.min(longPollGapMs, maxPollGapMs) : maxPollGapMs;
  const wait = waitOf(task);
  const ageMs = Math.max(0, nowMs - wait.workStartedAtMs);
  const { delayMs, jitterMs } = pollDelay({
    ...{ ...wait, ageMs, ceilingMs: Math.min(gapMs, ceilingMs ?? gapMs) },
    leastMs: Math.max(shortestMs ?? 0, wait.minPollGapMs ?? 0),
  });
  const mostMs = untilDeadlineMs(task, nowMs - graceMs);
  const leastMs = Math.min(delayMs, mostMs);
  return {
    task: { ...task, wait: { ...wait, nextPollAtMs: nowMs + leastMs } },
    effects: [
      wake({ delayMs: leastMs, jitterMs: Math.min(jitterMs, Math.max(0, mostMs - delayMs)) }),
    ],
  };
}

/** Returns the task's `wait`. Without one, the agent counts as at work since the task was received. */
export function waitOf({ wait, receivedAtMs }: Task): NonNullable<Task["wait"]> {
  return wait ?? { workStartedAtMs: receivedAtMs, polls: 0 };
}

/** Beyond this, only the first and the latest entries stay, so that a task that is redriven many times fits its record. */
const maxEntries = 40;

const recordedEvents: readonly TaskEvent["type"][] = [
  "cancel_asked",
  "message_edited",
  "message_deleted",
  "redriven",
  "dead_lettered",
  "step_failed",
];

/** Adds an entry to the history for each change of the state, and for each event of `recordedEvents`. */
export function withHistory(step: {
  previousTask: Task;
  task: Task;
  event: TaskEvent;
  atMs: number;
}): Task {
  const { previousTask, task, event, atMs } = step;
  if (task.state === previousTask.state && !recordedEvents.includes(event.type)) return task;
  const history = [...task.history, { atMs, event: event.type, state: task.state }];
  return {
    ...task,
    history: history.length > maxEntries ? [...history.slice(0, 1), ...history.slice(2)] : history,
  };
}

/** Returns when the task last entered `delivering`, or undefined before that. */
export function concludedAtMs({ history }: Pick<Task, "history">): number | undefined {
  const last = history.findLastIndex(({ state }) => state === "delivering");
  const before = history.slice(0, last + 1).findLastIndex(({ state }) => state !== "delivering");
  return last === -1 ? undefined : history[before + 1]?.atMs;
}
