/** What can happen to a task, and what the task machine can ask for. Plain data on both sides. */
import type { ClientReason } from "../../../contracts/errors.ts";
import type { TaskResult } from "../../../contracts/methods.ts";
import type { SlackErrorKind } from "../slack/slack.ts";
import type { Delay } from "./delays.ts";
import type { Place } from "./thread.ts";

export type TaskEvent =
  /** A wake-up arrived and the lease is ours. `resumed`: the worker before us died while it acted. */
  | { type: "woken"; nowMs: number; resumed: boolean }
  /** The task has its place in the thread; with nobody ahead it may begin. */
  | ({ type: "lined_up"; nowMs: number } & Place)
  /** Too many wait in the thread already. */
  | { type: "thread_full" }
  | { type: "announced"; nowMs: number; ts: string }
  | { type: "answered"; nowMs: number; result: TaskResult }
  | { type: "call_failed"; nowMs: number; act: "send" | "poll" | "cancel"; error: CallFailure }
  /** All calls that the destination may have at once are under way: nothing was sent. There is likely room after `delayMs`. */
  | { type: "busy"; delayMs: number }
  | { type: "canceled"; nowMs: number }
  /** The text of the message that is to be tried again; undefined where it is gone. */
  | { type: "message_read"; nowMs: number; text: string | undefined }
  /** So many tasks of the thread are asked to end. */
  | { type: "thread_canceled"; count: number }
  | { type: "delivered" }
  | { type: "left_thread" }
  | { type: "swept" }
  | { type: "slack_failed"; nowMs: number; kind: SlackErrorKind; retryAfterMs?: number | undefined }
  /** The queue gave up on the task's wake-up. */
  | { type: "dead_lettered"; nowMs: number }
  /** Somebody wants it to end; the lease is ours. */
  | { type: "cancel_asked"; nowMs: number; resumed: boolean }
  /** An operator wants it to go on; the lease is ours. */
  | { type: "redriven"; nowMs: number; resumed: boolean };

/**
 * A SekishoError as data. `retryable`: certainly not processed, may be repeated with the same id. `undelivered`: it certainly
 * left nothing at the destination either, so that another one may be tried.
 */
export type CallFailure = {
  reason: ClientReason;
  retryable: boolean;
  undelivered: boolean;
  retryAfterMs?: number | undefined;
  lost: boolean;
};

/**
 * At most one act at a time, then at most one `wake`. `heal`: an earlier try may have left something behind, look first.
 * Each act ends in exactly one event; `stop_session` and `wake` end in none.
 */
export type TaskEffect =
  | { type: "line_up"; turnMs: number; parallel: boolean }
  | { type: "leave_thread" }
  | { type: "cancel_thread" }
  | { type: "read_message" }
  | { type: "announce"; heal: boolean }
  | { type: "send" }
  | { type: "poll"; by: "task_id" | "request_id" }
  | { type: "cancel" }
  | { type: "deliver"; heal: boolean }
  | { type: "sweep" }
  | { type: "stop_session" }
  | ({ type: "wake" } & Delay);
