/** The seam of all that is decided about persons: who may ask, answer and cancel, how much, and in which language they read. */

import type { Locale } from "../slack/failure-words.ts";
import type { Installation } from "../slack/slack.ts";
import type { AskedMessage } from "../task/messages.ts";
import type { Task } from "../task/task.ts";

/** Too much was asked for: by one user, or in one channel. Without `retryAtMs` it is that too many are under way at once. */
export type OverQuota = { by: "user" | "channel"; retryAtMs?: number | undefined };

/** Every method rejects where store or Slack are away and nothing is known, and may then be repeated. */
export type Gate = {
  /** Never lets in whom no rule fits, nor whom it cannot find out about. */
  permit(request: {
    message: AskedMessage;
    requestId: string;
    signal: AbortSignal;
  }): Promise<{ allowed: boolean; locale: Locale }>;
  mayCancel(request: { task: Task; user: string; signal: AbortSignal }): Promise<boolean>;
  /** By the `questions.answerBy` of the task's destination. */
  mayAnswer(request: { task: Task; user: string; signal: AbortSignal }): Promise<boolean>;
  localeOf(request: {
    installation: Installation;
    user: string;
    requestId: string;
    signal: AbortSignal;
  }): Promise<Locale>;
  /** Counts the task, once however often it is asked; it counts as under way until it is released, or until `untilMs`. */
  charge(request: { task: Task; untilMs: number }): Promise<OverQuota | undefined>;
  release(request: { task: Task }): Promise<void>;
};
