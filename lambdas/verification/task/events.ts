/** What can happen to a task, and what the task machine can ask for. Plain data on both sides. */
import type { ClientReason } from "../../../contracts/errors.ts";
import type { TaskResult } from "../../../contracts/methods.ts";
import type { SlackErrorKind } from "../slack/slack.ts";

export type TaskEvent =
  /** A wake-up arrived and the lease is ours. `resumed`: the worker before us died while it acted. */
  | { type: "woken"; nowMs: number; resumed: boolean }
  | { type: "announced"; nowMs: number; ts: string }
  | { type: "answered"; nowMs: number; result: TaskResult }
  | { type: "call_failed"; nowMs: number; act: "send" | "poll" | "cancel"; error: CallFailure }
  | { type: "canceled"; nowMs: number }
  | { type: "delivered" }
  | { type: "swept" }
  | { type: "slack_failed"; nowMs: number; kind: SlackErrorKind; retryAfterMs?: number | undefined }
  /** The queue gave up on the task's wake-up. */
  | { type: "dead_lettered" }
  /** An operator wants it to go on; the lease is ours. */
  | { type: "redriven"; nowMs: number; resumed: boolean };

/** A SekishoError as data. `retryable`: certainly not processed, may be repeated with the same id. */
export type CallFailure = {
  reason: ClientReason;
  retryable: boolean;
  retryAfterMs?: number | undefined;
  lost: boolean;
};

/**
 * At most one act at a time, then at most one `wake`. `heal`: an earlier try may have left something behind, look first.
 * Each act ends in exactly one event; `stop_session` and `wake` end in none.
 */
export type TaskEffect =
  | { type: "announce"; heal: boolean }
  | { type: "send" }
  | { type: "poll"; by: "task_id" | "request_id" }
  | { type: "cancel" }
  | { type: "deliver"; heal: boolean }
  | { type: "sweep" }
  | { type: "stop_session" }
  | { type: "wake"; delayMs: number };
