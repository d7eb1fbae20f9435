/** A long poll on one task: woken by the bell for what runs in this process, by reading the store for what runs elsewhere. */

import type { Sleep } from "../../shared/sleep.ts";
import type { Bell } from "./bell.ts";
import type { ExecutionTask } from "./execution-task.ts";

const firstPollMs = 100;
const slowestPollMs = 1000;

/** Resolves to the record when `until` holds for it, after `timeoutMs`, or when the host stops. Rejects as `reread` does. */
export async function waitForChange(request: {
  task: ExecutionTask;
  until: (task: ExecutionTask) => boolean;
  timeoutMs: number;
  bell: Bell;
  isRunningHere: () => boolean;
  reread: () => Promise<ExecutionTask>;
  sleep: Sleep;
  stopped: AbortSignal;
}): Promise<ExecutionTask> {
  const { task, until, timeoutMs, bell, isRunningHere, reread, sleep, stopped } = request;
  if (timeoutMs <= 0 || until(task)) return task;
  let latest = task;
  const over = new AbortController();
  const stopListening = bell.listen({
    id: task.id,
    listener(changed) {
      latest = changed;
      if (until(changed)) over.abort();
    },
  });
  const timer = setTimeout(() => over.abort(), timeoutMs);
  try {
    for (let ms = firstPollMs; !over.signal.aborted && !stopped.aborted; ms = Math.min(2 * ms, slowestPollMs)) {
      await sleep({ ms, signal: over.signal });
      if (over.signal.aborted || isRunningHere()) continue;
      latest = await reread();
      if (until(latest)) break;
    }
    return latest;
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}
