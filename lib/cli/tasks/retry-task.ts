import { createTrace } from "../../../lambdas/shared/telemetry/telemetry.ts";
import type { AskMessage } from "../../../lambdas/verification/task/messages.ts";
import { retryIdOf } from "../../../lambdas/verification/task/routing.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { TaskPlace } from "./stored-task.ts";

/** What keeps it from being tried again, behind the task's name, with what to do instead; undefined where it can be. */
export function retryRefusal(task: Task): string | undefined {
  if (task.state !== "done") return `is not over yet (${task.state}). sekisho tasks cancel ends it.`;
  if (task.message.command) {
    return "was a slash command, which leaves no message to be read again. Use the command once more.";
  }
  if (task.outcome?.type === "canceling" || (task.message.unaddressed && task.call?.deadlineAtMs === undefined)) {
    return "was the word to cancel. sekisho tasks cancel ends a task.";
  }
  return undefined;
}

/** Of a task that can be retried. `retryOf` is the first of the row of retries. */
export async function sendRetry({
  place,
  task,
  now = Date.now,
}: {
  place: { store: Pick<TaskPlace["store"], "get"> } & Pick<TaskPlace, "queue" | "sampleRatio">;
  task: Task;
  now?: () => number;
}): Promise<{ requestId: string; retryOf: string }> {
  const retryOf = task.retryOf ?? task.id;
  const requestId = await newRetryId({ place, originalId: retryOf });
  // Whatever is left of the text: it is read anew from Slack.
  const message = { ...task.message, text: "" };
  const trace = createTrace({ sampleRatio: place.sampleRatio?.() ?? 1 });
  const ask: AskMessage = { type: "ask", requestId, receivedAtMs: now(), trace, message, retryOf };
  await place.queue.send({ body: JSON.stringify(ask), group: message.team });
  return { requestId, retryOf };
}

const maxRetries = 100;

/** The first in the row of its retries that has no record. */
async function newRetryId({
  place,
  originalId,
}: {
  place: { store: Pick<TaskPlace["store"], "get"> };
  originalId: string;
}): Promise<string> {
  for (let count = 1; count <= maxRetries; count += 1) {
    const id = retryIdOf({ originalId, count });
    if ((await place.store.get({ id })) === undefined) return id;
  }
  throw new Error(`${originalId} has been retried ${maxRetries} times. Ask anew in Slack.`);
}
