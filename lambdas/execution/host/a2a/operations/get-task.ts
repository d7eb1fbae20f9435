/** `GetTask`: how a task stands. */
import type { Tasks } from "../../tasks.ts";
import type { Operation } from "../operation.ts";
import { viewOf } from "../view.ts";

export function getTask({ tasks, pollAfterMs }: { tasks: Tasks; pollAfterMs: number }): Operation<"GetTask"> {
  return async ({ params: { id: taskId, historyLength }, caller: { principal } }) => {
    return viewOf({ task: await tasks.find({ principal, taskId }), historyLength, pollAfterMs });
  };
}
