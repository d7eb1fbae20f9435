/** Queues a notice for each push configuration of a task whose state changes; from then on the queue sees to its delivery. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { TaskQueue } from "../../../shared/engine/ports.ts";
import type { Log } from "../../../shared/log.ts";
import { causeKind } from "../cause-kind.ts";
import type { ChangeTask } from "../change-task.ts";
import type { ExecutionTask } from "../execution-task.ts";
import { encodeTaskMessage } from "../task-message.ts";
import { createTimeLimit } from "../time-limit.ts";

export type PushOutbox = {
  /** The same changes; one that enters a state resolves when its notices are queued. That it failed is logged, and no more. */
  after(changeTask: ChangeTask): ChangeTask;
  /** Queues a notice of the task as it stands for one configuration. Rejects with `unavailable`. */
  tell(request: { task: ExecutionTask; configId: string }): Promise<void>;
};

/**
 * A process that dies between a change and its notice loses the notice: store and queue cannot be written together. Whoever
 * polls sees the change all the same.
 */
export function createPushOutbox({
  queue,
  timeoutMs = 2000,
  log,
}: {
  queue: TaskQueue;
  /** Of one of two tries. */
  timeoutMs?: number;
  log: Log;
}): PushOutbox {
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });

  async function tell({ task, configId }: { task: ExecutionTask; configId: string }): Promise<void> {
    const { id: taskId, state, changedAtMs } = task;
    const body = encodeTaskMessage({ push: { taskId, configId, state, changedAtMs, attempt: 0 } });
    const send = async () => withinTime(queue.send({ body }));
    try {
      await send().catch(send);
    } catch (cause) {
      log.error("push_not_queued", { task_id: taskId, state, cause_kind: causeKind(cause) });
      throw new SekishoError("unavailable", { cause });
    }
  }

  return {
    after: (changeTask) => async (request) => {
      let entersState = false;
      const result = await changeTask({
        ...request,
        change(task) {
          const next = request.change(task);
          entersState = next !== undefined && next.state !== task.state;
          return next;
        },
      });
      const { task, changed } = result;
      const configs = (changed && entersState && task?.a2a?.pushConfigs) || [];
      if (task !== undefined) await Promise.allSettled(configs.map(({ id }) => tell({ task, configId: id })));
      return result;
    },
    tell,
  };
}
