/** The time limits of a task: its deadline and its age. */
import { withCall } from "./routing.ts";
import type { Task } from "./task.ts";

/** The time after the deadline in which the host may still report `timeout` itself. */
export const graceMs = 15_000;

/** The time after the deadline in which a task may post its answer, before the thread's next task begins. */
export const deliveryMs = 60_000;

/** The time after its outcome is known in which a task may post it, before the thread's next task begins. */
export const threadReleaseMs = 75_000;

/** A message that waited longer than this for a worker is answered with an apology and never executed. */
export const maxAgeMs = 24 * 3600_000;

/** Infinite before the deadline is set. */
export function timeToDeadlineMs({ call }: Task, nowMs: number): number {
  return Math.max(0, (call?.deadlineAtMs ?? Number.POSITIVE_INFINITY) - nowMs);
}

export function isPastDeadline(task: Task, nowMs: number): boolean {
  return timeToDeadlineMs(task, nowMs) === 0;
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

/** The age of an operator's retry counts from the operator's request. */
export function isOutdated({ message, receivedAtMs, retryOf }: Task, nowMs: number): boolean {
  const ts = retryOf === undefined ? message.ts : String(receivedAtMs / 1000);
  return isTooOld({ ts, receivedAtMs, nowMs });
}

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
