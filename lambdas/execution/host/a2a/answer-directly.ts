/** Answers without a task: the client is given a message, and its listing does not show the task that it never heard of. */
import type { Message } from "../../../../contracts/a2a/part.ts";
import { unlist } from "../changes.ts";
import type { ExecutionTask } from "../execution-task.ts";
import type { Tasks } from "../tasks.ts";
import { directMessage } from "./view.ts";

/** Undefined where the task is to be shown. */
export async function answerDirectly({
  tasks,
  task,
}: {
  tasks: Pick<Tasks, "update">;
  task: ExecutionTask;
}): Promise<Message | undefined> {
  const message = directMessage(task);
  const { principal, id: taskId, listedAtMs } = task;
  // A task that stays in the listing does no harm; an answer that is there is not kept back for it.
  if (message !== undefined && listedAtMs !== undefined) {
    await tasks.update({ principal, taskId, change: unlist }).catch(() => undefined);
  }
  return message;
}
