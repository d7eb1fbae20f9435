/** What can happen to a task, and what the task machine can ask for. Plain data on both sides. */
import type { ClientReason } from "../../../contracts/errors.ts";
import type { ExecuteTaskParams, TaskResult } from "../../../contracts/methods.ts";
import type { Locale, Task, TaskOutcome } from "./task.ts";

/**
 * `gone`: nobody can post there any more (channel, permission, token): terminal.
 * `no_such_message`: that message cannot be edited or deleted (any more): post anew.
 * `refused`: Slack refuses the content or the call for good, or the call cannot be encoded: terminal for this content.
 * `rate_limited` and `unavailable`: certainly not done; repeat later.
 * `ambiguous`: a time-out, a reset or a 5xx: it may have been done.
 */
export type SlackErrorKind = "gone" | "no_such_message" | "refused" | "rate_limited" | "unavailable" | "ambiguous";

/** Too much was asked for: by one user, or in one channel. Without `retryAtMs` it is that too many are under way at once. */
export type OverQuota = { by: "user" | "channel"; retryAtMs?: number | undefined };

/** `queuePosition` tasks go before it, at the longest until `freeAtMs`; with 0 it may begin. */
export type ThreadPosition = { queuePosition: number; freeAtMs: number };

export type Delay = { delayMs: number; jitterMs?: number };

/** The acts that call the Execution zone. */
export type CallAct = "send" | "poll" | "cancel" | "answer";

export type TaskEvent =
  /** A wake-up arrived and the lease is ours. `resumed`: the worker before us died while it acted. */
  | { type: "woken"; nowMs: number; resumed: boolean }
  /** Whether the person may ask, and the language to tell them in. */
  | { type: "permitted"; nowMs: number; allowed: boolean; locale: Locale }
  /** The person was told that they may not ask, as far as they are to be told. */
  | { type: "refusal_shown" }
  /** Whether the message was an answer that its thread waits for. It may wait for another person's, or for one that says something. */
  | { type: "reply_given"; nowMs: number; verdict: "taken" | "none" | "not_yours" | "says_nothing" }
  /** It is counted, or too much was asked for. */
  | { type: "charged"; over: OverQuota | undefined }
  /** There is a thread for what has none of its own. */
  | { type: "thread_opened"; place: NonNullable<Task["place"]> }
  /** The task has its place in the thread; with nobody ahead it may begin. */
  | ({ type: "thread_joined"; nowMs: number } & ThreadPosition)
  /** Too many wait in the thread already. */
  | { type: "thread_full" }
  | { type: "announced"; nowMs: number; ts: string }
  /** What goes along with the message. */
  | { type: "prepared"; context: Context }
  | { type: "file_refused"; outcome: Extract<TaskOutcome, { type: "file_refused" }> }
  | { type: "answered"; nowMs: number; act: CallAct; result: TaskResult }
  | { type: "call_failed"; nowMs: number; act: CallAct; error: CallFailure }
  /** All calls that the destination may have at once are under way: nothing was sent. There is likely room after `delayMs`. */
  | { type: "busy"; delayMs: number }
  /** The thread shows how far it is, as far as Slack took it. */
  | { type: "progress_shown"; nowMs: number; shown: ProgressShown }
  /** Replies in the thread are answers to the task's question from now on. */
  | { type: "thread_held" }
  | { type: "question_asked"; nowMs: number; ts: string }
  /** The message of the question says how it was answered. */
  | { type: "question_shown"; nowMs: number }
  | { type: "canceled"; nowMs: number }
  /** The text of the message that is to be tried again; undefined where it is gone. */
  | { type: "message_read"; nowMs: number; text: string | undefined }
  /** So many tasks of the thread are asked to end. */
  | { type: "thread_canceled"; count: number; isRepeated: boolean }
  /** Slack has the file of that index (undefined: it cannot have it), and nobody sees it yet. */
  | { type: "uploaded"; index: number; fileId: string | undefined }
  | { type: "delivered" }
  /** Slack does not let the files into the thread; the answer's words are there, or not yet. */
  | { type: "share_refused" }
  | { type: "thread_left" }
  | { type: "cleaned_up" }
  | { type: "slack_failed"; nowMs: number; act: Act["type"]; kind: SlackErrorKind; retryAfterMs?: number | undefined }
  /** Our own code failed on the task's data. `causeKind` is the class of the error. */
  | { type: "step_failed"; nowMs: number; causeKind: string }
  /** The queue gave up on the task's wake-up. */
  | { type: "dead_lettered"; nowMs: number }
  /** Somebody wants it to end; the lease is ours. */
  | { type: "cancel_asked"; nowMs: number; resumed: boolean }
  /** An operator wants it to go on; the lease is ours. */
  | { type: "redriven"; nowMs: number; resumed: boolean };

export type EventOf<E extends TaskEvent["type"]> = Extract<TaskEvent, { type: E }>;

/** A result of the Execution zone: the task is taken and has no outcome yet. */
export type AcceptedResult = Extract<TaskResult, { status: "accepted" }>;
export type InputRequiredResult = Extract<TaskResult, { status: "input_required" }>;

/** The earlier messages of the thread, and the files of the message where the Execution zone can read them. */
export type Context = Pick<ExecuteTaskParams, "history" | "attachments">;

/** What became of showing progress. `delayMs`: Slack wants to be left alone for that long. */
export type ProgressShown = { stream?: Task["stream"]; inDoubt?: boolean; delayMs?: number | undefined };

/**
 * A SekishoError as data. `retryable`: certainly not processed, may be repeated with the same id. `undelivered`: it certainly
 * left nothing at the destination either, so that another one may be tried. `unread`: the response could not be read, so it says
 * nothing of the task.
 */
export type CallFailure = {
  reason: ClientReason;
  retryable: boolean;
  undelivered: boolean;
  unread?: boolean | undefined;
  retryAfterMs?: number | undefined;
  lost: boolean;
  /** The task is over there with something unusable: asking again brings the same. */
  endsTask?: boolean | undefined;
};

/**
 * At most one act at a time, then at most one `wake`. `reconcile`: an earlier try may have left something behind, look first.
 * Each act ends in exactly one event; `stop_session` and `wake` end in none.
 */
export type TaskEffect =
  | { type: "permit" }
  | { type: "refuse" }
  | { type: "give_reply"; reconcile: boolean }
  | { type: "charge"; untilMs: number }
  /** `privately`: where only the person reads it. */
  | { type: "open_thread"; privately: boolean; reconcile: boolean }
  | { type: "join_thread"; turnMs: number; parallel: boolean }
  | { type: "leave_thread" }
  | { type: "cancel_thread" }
  | { type: "read_message" }
  | { type: "announce"; reconcile: boolean }
  | { type: "prepare" }
  | { type: "send" }
  | { type: "poll"; by: "task_id" | "request_id" }
  | { type: "show_progress" }
  | { type: "hold_thread"; untilMs: number }
  | { type: "ask_question"; reconcile: boolean }
  | { type: "show_question" }
  | { type: "answer" }
  | { type: "cancel" }
  | { type: "upload"; index: number }
  | { type: "deliver"; reconcile: boolean }
  | { type: "clean_up" }
  | { type: "stop_session" }
  | ({ type: "wake" } & Delay);

/** The effects that end in an event. */
export type Act = Exclude<TaskEffect, { type: "wake" | "stop_session" }>;
