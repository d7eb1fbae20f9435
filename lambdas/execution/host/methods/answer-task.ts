/** `answer_task`: the user's answer to the question that a task waits with; the same answer again gets the same result. */
import type { Method } from "../method.ts";
import { digest } from "../task-id.ts";
import { taskResult } from "../task-result.ts";
import type { Tasks } from "../tasks.ts";

export function answerTask({ tasks, pollAfterMs }: { tasks: Tasks; pollAfterMs: number }): Method<"answer_task"> {
  return async ({ params: { task_id: taskId, ...said }, id, caller: { principal } }) => {
    const { option_id, text = "", user_id } = said;
    const answer = { id: String(id), fingerprint: digest([option_id, text, user_id]), option_id, text, user_id };
    const task = await tasks.answer({ principal, taskId, answer });
    return taskResult({ task, pollAfterMs });
  };
}
