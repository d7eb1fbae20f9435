/** Builds blocks and short texts within Slack's limits (https://docs.slack.dev/reference/block-kit/blocks). */

import type { TaskStep, Vote } from "@sekisho/contracts/methods.ts";
import { lastOfEachId, sanitizeLine } from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { Locale } from "../../task/task.ts";
import type { SlackBlock } from "../api/slack.ts";
import { writeOutSlackLinks } from "../markdown/characters.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { cutBlocks } from "../markdown/split.ts";
import { createTextBlock } from "../markdown/text-blocks.ts";
import { type Button, encodeButton } from "./buttons.ts";

const maxSectionLength = 2900;
const maxContextLength = 1900;
const maxLabelLength = 75;
export const maxButtons = 25;

export function removeEmpty(texts: readonly string[]): string[] {
  return texts.filter((text) => text !== "");
}

/** `text` is safe Markdown of at most `maxMarkdownLength`. */
export function markdownBlock(text: string): SlackBlock {
  return { type: "markdown", text };
}

/** `text` is mrkdwn. It is cut if it is too long. */
export function section(text: string): SlackBlock {
  return { type: "section", text: mrkdwnText({ text, maxLength: maxSectionLength }) };
}

/** `verbatim` keeps Slack from making links and mentions of plain addresses, channel names and people's names. Those in `<…>` stay. */
function mrkdwnText(request: { text: string; maxLength: number }) {
  return { type: "mrkdwn", text: cut(request), verbatim: true };
}

const slackStatuses = {
  pending: "pending",
  in_progress: "in_progress",
  completed: "complete",
  failed: "error",
} as const;
/** At most 50 steps leave room for other blocks of the message. */
export const maxPlanTitleLength = 150;

/** The steps of a task (https://docs.slack.dev/reference/block-kit/blocks/plan-block). Of steps with one id the last one is shown. */
export function plan(request: {
  title: string;
  steps: readonly TaskStep[];
  locale: Locale;
}): SlackBlock {
  const { title, steps, locale } = request;
  const tasks = lastOfEachId(steps).map((step) => ({
    type: "task_card",
    task_id: step.id,
    title: stepTitle({ step, locale }),
    status: slackStatuses[step.status],
  }));
  return { type: "plan", title: shorten({ text: title, maxLength: maxPlanTitleLength }), tasks };
}

const untitledStep: Record<Locale, string> = { en: "Step", ja: "手順" };

/** Returns the id if the title shows nothing, and a general word if the id shows nothing either. */
function stepTitle({ step: { title, id }, locale }: { step: TaskStep; locale: Locale }): string {
  const texts = [title, id].map((text) =>
    shortenWithLinks({ text, maxLength: maxPlanTitleLength }),
  );
  return texts.find(isVisible) ?? untitledStep[locale];
}

const stepSigns = { pending: "○", in_progress: "▸", completed: "✓", failed: "✗" } as const;

/** The same in mrkdwn, for clients and workspaces without plans. */
export function planLines({
  steps,
  locale,
}: {
  steps: readonly TaskStep[];
  locale: Locale;
}): string {
  return lastOfEachId(steps)
    .map((step) => literalMrkdwn`${stepSigns[step.status]} ${stepTitle({ step, locale })}`)
    .join("\n");
}

/** A small grey line. `text` is mrkdwn. It is cut if it is too long. */
export function context(text: string): SlackBlock {
  return { type: "context", elements: [mrkdwnText({ text, maxLength: maxContextLength })] };
}

/** `confirm` is what Slack asks before it sends the click, all in plain text. */
type Confirm = { title: string; text: string; confirm: string; deny: string };
export type ButtonLook = Button & {
  label: string;
  style?: string | undefined;
  confirm?: Confirm | undefined;
};

/** Shows at most `maxButtons`. */
export function buttons(looks: readonly ButtonLook[]): SlackBlock {
  return { type: "actions", elements: looks.slice(0, maxButtons).map(buttonElement) };
}

/** Slack rejects the whole message for an unknown style, so other styles are left out. */
export function buttonElement({
  label,
  style,
  confirm,
  ...button
}: ButtonLook): Record<string, unknown> {
  const texts = Object.entries(confirm ?? {}).map(([name, text]) => [
    name,
    { type: "plain_text", text },
  ]);
  return {
    type: "button",
    text: {
      type: "plain_text",
      text: shorten({ text: label, maxLength: maxLabelLength }),
      emoji: true,
    },
    ...encodeButton(button),
    ...(style === "primary" || style === "danger" ? { style } : {}),
    ...(confirm !== undefined && { confirm: Object.fromEntries(texts) }),
  };
}

