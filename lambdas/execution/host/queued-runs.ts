/** Runs elsewhere: a task is started by sending its id to a queue, where an Execution worker receives it. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { causeKind } from "./cause-kind.ts";
import type { ChangeTask } from "./change-task.ts";
import { requeue } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import { loggedIds } from "./logged-ids.ts";
import type { Runs } from "./runs.ts";
import { encodeTaskMessage } from "./task-message.ts";
import { createTimeLimit } from "./time-limit.ts";

/** A task that nobody has started for so long may have lost its message; one that merely waits its turn gets few too many. */
const requeueAfterMs = 60_000;

/**
 * A request of its own always enqueues a task that nobody has started, and rejects with `unavailable` where that fails, so
 * that its repetition enqueues again. A read does so once in a while and bears a failure. A message too many is harmless:
 * only the winner of the lease starts. A cancel needs nothing here: the worker sees it when it renews its lease.
 */
export function createQueuedRuns({
  taskQueue,
  changeTask,
  timeoutMs,
  now,
  log,
}: {
  taskQueue: TaskQueue;
  changeTask: ChangeTask;
  timeoutMs: number;
  now: () => number;
  log: Log;
}): Runs {
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });

  async function enqueue(task: ExecutionTask): Promise<void> {
    try {
      await withinTime(taskQueue.send({ body: encodeTaskMessage({ taskId: task.id }) }));
    } catch (error) {
      const fields = { reason: "unavailable", cause_kind: causeKind(error) };
      log.error("enqueue_failed", { ...loggedIds(task), ...fields });
      throw new SekishoError("unavailable", { cause: error });
    }
  }

  return {
    async start({ task, isSubmission }) {
      if (isSubmission) {
        await enqueue(task);
        return task;
      }
      const change = requeue({ nowMs: now(), everyMs: requeueAfterMs });
      const { task: current, changed } = await changeTask({ task, change });
      if (changed) await enqueue(task).catch(() => {});
      return current;
    },
    stop() {},
    has: () => false,
    count: () => 0,
    async stopAll() {},
  };
}
