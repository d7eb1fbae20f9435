/** The completion push: wakes the task that it names, if that waits. It carries no outcome, and what it says is not believed. */
import { completionSchema } from "../../../contracts/completion.ts";
import type { TaskEvent } from "../task/events.ts";
import { runStep, type WorkerOptions } from "./run-step.ts";

/** However many pushes come, a task is not polled more often than that for them. */
const pollGapMs = 1000;

/** Resolves when there is nothing more to do for it; rejects where the store is away. */
export async function handleCompletion(
  options: WorkerOptions,
  { body, signal }: { body: string; signal: AbortSignal | undefined },
): Promise<void> {
  const { store, log, now = Date.now } = options;
  const push = parse(body);
  if (push === undefined) return log.warn("completion_refused", { bytes: body.length });
  const task = await store.get({ id: push.request_id });
  const nowMs = now();
  const isMeant = task?.state === "waiting" && task.taskId === push.task_id;
  const isRecent = task?.polledAtMs !== undefined && nowMs - task.polledAtMs < pollGapMs;
  // A worker that acts on it polls, or is about to.
  const isHeld = task?.lease !== undefined && task.lease.untilMs > nowMs;
  // A host that could not be asked has its time until the next try, and what is ending is told by its end.
  const isEnding = task?.ending !== undefined || (task?.attempts ?? 0) > 0;
  if (!isMeant || isRecent || isHeld || isEnding) return log.debug("completion_dropped", { ...push });
  const event: TaskEvent = { type: "woken", nowMs, resumed: task.lease !== undefined };
  await runStep(options, { task, event, seq: task.wakeSeq, nowMs, signal });
}

function parse(body: string) {
  try {
    return completionSchema.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
