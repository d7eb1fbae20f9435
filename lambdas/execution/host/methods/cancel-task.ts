/** `cancel_task`: the task is canceled from now on, whatever its agent still does; canceling twice is fine. */
import type { Method } from "../method.ts";
import type { Tasks } from "../tasks.ts";

export function cancelTask({ tasks }: { tasks: Tasks }): Method<"cancel_task"> {
  return async ({ params: { task_id: taskId, request_id: requestId }, caller: { principal } }) => {
    const task = await tasks.cancel({ principal, taskId, requestId });
    return { status: "canceled", task_id: task.id };
  };
}
