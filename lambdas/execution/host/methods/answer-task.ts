/** `answer_task`: the user's answer to the question that a task waits with; the same answer again gets the same result. */
import { dedupedIdSchema } from "../../../../contracts/methods.ts";
import type { Method } from "../method.ts";
import { digest } from "../task-id.ts";
import { taskResult } from "../task-result.ts";
import type { Tasks } from "../tasks.ts";

/** An id that is no UUID says nothing of repetitions: many clients count from 1, or have one for all. */
export function answerTask({
  tasks,
  pollAfterMs,
  newId,
}: {
  tasks: Tasks;
  pollAfterMs: number;
  newId: () => string;
}): Method<"answer_task"> {
  return async ({ params: { task_id: taskId, ...said }, id, caller: { principal } }) => {
    const { option_id, text = "", user_id, question_id: questionId } = said;
    const answerId = dedupedIdSchema.safeParse(id).success ? String(id).toLowerCase() : newId();
    const fingerprint = digest([option_id, text, user_id]);
    const answer = { id: answerId, questionId, fingerprint, option_id, text, user_id };
    const task = await tasks.answer({ principal, taskId, answer });
    return taskResult({ task, pollAfterMs });
  };
}
