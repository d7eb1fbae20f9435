/** Decides what becomes of a queue message whose task has a record. Pure: `worker.ts` does what is decided. */
import { isLateFiles, takesEffect } from "../task/edited.ts";
import type { TaskEvent } from "../task/events.ts";
import { isSuperseded, type MessageChange, type TaskMessage } from "../task/messages.ts";
import type { Task } from "../task/task.ts";
import { deferUntilLeaseEnds, type Lease, type Redelivery } from "./held-lease.ts";

export type Decision =
  /** Another message of the task does its work, or it comes too late to change anything. */
  | { type: "drop" }
  /** Another worker holds the lease. */
  | ({ type: "defer" } & Redelivery)
  /** Another worker holds the lease and has not sent the task yet, so the files still reach it. */
  | { type: "add_files"; change: MessageChange; lease: Lease }
  /** The change of the message comes too late, and the thread says so. */
  | { type: "notice"; change: MessageChange }
  /** The task moves one step. */
  | ({ type: "run" } & StepStart);

type StepStart = {
  event: TaskEvent;
  /** True if the step may begin with an act that only reads, before it claims the lease. */
  mayLook: boolean;
  /** A change that is too late stands in for the wake-up of a worker that died. It comes again, so that the thread says so. */
  isOwed: boolean;
};

export function classify(request: { message: TaskMessage; task: Task; nowMs: number }): Decision {
  const { message, task, nowMs } = request;
  const change = message.type === "message_change" ? message : undefined;
  const isLate = isTooLate(request);
  if (isSuperseded(request)) return { type: "drop" };
  if (task.lease !== undefined && task.lease.untilMs > nowMs) {
    return change !== undefined && isLateFiles(change) && !isLate
      ? { type: "add_files", change, lease: task.lease }
      : {
          type: "defer",
          // The change of a message that is too late to take effect is still to be told.
          ...deferUntilLeaseEnds({
            ...request,
            lease: task.lease,
            isLate: isLate && change === undefined,
          }),
        };
  }
  if (isLate && task.lease === undefined)
    return change === undefined ? { type: "drop" } : { type: "notice", change };
  return { type: "run", ...startOf({ message, nowMs, isLate, resumed: task.lease !== undefined }) };
}

/** A task whose record this worker has just created, with the message's new text and its own lease. */
export function beginTask(nowMs: number): Decision {
  const event = { type: "woken", nowMs, resumed: false } as const;
  return { type: "run", event, mayLook: false, isOwed: false };
}

/**
 * `resumed`: the lease is of a worker that died. This may be the message that it handled, and the only wake-up for a long time, so that
 * even a late one wakes the task.
 */
function startOf(request: {
  message: TaskMessage;
  nowMs: number;
  isLate: boolean;
  resumed: boolean;
}): StepStart {
  const { message, nowMs, isLate, resumed } = request;
  return {
    event: isLate ? { type: "woken", nowMs, resumed } : toEvent(message, { nowMs, resumed }),
    // A copy of a wake-up, and one of a completion push, claim the lease first, so that of many with one number one is worked at.
    mayLook: message.type === "wake" && message.early === undefined && !resumed,
    isOwed: isLate && message.type === "message_change",
  };
}

function toEvent(message: TaskMessage, at: { nowMs: number; resumed: boolean }): TaskEvent {
  switch (message.type) {
    case "message_change":
      return message.isDeleted
        ? { type: "message_deleted", ...at }
        : { type: "message_edited", message: message.message, ...at };
    case "cancel":
      return { type: "cancel_asked", ...at };
    case "redrive":
      return { type: "redriven", ...at };
    case "wake":
      return { type: "woken", ...at, polls: message.polls };
    default:
      return { type: "woken", ...at };
  }
}

/** True if the message comes too late to change anything by itself. */
function isTooLate({ message, task }: { message: TaskMessage; task: Task }): boolean {
  if (message.type === "thread_free") return task.state !== "queued" && task.state !== "received";
  if (message.type === "message_change") return !takesEffect(task, message);
  return message.type === "cancel" && (task.state === "delivering" || task.state === "done");
}
