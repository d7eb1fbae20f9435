/** What an operator has done about one task: each only puts a message into the queue, and the worker does the rest. */
import type { Log } from "../../../../lambdas/shared/log.ts";
import type { QueueMessage } from "../../../../lambdas/verification/task/messages.ts";
import { queueGroupOf, type Task } from "../../../../lambdas/verification/task/task.ts";
import { cancelRefusal, sendCancel } from "../../../cli/tasks/cancel-task.ts";
import { retryRefusal, sendRetry } from "../../../cli/tasks/retry-task.ts";
import type { TaskPlace } from "../../../cli/tasks/stored-task.ts";
import { type ActionResult, refuseAction } from "../action-result.ts";
import { findTaskById, redriveRefusal } from "./task-detail.ts";

type TaskAction = (request: { place: TaskPlace; task: Task }) => Promise<ActionResult>;

const taskActions: Record<string, TaskAction> = {
  async cancel({ place, task }) {
    const whyNot = cancelRefusal(task);
    if (whyNot !== undefined) return refuseAction(409, `It cannot be canceled any more (${whyNot}).`);
    await sendCancel({ place, task });
    return { done: { words: "Asked to end; its thread is told.", later: place.whyLater() } };
  },
  async retry({ place, task }) {
    const whyNot = retryRefusal(task);
    if (whyNot !== undefined) return refuseAction(409, `It ${whyNot}`);
    const { requestId } = await sendRetry({ place, task });
    return { done: { requestId, words: "Asked once more, as a new task.", later: place.whyLater() } };
  },
  async redrive({ place, task }) {
    const whyNot = redriveRefusal(task);
    if (whyNot !== undefined) return refuseAction(409, `It ${whyNot}`);
    await sendRedrive({ place, task });
    return { done: { words: "Its answer is on its way again.", later: place.whyLater() } };
  },
};

/** Undefined where there is no such deed. */
export async function runTaskAction({
  name,
  id,
  place,
  operator,
  log,
}: {
  name: string;
  id: string;
  place: TaskPlace;
  operator: string;
  log: Log;
}): Promise<ActionResult | undefined> {
  const deed = Object.hasOwn(taskActions, name) ? taskActions[name] : undefined;
  if (deed === undefined) return undefined;
  const task = await findTaskById({ place, id });
  if (task === undefined) return refuseAction(404, "There is no such task any more.");
  const outcome = await deed({ place, task });
  if ("done" in outcome) log.info("operator_asked", { operation: name, request_id: task.id, operator });
  return outcome;
}

export async function sendRedrive({ place, task }: { place: Pick<TaskPlace, "queue">; task: Task }): Promise<void> {
  const message: QueueMessage = { type: "redrive", requestId: task.id };
  await place.queue.send({ body: JSON.stringify(message), group: queueGroupOf(task) });
}