const feedbackTexts: Record<Vote, Record<Locale, { text: string; label: string }>> = {
  up: {
    en: { text: "Helpful", label: "This answer helped" },
    ja: { text: "役に立った", label: "この回答は役に立った" },
  },
  down: {
    en: { text: "Not helpful", label: "This answer didn't help" },
    ja: { text: "役に立たなかった", label: "この回答は役に立たなかった" },
  },
};

/** 👍 and 👎 (https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element). Slack shows each person their own vote. */
export function feedbackButtons({
  requestId,
  locale,
}: {
  requestId: string;
  locale: Locale;
}): SlackBlock {
  const look = (vote: Vote) => {
    const { text, label } = feedbackTexts[vote][locale];
    const { value } = encodeButton({ requestId, button: { type: "feedback", vote } });
    return { text: { type: "plain_text", text }, accessibility_label: label, value };
  };
  const { action_id } = encodeButton({ requestId, button: { type: "feedback", vote: "up" } });
  const element = {
    type: "feedback_buttons",
    action_id,
    positive_button: look("up"),
    negative_button: look("down"),
  };
  return { type: "context_actions", elements: [element] };
}

/** Returns the beginning of a text in mrkdwn, with an ellipsis if it was cut. A text with code is cut as blocks instead. */
export function cut({ text, maxLength }: { text: string; maxLength: number }): string {
  // A text may be as long as a whole response, so the part that is never shown is not scanned.
  return cutBlocks({ blocks: [createTextBlock(text.slice(0, maxLength * 2))], maxLength });
}

// Marked as pure, so that bundles that do not use it leave it out.
const graphemes = /* @__PURE__ */ new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Returns at most `maxLength` UTF-16 units, with an ellipsis if the text was cut. Never splits a grapheme. */
export function shorten({ text, maxLength }: { text: string; maxLength: number }): string {
  const line = sanitizeLine(text.slice(0, maxLength * 4).replace(/\s+/g, " ")).trim();
  if (line.length <= maxLength) return line;
  let beginning = "";
  for (const { segment } of graphemes.segment(line.slice(0, maxLength + 1))) {
    if (beginning.length + segment.length > maxLength - 1) break;
    beginning += segment;
  }
  return `${beginning.trimEnd()}…`;
}

/** The same for a text of one line in which links may stand in Slack's notation. */
export function shortenWithLinks({ text, maxLength }: { text: string; maxLength: number }): string {
  return shorten({ text: writeOutSlackLinks(text.slice(0, maxLength * 4)), maxLength });
}

/**
 * Formats a time in mrkdwn, shown in the reader's time zone (https://docs.slack.dev/messaging/formatting-message-text, "Date
 * formatting"). Clients that cannot format it show the text behind the bar.
 */
export function slackDate({ atMs, locale }: { atMs: number; locale: Locale }): string {
  const between = locale === "ja" ? " " : " at ";
  const utcDate = `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const fallback = locale === "ja" ? utcDate.replaceAll("-", "/") : utcDate;
  return `<!date^${Math.floor(atMs / 1000)}^{date_short_pretty}${between}{time}|${fallback}>`;
}

type Unit = "second" | "minute" | "hour" | "day";
const units: readonly [Unit, number][] = [
  ["day", 24 * 3600_000],
  ["hour", 3600_000],
  ["minute", 60_000],
];
const japanese: Record<Unit, string> = { second: "秒", minute: "分", hour: "時間", day: "日" };

/** Formats a duration such as `5 minutes` or `5分`. Rounds up, so that a reader who waits that long never returns too early. */
export function spanText({ spanMs, locale }: { spanMs: number; locale: Locale }): string {
  const [unit, unitMs] = units.find(([, ms]) => spanMs > ms) ?? (["second", 1000] as const);
  const count = Math.max(1, Math.ceil(spanMs / unitMs));
  return locale === "ja"
    ? `${count}${japanese[unit]}`
    : `${count} ${unit}${count === 1 ? "" : "s"}`;
}
