/** Decides what becomes of a queue message, by what is known about it. Pure: `handle.ts` does what is decided. */
import { isLateFiles, takesEffect } from "../../task/edited.ts";
import type { TaskEvent } from "../../task/events.ts";
import {
  type AskMessage,
  isSuperseded,
  type MessageChange,
  type TaskMessage,
} from "../../task/messages.ts";
import type { Task } from "../../task/task.ts";
import type { ClaimedTask } from "../step/lease.ts";
import { toLookDelayMs } from "./look-again.ts";
import { deferUntilLeaseEnds, type MessageCopy } from "./message-copy.ts";

type FirstMessage = AskMessage | MessageChange;

/** The facts about a received message. */
export type Facts = { nowMs: number } & (
  | ({ type: "recorded" } & Recorded)
  /** This worker has created the record. */
  | { type: "created"; message: FirstMessage; task: ClaimedTask }
  /** Without a mention. The bot was not asked in its thread, or that is undecided yet. */
  | { type: "unknown_thread"; message: FirstMessage; isUndecided: boolean }
  /** Its writer may not ask. */
  | { type: "ignored"; message: FirstMessage }
  /** It was deleted before it was handled. Its record is final. */
  | { type: "deleted"; message: FirstMessage }
  | { type: "unrecorded"; message: TaskMessage }
);

type Recorded<M extends TaskMessage = TaskMessage> = { message: M; task: Task; nowMs: number };

export type Decision =
  /** Another message of the task does its work, it comes too late to change anything, or it is not for the bot. */
  | { type: "drop" }
  /** Another worker holds the lease, or the thread may turn out to be one of the bot's. */
  | { type: "defer"; copy: MessageCopy }
  /**
   * Another worker holds the lease, and the agent is at work. The host is asked at once to cancel. The message comes again all the same,
   * because the call of that worker may have been answered before, and the next one may be minutes away.
   */
  | { type: "cancel_running"; task: Task; copy: MessageCopy }
  /** Another worker holds the lease and has not sent the task yet, so the files still reach it. */
  | { type: "add_files"; task: Task; change: MessageChange }
  /** The change of the message comes too late, and the thread says so. */
  | { type: "notice"; task: Task; change: MessageChange }
  /** The task moves one step. */
  | {
      type: "run";
      task: Task;
      /** The record that this worker has created. */
      record?: ClaimedTask;
      event: TaskEvent;
      /** True if the step may begin with an act that only reads, before it claims the lease. */
      mayLook: boolean;
      /** The change that is too late stands in for the wake-up of a worker that died. It comes again, so that the thread says so. */
      noticeFollows: boolean;
    };

const classifiers: {
  readonly [T in Facts["type"]]: (facts: Extract<Facts, { type: T }>) => Decision;
} = {
  recorded: classifyRecorded,
  created: beginTask,
  unknown_thread: lookAgain,
  ignored: drop,
  deleted: drop,
  unrecorded: drop,
};

export function classify<T extends Facts["type"]>(facts: Extract<Facts, { type: T }>): Decision {
  const classifyFacts: (typeof classifiers)[T] = classifiers[facts.type];
  return classifyFacts(facts);
}

type Timing = "timely" | "late" | "superseded";
/** `orphaned`: the lease is of a worker that died. */
type LeaseState = "free" | "held" | "orphaned";
type Row<M extends TaskMessage> = {
  readonly [S in LeaseState]: (recorded: Recorded<M>) => Decision;
};
type Table<M extends TaskMessage> = {
  readonly [T in Timing]: Row<M>;
};

const superseded: Row<TaskMessage> = { free: drop, held: drop, orphaned: drop };

const messageTable: Table<TaskMessage> = {
  timely: { free: run, held: wait, orphaned: run },
  late: { free: drop, held: waitUntilLeaseEnds, orphaned: wakeUp },
  superseded,
};

/** A change that is too late to take effect is still to be told. */
const changeTable: Table<MessageChange> = {
  timely: { free: run, held: addFilesOrWait, orphaned: run },
  late: { free: notice, held: wait, orphaned: wakeUp },
  superseded,
};

function classifyRecorded({ message, task, nowMs }: Recorded): Decision {
  return message.type === "message_change"
    ? decideBy(changeTable, { message, task, nowMs })
    : decideBy(messageTable, { message, task, nowMs });
}

function decideBy<M extends TaskMessage>(table: Table<M>, recorded: Recorded<M>): Decision {
  return table[timingOf(recorded)][leaseStateOf(recorded)](recorded);
}

function timingOf(recorded: Recorded): Timing {
  if (isSuperseded(recorded)) return "superseded";
  return isTooLate(recorded) ? "late" : "timely";
}

function leaseStateOf({ task: { lease }, nowMs }: Recorded): LeaseState {
  if (lease === undefined) return "free";
  return lease.untilMs > nowMs ? "held" : "orphaned";
}

/** True if the message comes too late to change anything by itself. */
function isTooLate({ message, task }: Recorded): boolean {
  switch (message.type) {
    case "thread_free":
      return task.state !== "queued" && task.state !== "received";
    case "message_change":
      return !takesEffect(task, message);
    case "cancel":
      return task.state === "delivering" || task.state === "done";
    default:
      return false;
  }
}

function drop(): Decision {
  return { type: "drop" };
}

function wait(recorded: Recorded): Decision {
  const { message, task } = recorded;
  const copy = deferUntilLeaseEnds({ ...recorded, isLate: false });
  const isRunning = task.state === "sent" || task.state === "waiting";
  return message.type === "cancel" && isRunning
    ? { type: "cancel_running", task, copy }
    : { type: "defer", copy };
}

function waitUntilLeaseEnds(recorded: Recorded): Decision {
  return { type: "defer", copy: deferUntilLeaseEnds({ ...recorded, isLate: true }) };
}

function addFilesOrWait(recorded: Recorded<MessageChange>): Decision {
  const { message, task } = recorded;
  return isLateFiles(message) ? { type: "add_files", task, change: message } : wait(recorded);
}

function notice({ message, task }: Recorded<MessageChange>): Decision {
  return { type: "notice", task, change: message };
}

function run({ message, task, nowMs }: Recorded): Decision {
  const workerDied = task.lease !== undefined;
  const event = toEvent(message, { nowMs, workerDied });
  // `early` is set on copies of a wake-up and of a completion push. Several may have the same number, so they claim first and one goes on.
  const mayLook = message.type === "wake" && message.early === undefined && !workerDied;
  return { type: "run", task, event, mayLook, noticeFollows: false };
}

/** It may be the message that the dead worker handled, and the only wake-up for a long time, so that even a late one wakes the task. */
function wakeUp({ message, task, nowMs }: Recorded): Decision {
  const noticeFollows = message.type === "message_change";
  const event = { type: "woken", nowMs, workerDied: true } as const;
  return { type: "run", task, event, mayLook: false, noticeFollows };
}

function beginTask({ task, nowMs }: Extract<Facts, { type: "created" }>): Decision {
  const event = { type: "woken", nowMs, workerDied: false } as const;
  return { type: "run", task, record: task, event, mayLook: false, noticeFollows: false };
}

function lookAgain(facts: Extract<Facts, { type: "unknown_thread" }>): Decision {
  const { message } = facts;
  const delayMs = toLookDelayMs(message, facts);
  const later = { ...message, looks: (message.looks ?? 0) + 1 };
  return delayMs === undefined
    ? drop()
    : { type: "defer", copy: { message: later, delayMs, group: message.message.team } };
}

function toEvent(message: TaskMessage, at: { nowMs: number; workerDied: boolean }): TaskEvent {
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
