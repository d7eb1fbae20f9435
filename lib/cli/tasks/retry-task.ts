/** Retries a task as a new one. */

import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { encodeQueueMessage } from "@sekisho/verification/task/encode-message.ts";
import {
  createRetry,
  findRetryObstacle,
  type RetryObstacle,
} from "@sekisho/verification/task/retry.ts";
import { retryIdOf } from "@sekisho/verification/task/routing.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { TaskZone } from "./stored-task.ts";

const obstacles: Record<Exclude<RetryObstacle, "open">, string> = {
  command:
    "was a slash command, which leaves no message to read again. Use the command again in Slack.",
  instruction:
    "was asked by the message shortcut with an instruction, which is not kept. Use the shortcut again in Slack.",
  cancel_word:
    "was a request to cancel, which cannot be retried. To cancel a task, run sekisho tasks cancel.",
};

/** Completes the sentence "Task ID …" with the reason why it cannot be retried. Undefined if it can be retried. */
export function retryRefusal(task: Task): string | undefined {
  const obstacle = findRetryObstacle(task);
  if (obstacle === "open")
    return `has not ended yet (${task.state}). To cancel it, run sekisho tasks cancel.`;
  return obstacle && obstacles[obstacle];
}

const maxRetries = 100;

type Retry = {
  zone: { store: Pick<TaskZone["store"], "get"> } & Pick<TaskZone, "queue" | "sampleRatio">;
  task: Task;
};

/** For a task that can be retried. `retryOf` is the task that was retried first. */
export async function sendRetry({
  zone: { store, queue, sampleRatio = () => 1 },
  task,
}: Retry): Promise<{ requestId: string; retryOf: string }> {
  const retryOf = task.retryOf ?? task.id;
  for (let count = 1; count <= maxRetries; count += 1) {
    const requestId = retryIdOf({ originalId: retryOf, count });
    if ((await store.get({ id: requestId })) !== undefined) continue;
    const trace = createTrace({ sampleRatio: sampleRatio() });
    const ask = createRetry({ task, requestId, receivedAtMs: Date.now(), trace });
    await queue.send({ body: encodeQueueMessage(ask), group: task.message.team });
    return { requestId, retryOf };
  }
  throw new Error(`${retryOf} has been retried ${maxRetries} times. Ask again in Slack.`);
}
