/**
 * The few kinds of blocks that messages are made of (https://docs.slack.dev/reference/block-kit/blocks) and short texts, within Slack's
 * limits; and the marks by which Sekisho knows its own messages again: the value of a button, and the number of a post's part.
 */

import { sanitizeLine } from "../../../shared/untrusted-input.ts";
import type { Locale } from "../../task/task.ts";
import type { SlackBlock } from "../api/slack.ts";
import { splitAnswer } from "./split.ts";

const maxSectionLength = 2900;
const maxContextLength = 1900;
const maxLabelLength = 75;
export const maxButtons = 25;

/** `text` is Markdown that is safe already, of at most `maxMarkdownLength`. */
export function markdownBlock(text: string): SlackBlock {
  return { type: "markdown", text };
}

/** `text` is mrkdwn; what is too long is cut. */
export function section(text: string): SlackBlock {
  return { type: "section", text: { type: "mrkdwn", text: cut({ text, maxLength: maxSectionLength }) } };
}

/** The small grey line. `text` is mrkdwn; what is too long is cut. */
export function context(text: string): SlackBlock {
  return { type: "context", elements: [{ type: "mrkdwn", text: cut({ text, maxLength: maxContextLength }) }] };
}

export type ButtonLook = Button & { label: string; style?: string | undefined };

/** At most `maxButtons` of them are shown. */
export function buttons(looks: readonly ButtonLook[]): SlackBlock {
  return { type: "actions", elements: looks.slice(0, maxButtons).map(element) };
}

/** Slack refuses a style that it does not know. */
function element({ label, style, ...button }: ButtonLook): Record<string, unknown> {
  return {
    type: "button",
    text: { type: "plain_text", text: shorten({ text: label, maxLength: maxLabelLength }), emoji: true },
    ...encodeButton(button),
    ...(style === "primary" || style === "danger" ? { style } : {}),
  };
}

/** The beginning of a text in mrkdwn or Markdown, with an ellipsis where that is not all of it. */
export function cut({ text, maxLength }: { text: string; maxLength: number }): string {
  if (text.length <= maxLength) return text;
  // What is not shown need not be read: a text may be as long as a response.
  const [beginning = ""] = splitAnswer({ text: text.slice(0, maxLength * 2), maxLength: maxLength - 3 });
  return `${beginning}\n…`;
}

// Marked as free of effects, so that a bundle that does not use it leaves it out.
const graphemes = /* @__PURE__ */ new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** At most `maxLength` UTF-16 units, an ellipsis included; what a reader sees as one character stays whole. */
export function shorten({ text, maxLength }: { text: string; maxLength: number }): string {
  const line = sanitizeLine(text.slice(0, maxLength * 4).replace(/\s+/g, " ")).trim();
  if (line.length <= maxLength) return line;
  let kept = "";
  for (const { segment } of graphemes.segment(line.slice(0, maxLength + 1))) {
    if (kept.length + segment.length > maxLength - 1) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

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

export type Button = {
  requestId: string;
  /** `question` and `option` count from 0. */
  button: { type: "cancel" } | { type: "answer"; question: number; option: number };
};

const cancelAction = "sekisho_cancel";
const answerAction = "sekisho_answer_";
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const maxValueLength = 200;

/** What a pressed button says, or nothing where it is none of ours: a value is exactly what `encodeButton` writes. */
export function decodeButton({ action_id, value }: { action_id: string; value: string }): Button | undefined {
  const fields = parse(value);
  if (fields === undefined) return undefined;
  const { r: requestId, q: question, o: option } = fields;
  if (typeof requestId !== "string" || !uuid.test(requestId)) return undefined;
  const pressed: Button | undefined =
    action_id === cancelAction
      ? { requestId, button: { type: "cancel" } }
      : isCount(question) && isCount(option)
        ? { requestId, button: { type: "answer", question, option } }
        : undefined;
  if (pressed === undefined) return undefined;
  const expected = encodeButton(pressed);
  return expected.action_id === action_id && expected.value === value ? pressed : undefined;
}

/** Within one message every `action_id` is another. */
export function encodeButton({ requestId, button }: Button): { action_id: string; value: string } {
  if (button.type === "cancel") return { action_id: cancelAction, value: JSON.stringify({ r: requestId }) };
  const { question, option } = button;
  return { action_id: `${answerAction}${option}`, value: JSON.stringify({ r: requestId, q: question, o: option }) };
}

function parse(value: string): { r?: unknown; q?: unknown; o?: unknown } | undefined {
  if (value.length > maxValueLength) return undefined;
  try {
    const fields: unknown = JSON.parse(value);
    return typeof fields === "object" && fields !== null ? fields : undefined;
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export const placeholderPart = 0;
/** The first part of an agent's answer; the others follow. */
export const answerPart = 1;
/** The first part of an answer in mrkdwn alone, which stands where Slack did not take its blocks. */
export const plainPart = 501;
/** The first part of the words that stand where Slack did not take the answer. */
export const insteadPart = 1001;
/** The first question of the agent; further ones follow. */
export const questionPart = 2001;
/** What opens a thread for a slash command. */
export const openingPart = 3001;
/** The message with the answer's files: Slack posts it, and it is known by the files. */
export const filesPart = 4001;
/** A message that was to go and cannot be deleted. */
export const replacedPart = 6001;
/** A native stream that was not made the answer yet: Slack gives it no key, and it is known by its `ts`. */
export const streamPart = 5001;
