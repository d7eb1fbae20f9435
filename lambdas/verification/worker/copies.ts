/** Copies of messages that come too early, pure: when each is to come again. */
import type { TaskMessage } from "../task/messages.ts";
import type { Task } from "../task/task.ts";

/** How long a copy waits beyond the lease that it met, or where someone else was first. */
export const soonAgainMs = 250;

/**
 * Held by a worker that acts: the copy comes when the lease is over. But a wake-up ahead of the record was sent by a worker
 * that is only about to save, and a turn or the wish to cancel is not to wait for the end of a long call: such come again
 * soon, and later each time, in case that worker died in between.
 */
export function copyPastLease({
  message,
  task: { wakeSeq },
  lease,
  nowMs,
}: {
  message: TaskMessage;
  task: Pick<Task, "wakeSeq">;
  lease: NonNullable<Task["lease"]>;
  nowMs: number;
}): { body: string; delayMs: number } {
  const restMs = lease.untilMs - nowMs + soonAgainMs;
  if (message.type === "turn") return { body: JSON.stringify(message), delayMs: Math.min(restMs, 1000) };
  if (message.type === "cancel") return laterCopy({ message, firstMs: 500, mostMs: restMs });
  if (message.type !== "wake" || message.seq <= wakeSeq) return { body: JSON.stringify(message), delayMs: restMs };
  return laterCopy({ message, firstMs: 50, mostMs: restMs });
}

/** Comes after twice the time each time. */
function laterCopy({
  message,
  firstMs,
  mostMs,
}: {
  message: Extract<TaskMessage, { type: "wake" | "cancel" }>;
  firstMs: number;
  mostMs: number;
}): { body: string; delayMs: number } {
  const early = (message.early ?? 0) + 1;
  return { body: JSON.stringify({ ...message, early }), delayMs: Math.min(mostMs, firstMs * 2 ** Math.min(early, 20)) };
}
