/** How often a task is polled, by the schedule that the worker keeps. */
import { pollDelay } from "../../../lambdas/verification/task/delays.ts";

/** None where the first call brings the result; the last poll is the one that does. */
export function pollsOf({
  taskMs,
  syncBudgetMs,
  pollAfterMs,
  stepMs,
}: {
  taskMs: number;
  syncBudgetMs: number;
  pollAfterMs: number;
  /** What each poll takes itself. */
  stepMs: number;
}): number {
  let polls = 0;
  for (let atMs = syncBudgetMs; atMs < taskMs; polls++) {
    const { delayMs, jitterMs } = pollDelay({ polls, pollAfterMs });
    atMs += delayMs + jitterMs / 2 + stepMs;
  }
  return polls;
}
