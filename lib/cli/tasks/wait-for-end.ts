/** Waits until a task is over, as its record says. */
import { setTimeout } from "node:timers/promises";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { TaskPlace } from "./stored-task.ts";

/** Resolves to the record as it was last read: not `done` where `timeoutMs` are over before the task is. Rejects when the signal aborts. */
export async function waitForEnd({
  place,
  task: first,
  timeoutMs,
  pollMs = 500,
  signal,
  changed,
}: {
  place: { store: Pick<TaskPlace["store"], "get"> };
  task: Task;
  timeoutMs: number;
  pollMs?: number;
  signal: AbortSignal;
  /** Called with each new state. */
  changed: (task: Task) => void;
}): Promise<Task> {
  const tooLate = AbortSignal.timeout(timeoutMs);
  let task = first;
  while (task.state !== "done" && !tooLate.aborted) {
    await setTimeout(pollMs, undefined, { signal });
    const latest = (await place.store.get({ id: task.id }))?.task ?? task;
    if (latest.state !== task.state) changed(latest);
    task = latest;
  }
  return task;
}
