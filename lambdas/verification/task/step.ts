/** How long a task waits before its next step. A wake-up comes after `delayMs` and a random part of `jitterMs`. */
import type { CallFailure, Delay, TaskEffect, TaskEvent } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import type { Outcome, Question, Task } from "./task.ts";

const pollBaseMs = 500;
/** Each of the first polls comes after up to half as much time again as the one before. */
const pollGrowth = 1.5;
/** A gap between two polls is at most this share of the task's age, so that an answer is late by at most as much. */
const pollAgeShare = 0.2;
/** The longest gap between two polls, however old the task is. */
const pollCeilingMs = 10 * 60_000;
/** The part of a gap that is left to chance, so that tasks that were sent together are not polled together. */
const pollJitterShare = 0.5;
/** A peer that asks for more time than this is asked again all the same. */
const mostObeyedMs = 15 * 60_000;
const retryBaseMs = 1000;
const retryCapMs = 60_000;

/** What the queue gave up on comes again that much later. */
export const afterDeadLetterMs = 5 * 60_000;

/**
 * Before the next `get_task`: at most a fifth of the time for which the agent has been at work, at most ten minutes, and at
 * most `ceilingMs`. It is never less than what the host asks for (up to a quarter of an hour), or half a second.
 */
export function pollDelay({
  polls,
  ageMs,
  pollAfterMs,
  ceilingMs = pollCeilingMs,
}: {
  polls: number;
  ageMs: number;
  pollAfterMs?: number | undefined;
  ceilingMs?: number | undefined;
}): Required<Delay> {
  const leastMs = Math.min(Math.max(pollAfterMs ?? pollBaseMs, 100), mostObeyedMs);
  const grownMs = leastMs * pollGrowth ** Math.min(polls, 30);
  const boundMs = Math.min(grownMs, ageMs * pollAgeShare, pollCeilingMs, ceilingMs);
  const mostMs = Math.max(leastMs, Math.floor(boundMs));
  const delayMs = Math.max(leastMs, Math.floor(mostMs * (1 - pollJitterShare)));
  return { delayMs, jitterMs: mostMs - delayMs };
}

/** Before a failed act is repeated: 1 s, 2 s, 4 s up to a minute, and never before the peer's own `retryAfterMs`. */
export function retryDelayMs(attempts: number, retryAfterMs: number | undefined): number {
  const backoff = Math.min(retryCapMs, retryBaseMs * 2 ** Math.min(Math.max(attempts - 1, 0), 20));
  return Math.max(backoff, Math.min(retryAfterMs ?? 0, mostObeyedMs));
}

/** How long a task whose outcome is known may take to bring it into the thread, before the next one begins all the same. */
export const threadReleaseMs = 75_000;

/**
 * A task that waits for its turn is told when it comes. This is for the case that nobody tells it: it looks often enough to see
 * that the task before it has an outcome before that one's time is over.
 */
export function turnDelay({ freeAtMs, nowMs }: { freeAtMs: number; nowMs: number }): Required<Delay> {
  return { delayMs: Math.min(Math.max(freeAtMs - nowMs, 0) + 1000, threadReleaseMs), jitterMs: 10_000 };
}

// How old a message may be: one that waited longer for its worker is answered with an apology, never executed.

export const maxAgeMs = 24 * 3600_000;

/** By Slack's `ts` (seconds since the epoch) or by the receipt, whichever is earlier. A `ts` that is no number counts as too old. */
export function isTooOld({ ts, receivedAtMs, nowMs }: { ts: string; receivedAtMs: number; nowMs: number }): boolean {
  const sinceMs = Math.min(Number(ts) * 1000, receivedAtMs);
  return !(nowMs - sinceMs <= maxAgeMs);
}

// One step of the task machine: the next record and what it asks for; and the steps that more than one event leads to.

export type Step = { task: Task; effects: TaskEffect[] };

/** What the host is given beyond the deadline to say `timeout` itself. */
export const graceMs = 15_000;
/** Failed acts in a row after which sending, looking up or sweeping is given up. */
export const maxAttempts = 8;
/** A record's bytes as JSON: an item of DynamoDB holds 400 KB, with its keys. */
const maxRecordBytes = 390_000;

