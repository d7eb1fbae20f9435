/** One step of the task machine: the next record and what it asks for; and the steps that more than one event leads to. */
import { type Delay, pollDelay, retryDelayMs } from "./delays.ts";
import type { CallFailure, TaskEffect } from "./events.ts";
import { destinationOf, type Policy } from "./policy.ts";
import type { Outcome, Question, Task } from "./task.ts";

export type Step = { task: Task; effects: TaskEffect[] };

/** What the host is given beyond the deadline to say `timeout` itself. */
export const graceMs = 15_000;
/** Failed acts in a row after which sending, looking up or sweeping is given up. */
export const maxAttempts = 8;
/** A record's bytes as JSON: an item of DynamoDB holds 400 KB, with its keys. */
const maxRecordBytes = 390_000;

/** The outcome is known: what was needed to ask for it goes. An answer that no record can hold is an answer too large. */
export function conclude(task: Task, outcome: Outcome): Step {
  const { params: _params, ...kept } = task;
  const concluded = advance(kept, { state: "delivering", outcome });
  const isTooLarge = outcome.type === "answer" && Buffer.byteLength(JSON.stringify(concluded)) > maxRecordBytes;
  const told = isTooLarge ? failed({ reason: "payload_too_large", lost: false }) : outcome;
  return { task: { ...concluded, outcome: told }, effects: [wake(0)] };
}

export function failed({ reason, lost }: Pick<CallFailure, "reason" | "lost">): Extract<Outcome, { type: "failed" }> {
  return { type: "failed", reason, lost };
}

/**
 * The task is over: the texts go, the ids stay until the record expires, so that a late redelivery is still known. An answer
 * that Slack did not take stays too, so that it can be delivered once the cause is gone.
 */
export function forget(task: Task): Task {
  const { params: _params, progress: _progress, stream: _stream, outcome, question, message, ...rest } = task;
  const isTold = outcome === undefined || (outcome.type === "answer" && task.undelivered === undefined);
  const { files: _files, ...said } = message;
  return {
    ...rest,
    ...(isTold ? {} : { outcome }),
    ...(question && { question: untold(question) }),
    message: { ...said, text: "" },
    swept: true,
  };
}

/** Who answered, and when, stays. */
function untold({ answer, ...question }: Question): Question {
  const { text: _text, ...given } = answer ?? {};
  return { ...question, prompt: "", options: [], ...(answer && { answer: { ...answer, ...given, text: undefined } }) };
}

export function advance(task: Task, changes: Partial<Task>): Task {
  return { ...task, attempts: 0, puzzles: 0, ...changes };
}

export function wake(delay: number | Delay): TaskEffect {
  return typeof delay === "number" ? { type: "wake", delayMs: delay } : { type: "wake", ...delay };
}

export function later(task: Task, error: CallFailure, nowMs: number): Step {
  return { task, effects: [wake(againMs(task, error, nowMs))] };
}

/** How long a call waits before it is repeated. After the deadline a peer that asks for more time gets no more than any other. */
export function againMs(task: Task, { retryAfterMs }: CallFailure, nowMs: number): number {
  const mostMs = Math.max(retryDelayMs(task.attempts, undefined), untilDeadlineMs(task, nowMs - graceMs));
  return Math.min(retryDelayMs(task.attempts, retryAfterMs), mostMs);
}

/** The next poll comes when the host wants it, but not after the time in which the host has to end the task. */
export function nextPoll(task: Task, nowMs: number): TaskEffect {
  const { delayMs, jitterMs } = pollDelay(task);
  const mostMs = untilDeadlineMs(task, nowMs - graceMs);
  return wake({ delayMs: Math.min(delayMs, mostMs), jitterMs: Math.min(jitterMs, Math.max(0, mostMs - delayMs)) });
}

/** The task is done: the next one of its thread may begin; then what is left to do for this one. */
export function leaving(task: Task): Step {
  // A worker may have died between taking the place, or being counted, and writing that down.
  return { task, effects: [{ type: "leave_thread" }] };
}

/** Nobody can post there. What was posted before is still cleaned up, and the outcome stays in the record. */
export function giveUpDelivery(task: Task): Step {
  return leaving(advance(task, { state: "done", undelivered: task.undelivered ?? "given_up" }));
}

export function left(task: Task, policy: Policy): Step {
  return { task, effects: [...stopSession(task, policy), ...(task.swept ? [] : [wake(policy.sweepAfterMs)])] };
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

/** One more failure in a row; a puzzle is one whose answer says nothing of the task. */
export function failedOnce(task: Task, error: CallFailure): Task {
  return { ...task, attempts: task.attempts + 1, puzzles: isPassing(error) ? 0 : (task.puzzles ?? 0) + 1 };
}

/** Nobody knows, or certainly not processed: the same call may be made again. */
export function isPassing({ reason, retryable }: CallFailure): boolean {
  return reason === "ambiguous" || retryable;
}
