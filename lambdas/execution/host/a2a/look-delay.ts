/** When something may be due to a task that nobody reads; pure. */
import { isAsking, isUnstarted, questionEndAtMs } from "../changes.ts";
import type { ExecutionTask } from "../execution-task.ts";

/** The clocks of two processes may differ by more than what is left. */
const shortestMs = 250;

type Watched = Pick<ExecutionTask, "id" | "state" | "changedAtMs" | "deadlineAtMs" | "question" | "lease">;

/**
 * From now until a task that nobody has started may have lost who was to start it (`unstartedAfterMs`), until one that runs
 * would be lost if its lease were not renewed, or until a question's time is over.
 */
export function lookDelayMs({
  task,
  nowMs,
  lostAfterMs,
  unstartedAfterMs,
}: {
  task: Watched;
  nowMs: number;
  lostAfterMs: number;
  unstartedAfterMs: number;
}): number {
  return Math.max(shortestMs, dueAtMs({ task, nowMs, lostAfterMs, unstartedAfterMs }) - nowMs);
}

function dueAtMs({ task, nowMs, lostAfterMs, unstartedAfterMs }: Parameters<typeof lookDelayMs>[0]): number {
  if (isAsking(task)) return questionEndAtMs(task);
  return isUnstarted(task) || task.lease === undefined ? nowMs + unstartedAfterMs : task.lease.untilMs + lostAfterMs;
}