/**
 * The outcome is known: what was needed to ask for it goes. An answer that no record can hold is an answer too large.
 * `reconcile`: parts of an outcome may be in the thread already. A message that was
 * only received keeps the mark, because the opening of its thread may be there.
 */
export function setOutcome(
  task: Task,
  outcome: Outcome,
  { reconcile = task.state === "received" && task.reconcile === true }: { reconcile?: boolean } = {},
): Step {
  const { params: _params, ...kept } = task;
  const advanced = advance(kept, { state: "delivering", outcome });
  const concluded = reconcile ? markForReconcile(advanced) : advanced;
  const isTooLarge = outcome.type === "answer" && Buffer.byteLength(JSON.stringify(concluded)) > maxRecordBytes;
  const told = isTooLarge ? failed({ reason: "payload_too_large", lost: false }) : outcome;
  return { task: { ...concluded, outcome: told }, effects: [wake(0)] };
}

export function failed({ reason, lost }: Pick<CallFailure, "reason" | "lost">): Extract<Outcome, { type: "failed" }> {
  return { type: "failed", reason, lost };
}

/** Nothing is left to do for the task: there is no further wake-up, and the texts go. */
export function endCleanup(task: Task): Task {
  return { ...eraseTexts(task), cleanupDone: true };
}

/**
 * The task is over: the texts go, the ids stay until the record expires, so that a late redelivery is still known. An answer
 * that Slack did not take stays too, so that it can be delivered once the cause is gone.
 */
function eraseTexts(task: Task): Task {
  const { params: _params, progress: _progress, stream: _stream, outcome, question, message, ...rest } = task;
  const isTold = outcome === undefined || (outcome.type === "answer" && task.undelivered === undefined);
  const { files: _files, ...said } = message;
  return {
    ...rest,
    ...(isTold ? {} : { outcome }),
    ...(question && { question: eraseQuestion(question) }),
    message: { ...said, text: "" },
    textsErased: true,
  };
}

/** Who answered, and when, stays. */
function eraseQuestion({ answer, ...question }: Question): Question {
  const { text: _text, ...given } = answer ?? {};
  return { ...question, prompt: "", options: [], ...(answer && { answer: { ...answer, ...given, text: undefined } }) };
}

/** The task goes on: no failure counts any more, and nothing has to be looked for. */
export function advance(task: Task, changes: Partial<Task>): Task {
  const { reconcile: _reconcile, ...settled } = resetFailures(task);
  return { ...settled, ...changes };
}

/** A success ends a row of failures. */
export function resetFailures(task: Task): Task {
  return { ...task, attempts: 0, nonTransientFailures: 0 };
}

/** A try may have posted something. The next one looks at the thread first. `advance` takes the mark away. */
export function markForReconcile(task: Task): Task {
  return { ...task, reconcile: true };
}

export function wake(delay: number | Delay): TaskEffect {
  return typeof delay === "number" ? { type: "wake", delayMs: delay } : { type: "wake", ...delay };
}

export function retryLater(task: Task, error: CallFailure, nowMs: number): Step {
  return { task, effects: [wake(againMs(task, error, nowMs))] };
}

/** How long a call waits before it is repeated. After the deadline a peer that asks for more time gets no more than any other. */
export function againMs(task: Task, { retryAfterMs }: CallFailure, nowMs: number): number {
  const mostMs = Math.max(retryDelayMs(task.attempts, undefined), untilDeadlineMs(task, nowMs - graceMs));
  return Math.min(retryDelayMs(task.attempts, retryAfterMs), mostMs);
}

/** The longest gap between two polls of a destination that holds polls for news: somebody wants them soon. */
const longPollGapMs = 30_000;

/**
 * The next poll, by the schedule of `pollDelay`, but not after the time in which the host has to end the task. `ceilingMs`: a
 * shorter gap than that schedule has.
 */
