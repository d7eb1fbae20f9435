/** `CancelTask`: the task is canceled from now on, whatever its agent still does; canceling twice is fine. */
import type { Tasks } from "../../tasks.ts";
import type { Operation } from "../operation.ts";
import { viewOf } from "../view.ts";

export function cancelTask({ tasks }: { tasks: Tasks }): Operation<"CancelTask"> {
  return async ({ params: { id: taskId }, caller: { principal } }) => {
    return viewOf({ task: await tasks.cancel({ principal, taskId }) });
  };
}
