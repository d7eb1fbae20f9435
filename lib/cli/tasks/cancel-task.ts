/** Asks a zone to end one task. */
import type { QueueMessage } from "../../../lambdas/verification/task/messages.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { TaskPlace } from "./stored-task.ts";
import { describeOutcome } from "./text.ts";

/** Completes "It cannot be canceled any more: ..."; undefined where it can. */
export function cancelRefusal(task: Task): string | undefined {
  return describeOutcome(task);
}

/** Only asks: the worker does it, and the thread is told. */
export async function sendCancel({ place, task }: { place: Pick<TaskPlace, "queue">; task: Task }): Promise<void> {
  const message: QueueMessage = { type: "cancel", requestId: task.id };
  await place.queue.send({ body: JSON.stringify(message), group: task.message.team });
}
