/** Copies of messages that are handled later: when, and in which group of the queue. The queue itself delivers the originals again. */
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { encodeQueueMessage } from "../../task/encode-message.ts";
import type { QueueMessage, TaskMessage } from "../../task/messages.ts";
import { queueGroupOf, type Task } from "../../task/task.ts";

export type MessageCopy = { message: QueueMessage; delayMs: number; group: string };

/** How long a message waits after another worker's lease ends, or after another worker was first. */
export const soonAgainMs = 250;

export async function sendCopy(
  queue: TaskQueue,
  { message, delayMs, group }: MessageCopy,
): Promise<void> {
  await queue.send({ body: encodeQueueMessage(message), delayMs, group });
}

/** The message of a worker that was not the first is handled again with the record that the other one saved. */
export function retrySoon(message: TaskMessage, task: Task): MessageCopy {
  return { message, delayMs: soonAgainMs, group: queueGroupOf(task) };
}

/** A little longer than the lease of another worker lasts. */
export function untilLeaseEndMs({ lease }: Task, nowMs: number): number {
  return (lease?.untilMs ?? nowMs) - nowMs + soonAgainMs;
}

/**
 * Copies a message that met a held lease, to be delivered when the lease ends. Some copies come sooner, with a doubling delay: a wake-up
 * whose number is above the record's, because its worker is about to save, and `cancel`, `thread_free` and `message_change`, which should
 * not wait for a long call. A message that is too late to change anything waits for the end.
 */
export function deferUntilLeaseEnds(request: {
  message: TaskMessage;
  task: Task;
  isLate: boolean;
  nowMs: number;
}): MessageCopy {
  const { message, task, isLate, nowMs } = request;
  const maxMs = untilLeaseEndMs(task, nowMs);
  const group = queueGroupOf(task);
  const isEarlyWake = message.type === "wake" && message.seq > task.wakeSeq;
  const isUrgent =
    message.type === "thread_free" ||
    message.type === "cancel" ||
    message.type === "message_change";
  if (isLate || !(isUrgent || isEarlyWake)) return { message, delayMs: maxMs, group };
  const early = (message.early ?? 0) + 1;
  const delayMs = Math.min(maxMs, (isUrgent ? 500 : 50) * 2 ** Math.min(early, 20));
  return { message: { ...message, early }, delayMs, group };
}
