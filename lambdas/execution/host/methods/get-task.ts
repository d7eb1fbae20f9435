/** `get_task`: how a task stands; with `wait_ms` the answer is held until its state or its progress changes. */
import type { Method } from "../method.ts";
import { taskResult } from "../task-result.ts";
import type { Tasks } from "../tasks.ts";

export function getTask({ tasks, pollAfterMs }: { tasks: Tasks; pollAfterMs: number }): Method<"get_task"> {
  return async ({
    params: { task_id: taskId, request_id: requestId, wait_ms: timeoutMs = 0 },
    caller: { principal },
  }) => {
    const task = await tasks.find({ principal, taskId, requestId });
    const before = JSON.stringify([task.state, task.progress]);
    const latest = await tasks.wait({
      task,
      until: ({ state, progress }) => JSON.stringify([state, progress]) !== before,
      timeoutMs,
    });
    return taskResult({ task: latest, pollAfterMs });
  };
}
