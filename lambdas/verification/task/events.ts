/** The events and effects of the task machine, as plain data. */
import type { Certainty, ClientReason } from "@sekisho/contracts/errors.ts";
import type { ExecuteTaskParams, TaskResult } from "@sekisho/contracts/methods.ts";
import type { UserFile, UserMessage } from "./messages.ts";
import type { Locale, Task, TaskOutcome, ThreadRoute } from "./task.ts";

/**
 * `gone`: posting there is no longer possible (channel, permission, token). Terminal.
 * `no_such_message`: the message cannot be edited or deleted. Post a new one.
 * `refused`: Slack refuses the content or the call for good, or the call cannot be encoded: terminal for this content.
 * `rate_limited` and `unavailable`: certainly not done; repeat later.
 * `ambiguous`: a time-out, a reset or a 5xx: it may have been done.
 */
export type SlackErrorKind =
  | "gone"
  | "no_such_message"
  | "refused"
  | "rate_limited"
  | "unavailable"
  | "ambiguous";

/** A quota of a user, of a channel or of other bots is used up. Without `retryAtMs` too many tasks are under way at once. */
export type OverQuota = { by: "user" | "channel" | "bots"; retryAtMs?: number | undefined };

/**
 * `queuePosition` tasks go before the task, until `freeAtMs` at the latest. With 0 it may begin. `routes` are those of the thread, with the
 * one that the task chose.
 */
export type ThreadPosition = {
  queuePosition: number;
  freeAtMs: number;
  routes: readonly ThreadRoute[];
};

export type Delay = { delayMs: number; jitterMs?: number };

/** The acts that call the Execution zone. */
export type CallAct = "send" | "poll" | "cancel" | "answer";

export type TaskEvent =
  /**
   * A wake-up arrived. `workerDied`: the former worker died during an act, and its message came again. `polls`: the number of polls so far, where the wake-up says more of
   * them than the record.
   */
  | { type: "woken"; nowMs: number; workerDied: boolean; polls?: number | undefined }
  /** `allowed`: the person may ask. `locale` is the language of texts to them. `isExternal`: they may ask where no others read along. */
  | { type: "permitted"; nowMs: number; allowed: boolean; locale: Locale; isExternal?: boolean }
  /** The refusal was shown to the person, or was left out because of the limit on refusals. */
  | { type: "refusal_shown" }
  /** The gate looked for a question in the message's thread. `taken`: the message answered it; `none`: there is none; `not_yours`: another person is asked; `says_nothing`: it has no text; `use_buttons`: the question needs a click, as its writer was told. */
  | {
      type: "reply_given";
      nowMs: number;
      decision: "taken" | "none" | "not_yours" | "says_nothing" | "use_buttons";
    }
  /** The task is counted in its quotas, or a quota is used up. */
  | { type: "charged"; over: OverQuota | undefined }
  /** A thread was opened for a slash command. */
  | { type: "thread_opened"; threadRef: NonNullable<Task["threadRef"]> }
  /** The task has its position in the thread. With position 0 it may begin. */
  | ({ type: "thread_joined"; nowMs: number } & ThreadPosition)
  /** No route fits the message, so it has no position in the thread. */
  | { type: "no_route" }
  /** Too many tasks wait in the thread. */
  | { type: "thread_full" }
  | { type: "announced"; nowMs: number; ts: string }
  /** The thread's history and the message's files were gathered. */
  | { type: "prepared"; context: Context }
  | { type: "file_refused"; outcome: Extract<TaskOutcome, { type: "file_refused" }> }
  | { type: "answered"; nowMs: number; act: CallAct; result: TaskResult }
  | { type: "call_failed"; nowMs: number; act: CallAct; error: CallFailure }
  /** Nothing was sent, because the destination is at its limit of concurrent calls. There is likely room after `delayMs`. */
  | { type: "busy"; delayMs: number }
  /** No file was transferred, because the destination has its share of transfers. There is likely room after `delayMs`. */
  | { type: "transfer_busy"; nowMs: number; delayMs: number }
  /** The thread shows the progress, unless Slack refused it. */
  | { type: "progress_shown"; nowMs: number; shown: ProgressShown }
  /** Replies in the thread count as answers to the task's question from now on. */
  | { type: "thread_held" }
  | { type: "question_asked"; nowMs: number; ts: string }
  /** The question's message shows its current state. */
  | { type: "question_shown"; nowMs: number }
  | { type: "canceled"; nowMs: number }
  /** The message that is tried again, or that a person asks about. */
  | ({ type: "message_read"; nowMs: number } & MessageRead)
  /** What the bot says about itself to the person, in mrkdwn. */
  | { type: "help_written"; text: string }
  /** `count` tasks of the thread were asked to end. `isRepeated`: an earlier message had asked all of them. */
  | { type: "thread_canceled"; count: number; isRepeated: boolean }
  /** Slack has the file of that index, not yet shared (`fileId` undefined: it cannot be uploaded). */
  | { type: "uploaded"; index: number; fileId: string | undefined }
  /** The address of the file of that index did not respond in time. */
  | { type: "fetch_timed_out"; index: number }
  | { type: "delivered" }
  /** Slack does not let the files into the thread. The answer's text may be there already. */
  | { type: "share_refused" }
  | { type: "thread_left" }
  /** The thread shows the outcome, and nothing of the task that does not belong there. */
  | { type: "cleaned_up" }
  /** The thread shows something of the task that does not belong there. */
  | { type: "leftovers_found" }
  | {
      type: "slack_failed";
      nowMs: number;
      act: Act["type"];
      kind: SlackErrorKind;
      retryAfterMs?: number | undefined;
      /** Slack's rate limit met a read of the task's thread. */
      isReadLimited?: boolean;
    }
  /** Sekisho's own code failed on the task's data. `causeKind` is the class of the error. */
  | { type: "step_failed"; nowMs: number; causeKind: string }
  /** The queue gave up on the task's wake-up. */
  | { type: "dead_lettered"; nowMs: number }
  /** A person asked to cancel the task. This worker holds the lease. */
  | { type: "cancel_asked"; nowMs: number; workerDied: boolean }
  /** The message was edited, or completed with its files, before it was sent. This worker holds the lease. */
  | { type: "message_edited"; nowMs: number; workerDied: boolean; message: UserMessage }
  /** The message was deleted before it was sent. This worker holds the lease. */
  | { type: "message_deleted"; nowMs: number; workerDied: boolean }
  /** An operator redrives the task. This worker holds the lease. */
  | { type: "redriven"; nowMs: number; workerDied: boolean };

