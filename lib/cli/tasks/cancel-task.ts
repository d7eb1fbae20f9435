/** Asks a zone to cancel a task, and waits until it is over. */

import { setTimeout } from "node:timers/promises";
import { encodeQueueMessage } from "@sekisho/verification/task/encode-message.ts";
import type { QueueMessage } from "@sekisho/verification/task/messages.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { TaskZone } from "./stored-task.ts";
import { describeOutcome } from "./text.ts";

/** Returns the outcome if the task has already ended, and undefined if it can be canceled. */
export function cancelRefusal(task: Task): string | undefined {
  return describeOutcome(task);
}

/** Only sends a queue message. The worker cancels the task and posts the outcome in the thread. */
export async function sendCancel({
  zone,
  task,
}: {
  zone: Pick<TaskZone, "queue">;
  task: Task;
}): Promise<void> {
  const message: QueueMessage = { type: "cancel", requestId: task.id };
  await zone.queue.send({ body: encodeQueueMessage(message), group: task.message.team });
}

type EndOfTask = {
  zone: { store: Pick<TaskZone["store"], "get"> };
  task: Task;
  timeoutMs: number;
  pollMs?: number;
  signal: AbortSignal;
  /** Called with each new state. */
  onChange: (task: Task) => void;
};

/** Resolves to the latest record, which is not `done` if `timeoutMs` end first. Rejects when the signal aborts. */
export async function waitForEnd({
  zone,
  task: first,
  timeoutMs,
  pollMs = 500,
  signal,
  onChange,
}: EndOfTask) {
  const tooLate = AbortSignal.timeout(timeoutMs);
  let task = first;
  while (task.state !== "done" && !tooLate.aborted) {
    await setTimeout(pollMs, undefined, { signal });
    const latest = (await zone.store.get({ id: task.id }))?.task ?? task;
    if (latest.state !== task.state) onChange(latest);
    task = latest;
  }
  return task;
}
