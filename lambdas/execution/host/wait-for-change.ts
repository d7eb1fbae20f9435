/** A long poll on one task: woken by the bell for what runs in this process, by reading the store for what runs elsewhere. */
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
  isStopped: () => boolean;
  reread: () => Promise<ExecutionTask>;
}): Promise<ExecutionTask> {
  const { task, until, timeoutMs, bell, isRunningHere, isStopped, reread } = request;
  if (timeoutMs <= 0 || until(task)) return task;
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  let latest = task;
  let pollTimer: NodeJS.Timeout | undefined;
  let isOver = false;

  function see(seen: ExecutionTask): void {
    latest = seen;
    if (until(seen)) resolve();
  }

  /** Reads at once the first time: the run may have ended before anyone listened. */
  async function poll(nextMs: number): Promise<void> {
    if (isStopped()) return resolve();
    if (!isRunningHere()) see(await reread());
    if (!isOver) pollTimer = setTimeout(() => poll(Math.min(2 * nextMs, slowestPollMs)).catch(reject), nextMs);
  }

  const stopListening = bell.listen({ id: task.id, listener: see });
  const timer = setTimeout(resolve, timeoutMs);
  try {
    poll(firstPollMs).catch(reject);
    await over;
    return latest;
  } finally {
    isOver = true;
    clearTimeout(timer);
    clearTimeout(pollTimer);
    stopListening();
  }
}
