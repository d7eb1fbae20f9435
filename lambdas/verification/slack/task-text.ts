/** The seam of all that a user reads: pure functions of the task's record, so that every try at a post says the same. */

import type { Task } from "../task/task.ts";
import type { Locale } from "./failure-words.ts";
import type { Content } from "./slack.ts";

/** Why a button, or what came with an answer, did nothing; whoever pressed or wrote it is told, and nobody else. */
export type PressRefusal =
  | { type: "not_yours" }
  | { type: "answered"; by: string; atMs: number }
  | { type: "expired" }
  /** It was the button of a question that is no more. */
  | { type: "past" }
  /** The answer came with files, which cannot be brought to the agent. */
  | { type: "files_left" }
  | { type: "over" };

/** In the task's own `locale`, or the workspace's where it has none yet. */
export type TaskText = {
  /** The placeholder: queued, at work, with its progress; with a button to cancel. Carries the request id and `button` values. */
  placeholder(task: Task): Content;
  /** The outcome in parts that Slack takes, at least one; of a task that is `plain` without blocks. */
  parts(task: Task): Content[];
  /** The question of the agent: open with its buttons, or how it was answered, or that its time is over. `nowMs` decides the last. */
  question(request: { task: Task; nowMs: number }): Content;
  /** Stands in a message that is to go and that Slack does not delete. */
  replaced(task: Task): Content;
  /** What opens the thread of a slash command. */
  opening(task: Task): Content;
  /** The assistant's status while the task is under way. */
  status(task: Task): string;
  /** In mrkdwn. */
  pressRefused(request: { refusal: PressRefusal; locale: Locale | undefined }): string;
};
