/** Follows one task: its records as they are stored, in order, from any instance, until its turn or the task is over. */
import type { Bell } from "./bell.ts";
import { isAsking, isOver } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";

const firstPollMs = 100;
const slowestPollMs = 1000;

/**
 * Yields the task, then every newer record that is seen; of changes that follow each other faster than they are read the last
 * one. Ends after a record for which `until` holds, when `signal` aborts, and when the host stops. Throws as `reread` does.
 */
export async function* watchTask(request: {
  task: ExecutionTask;
  bell: Bell;
  isRunningHere: () => boolean;
  isStopped: () => boolean;
  reread: () => Promise<ExecutionTask>;
  /** The turn's end where it is not given: the task is over, or asks a question. */
  until?: ((task: ExecutionTask) => boolean) | undefined;
  signal: AbortSignal;
}): AsyncGenerator<ExecutionTask> {
  const { task, bell, isRunningHere, isStopped, reread, until = isTurnOver, signal } = request;
  let latest = task;
  let wake = () => {};
  const see = (seen: ExecutionTask) => {
    if (seen.revision > latest.revision) latest = seen;
    wake();
  };
  const stopListening = bell.listen({ id: task.id, listener: see });
  const abort = () => wake();
  signal.addEventListener("abort", abort);
  let pollMs = firstPollMs;
  let shown = 0;
  try {
    while (!signal.aborted) {
      if (latest.revision > shown) {
        shown = latest.revision;
        pollMs = firstPollMs;
        yield latest;
        if (until(latest)) {
          if (latest.revision === shown) return;
          continue;
        }
      }
      if (isStopped()) return;
      // What changed before anyone listened, or elsewhere, is in the store alone.
      if (shown === task.revision || !isRunningHere()) see(await reread());
      if (latest.revision > shown) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, pollMs);
      if (!signal.aborted) await promise;
      clearTimeout(timer);
      pollMs = Math.min(2 * pollMs, slowestPollMs);
    }
  } finally {
    stopListening();
    signal.removeEventListener("abort", abort);
  }
}

function isTurnOver(task: ExecutionTask): boolean {
  return isOver(task) || isAsking(task);
}