export function nextPoll(
  task: Task,
  { nowMs, policy, ceilingMs }: { nowMs: number; policy: Policy; ceilingMs?: number | undefined },
): Step {
  const gapMs = destinationOf(task, policy).longPollMs > 0 ? longPollGapMs : Number.POSITIVE_INFINITY;
  const schedule = { ageMs: workingMs(task, nowMs), ceilingMs: Math.min(gapMs, ceilingMs ?? gapMs) };
  const { delayMs, jitterMs } = pollDelay({ ...task, ...schedule });
  const mostMs = untilDeadlineMs(task, nowMs - graceMs);
  const leastMs = Math.min(delayMs, mostMs);
  return {
    task: { ...task, nextPollAtMs: nowMs + leastMs },
    effects: [wake({ delayMs: leastMs, jitterMs: Math.min(jitterMs, Math.max(0, mostMs - delayMs)) })],
  };
}

/** For how long the agent has been at work: the age by which polls grow apart. */
function workingMs({ workStartedAtMs, receivedAtMs }: Task, nowMs: number): number {
  return Math.max(0, nowMs - (workStartedAtMs ?? receivedAtMs));
}

/** The task is done: the next one of its thread may begin; then what is left to do for this one. */
export function releaseThread(task: Task): Step {
  // A worker may have died between taking the place, or being counted, and writing that down.
  return { task, effects: [{ type: "leave_thread" }] };
}

/** Nobody can post there. What was posted before is still cleaned up, and the outcome stays in the record. */
export function giveUpDelivery(task: Task): Step {
  return releaseThread(advance(task, { state: "done", undelivered: task.undelivered ?? "given_up" }));
}

export function onThreadReleased(task: Task, policy: Policy): Step {
  return { task, effects: [...stopSession(task, policy), ...(task.cleanupDone ? [] : [wake(policy.sweepAfterMs)])] };
}

function stopSession(task: Task, policy: Policy): TaskEffect[] {
  return task.destination !== undefined && destinationOf(task, policy).stopAfterResult
    ? [{ type: "stop_session" }]
    : [];
}

/** No wait is longer: at its deadline somebody waits for words. */
export function untilDeadlineMs({ deadlineAtMs = Number.POSITIVE_INFINITY }: Task, nowMs: number): number {
  return Math.max(0, deadlineAtMs - nowMs);
}

export function isPastDeadline(task: Task, nowMs: number): boolean {
  return task.deadlineAtMs !== undefined && nowMs >= task.deadlineAtMs;
}

/** One more failure in a row. A non-transient one is answered, and the answer says nothing of the task. */
export function countFailure(task: Task, error: CallFailure): Task {
  return {
    ...task,
    attempts: task.attempts + 1,
    nonTransientFailures: isTransient(error) ? 0 : (task.nonTransientFailures ?? 0) + 1,
  };
}

/** Nobody knows, or certainly not processed: the same call may be made again. */
export function isTransient({ reason, retryable }: CallFailure): boolean {
  return reason === "ambiguous" || retryable;
}

/** The time in which it waited for a person is not its own. */
export function waited(task: Task, nowMs: number): Task {
  const { question, deadlineAtMs } = task;
  if (question === undefined || question.answer !== undefined || deadlineAtMs === undefined) return task;
  return { ...task, deadlineAtMs: deadlineAtMs + Math.max(0, nowMs - question.askedAtMs) };
}

// What a task's record tells of its way: each change of its state, and each wish of a person.

/** A task that is redriven for ever would outgrow its record: the beginning and the latest stay. */
const maxEntries = 40;

const told: readonly TaskEvent["type"][] = ["cancel_asked", "redriven", "dead_lettered", "step_failed"];

export function withHistory({
  before,
  after,
  event,
  atMs,
}: {
  before: Task;
  after: Task;
  event: TaskEvent;
  atMs: number;
}): Task {
  if (after.state === before.state && !told.includes(event.type)) return after;
  const history = [...after.history, { atMs, event: event.type, state: after.state }];
  return { ...after, history: history.length > maxEntries ? [...history.slice(0, 1), ...history.slice(2)] : history };
}

/** When the outcome was known that is, or was last, on its way into the thread. */
export function concludedAtMs({ history }: Pick<Task, "history">): number | undefined {
  const last = history.findLastIndex(({ state }) => state === "delivering");
  const before = history.slice(0, last + 1).findLastIndex(({ state }) => state !== "delivering");
  return last === -1 ? undefined : history[before + 1]?.atMs;
}
