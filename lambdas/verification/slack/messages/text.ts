/** The seam of all that a user reads: pure functions of the task's record, so that every try at a post says the same. */

import { safeLine } from "../../../shared/safe-characters.ts";
import type { Locale, Task } from "../../task/task.ts";
import type { Content } from "../api/slack.ts";

/** Why a button, or what came with an answer, did nothing; whoever pressed or wrote it is told, and nobody else. */
export type ButtonClickRefusal =
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
  /** The outcome in parts that Slack takes, at least one; of a task with `mrkdwnFallback` without blocks. */
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
  pressRefused(request: { refusal: ButtonClickRefusal; locale: Locale | undefined }): string;
};

// A text in one line without acting characters, and no longer than it may be.

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** At most `maxLength` UTF-16 units, an ellipsis included; what a reader sees as one character stays whole. */
export function shorten({ text, maxLength }: { text: string; maxLength: number }): string {
  const line = safeLine(text.slice(0, maxLength * 4).replace(/\s+/g, " ")).trim();
  if (line.length <= maxLength) return line;
  let kept = "";
  for (const { segment } of graphemes.segment(line.slice(0, maxLength + 1))) {
    if (kept.length + segment.length > maxLength - 1) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

// Moments and spans as people read them.

/**
 * A moment in the reader's own time zone (https://docs.slack.dev/messaging/formatting-message-text, "Date formatting");
 * for mrkdwn. What follows the bar stands where a client cannot show it.
 */
export function slackDate({ atMs, locale }: { atMs: number; locale: Locale }): string {
  const between = locale === "ja" ? " " : " at ";
  const fallback = `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return `<!date^${Math.floor(atMs / 1000)}^{date_short_pretty}${between}{time}|${fallback}>`;
}

type Unit = "second" | "minute" | "hour" | "day";
const units: readonly [Unit, number][] = [
  ["day", 24 * 3600_000],
  ["hour", 3600_000],
  ["minute", 60_000],
];
const japanese: Record<Unit, string> = { second: "秒", minute: "分", hour: "時間", day: "日" };

/** Rounded up, so that it is over when the reader's time is: `5 minutes`, `5分`. */
export function spanText({ spanMs, locale }: { spanMs: number; locale: Locale }): string {
  const [unit, unitMs] = units.find(([, ms]) => spanMs > ms) ?? (["second", 1000] as const);
  const count = Math.max(1, Math.ceil(spanMs / unitMs));
  return locale === "ja" ? `${count}${japanese[unit]}` : `${count} ${unit}${count === 1 ? "" : "s"}`;
}
