/** Retries a task as a new one. */
import { createTrace } from "../../../lambdas/shared/telemetry/telemetry.ts";
import type { AskMessage } from "../../../lambdas/verification/task/messages.ts";
import { retryIdOf } from "../../../lambdas/verification/task/routing.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import type { TaskZone } from "./stored-task.ts";

/** Completes the sentence "Task ID …" with the reason why it cannot be retried. Undefined if it can be retried. */
export function retryRefusal({ state, message, outcome, call }: Task): string | undefined {
  if (state !== "done") return `has not ended yet (${state}). To cancel it, run sekisho tasks cancel.`;
  if (message.command) {
    return "was a slash command, which leaves no message to read again. Use the command again in Slack.";
  }
  if (message.hadFiles || (message.files?.length ?? 0) > 0) {
    return "had files, which are not kept. Ask its writer to send the message with its files again in Slack.";
  }
  if (outcome?.type === "canceling" || (message.unaddressed && call?.deadlineAtMs === undefined)) {
    return "was a request to cancel, which cannot be retried. To cancel a task, run sekisho tasks cancel.";
  }
  return undefined;
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
    // The worker reads the text from Slack again, so none is sent.
    const message = { ...task.message, text: "" };
    const trace = createTrace({ sampleRatio: sampleRatio() });
    const ask: AskMessage = { type: "ask", requestId, receivedAtMs: Date.now(), trace, message, retryOf };
    await queue.send({ body: JSON.stringify(ask), group: message.team });
    return { requestId, retryOf };
  }
  throw new Error(`${retryOf} has been retried ${maxRetries} times. Ask again in Slack.`);
}
