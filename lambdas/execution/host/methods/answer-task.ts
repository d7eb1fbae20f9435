/** `answer_task`: no agent can ask a question yet, so a task that exists is never in the state to be answered. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Method } from "../method.ts";
import type { Tasks } from "../tasks.ts";

export function answerTask({ tasks }: { tasks: Tasks }): Method<"answer_task"> {
  return async ({ params: { task_id: taskId }, caller: { principal } }) => {
    const { id, state } = await tasks.find({ principal, taskId });
    throw new SekishoError("invalid_state", { details: { task_id: id, current: state, target: "working" } });
  };
}
