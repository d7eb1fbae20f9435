/** When a message is delivered again that meets a lease: another worker's, or that of its own failed step. */
import type { TaskMessage } from "../task/messages.ts";
import type { Task } from "../task/task.ts";

/** How long a message waits after another worker's lease ends, or after another worker was first. */
export const soonAgainMs = 250;

/**
 * Copies a message that met a held lease, to be delivered when the lease ends. Some copies come sooner, with a doubling delay: a wake-up
 * whose number is above the record's, because its worker is about to save, and `cancel`, `thread_free` and `message_change`, which should not wait for
 * a long call. A message that is too late to change anything waits for the end.
 */
export function deferUntilLeaseEnds(request: {
  message: TaskMessage;
  task: Pick<Task, "wakeSeq">;
  lease: NonNullable<Task["lease"]>;
  isLate: boolean;
  nowMs: number;
}): { body: string; delayMs: number } {
  const { message, lease, isLate, nowMs } = request;
  const { wakeSeq } = request.task;
  const restMs = lease.untilMs - nowMs + soonAgainMs;
  if (isLate) return { body: JSON.stringify(message), delayMs: restMs };
  const isUrgent = message.type === "thread_free" || message.type === "cancel" || message.type === "message_change";
  if (isUrgent) return laterCopy(message, 500, restMs);
  if (message.type !== "wake" || message.seq <= wakeSeq) return { body: JSON.stringify(message), delayMs: restMs };
  return laterCopy(message, 50, restMs);
}

/** Copies a message with a delay that doubles each time. */
function laterCopy(
  message: Extract<TaskMessage, { type: "wake" | "cancel" | "thread_free" | "message_change" }>,
  firstMs: number,
  mostMs: number,
) {
  const early = (message.early ?? 0) + 1;
  return { body: JSON.stringify({ ...message, early }), delayMs: Math.min(mostMs, firstMs * 2 ** Math.min(early, 20)) };
}

/** A step failed after it had claimed the lease. No worker can go on before the lease ends, so its message need not come earlier. */
export class InterruptedStep extends Error {
  readonly leaseUntilMs: number;

  constructor({ leaseUntilMs, cause }: { leaseUntilMs: number; cause: unknown }) {
    super("The step was interrupted.", { cause });
    // The log shows the name, so it is the cause's.
    this.name = cause instanceof Error ? cause.name : "InterruptedStep";
    this.leaseUntilMs = leaseUntilMs;
  }
}