export type EventOf<E extends TaskEvent["type"]> = Extract<TaskEvent, { type: E }>;

/** A result of the Execution zone: the task is accepted and has no outcome yet. */
export type AcceptedResult = Extract<TaskResult, { status: "accepted" }>;

/** The member of a large `accepted` result that says how many bytes the whole answer had. */
export const answerBytesMember = "answer_bytes";
/** More than the longest texts and steps of an agent's progress take. */
export const minLargeAnswerBytes = 64 * 1024;

export type InputRequiredResult = Extract<TaskResult, { status: "input_required" }>;

/**
 * The earlier messages of the thread, the message's files in a store that the Execution zone can read, and what the agent gets to know about
 * channel and person. `newest`: the message as it is now, if it was read from Slack and may have changed while the task waited. `names`
 * are those of the ids in the text.
 */
export type Context = Pick<ExecuteTaskParams, "history" | "attachments" | "context"> & {
  newest?: MessageRead | undefined;
  names?: Readonly<Record<string, string>> | undefined;
  /** The names of files of forwarded or earlier messages that could not be attached. */
  leftOut?: readonly string[] | undefined;
};

/**
 * How an attempt to show progress ended. `inDoubt`: an edit may still arrive. `delayMs`: it was not shown and may be after this time.
 * `isStopped`: a person has stopped the stream.
 */
export type ProgressShown = {
  stream?: Task["stream"];
  inDoubt?: boolean;
  delayMs?: number | undefined;
  isStopped?: boolean;
};

/** A SekishoError as data. */
export type CallFailure = {
  reason: ClientReason;
  certainty: Certainty;
  retryAfterMs?: number | undefined;
  lost: boolean;
  /** The agent's own words about why it failed. */
  explanation?: string | undefined;
};

/**
 * The task machine returns at most one act at a time, and at most one `wake`. `reconcile`: an earlier try may have posted, so look first.
 * Each act ends in exactly one event. `stop_session` and `wake` end in none. A `wake` with `polls` may carry that number instead of the
 * record, because nothing else has changed.
 */
export type TaskEffect =
  | { type: "permit" }
  | { type: "refuse" }
  | { type: "give_reply"; reconcile: boolean }
  | { type: "charge"; untilMs: number }
  /** `privately`: in the direct message with the person. */
  | { type: "open_thread"; privately: boolean; reconcile: boolean }
  | { type: "join_thread" }
  | { type: "leave_thread" }
  | { type: "cancel_thread" }
  | { type: "read_message" }
  | { type: "write_help" }
  | { type: "announce"; reconcile: boolean }
  /** With `history`, the whole direct message is the conversation, and not only the message's thread. */
  | { type: "prepare"; history?: "direct_message" }
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
  | { type: "check_thread" }
  | { type: "clean_up" }
  | { type: "stop_session" }
  | ({ type: "wake"; polls?: number } & Delay);

/** The effects that end in an event. */
export type Act = Exclude<TaskEffect, { type: "wake" | "stop_session" }>;

/** The text and the files of a message that is tried again, or what of it Slack no longer has. */
export type MessageRead =
  | { text: string; files: readonly UserFile[]; sharedFiles?: readonly UserFile[] }
  | { lack: "message" | "files" };
