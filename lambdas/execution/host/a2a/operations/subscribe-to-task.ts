/** `SubscribeToTask`: the task as it stands and then what changes, on any instance, for any number of clients. */
import { SekishoError } from "../../../../../contracts/errors.ts";
import { isOver } from "../../changes.ts";
import type { ExecutionTask } from "../../execution-task.ts";
import type { Tasks } from "../../tasks.ts";
import { follow } from "../follow.ts";
import type { Operation } from "../operation.ts";
import { viewOf } from "../view.ts";

/**
 * In 1.0 the stream goes on over questions to the end of the task; a client of 0.3 takes a question for the stream's last event.
 * Rejects with `unsupported_operation` for a task that is over (A2A 1.0, section 3.1.6).
 */
export function subscribeToTask({
  tasks,
  pollAfterMs,
}: {
  tasks: Tasks;
  pollAfterMs: number;
}): Operation<"SubscribeToTask"> {
  return async ({ params: { id: taskId }, version, caller: { principal }, client }) => {
    const task = await tasks.find({ principal, taskId });
    if (isOver(task)) throw new SekishoError("unsupported_operation", { details: { task_id: task.id } });
    const view = (seen: ExecutionTask) => viewOf({ task: seen, pollAfterMs });
    const until = version === "1.0" ? isOver : undefined;
    return follow({ tasks, shown: task, task, view, until, signal: client.signal });
  };
}
