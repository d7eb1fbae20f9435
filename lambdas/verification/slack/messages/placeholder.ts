/** The placeholder of a task, which stands in the thread until its answer does: what the bot does, the progress, and the answer so far. */
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { Locale, Task } from "../../task/task.ts";
import type { MessageContent, SlackBlock } from "../api/slack.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { type Markdown, parseMarkdown, reparse } from "../markdown/markdown.ts";
import { mrkdwnBlocks } from "../markdown/mrkdwn.ts";
import { lastPart, listNewest, newestPart } from "../markdown/newest.ts";
import { safeMarkdown } from "../markdown/safe-markdown.ts";
import { safePart } from "../markdown/safe-parts.ts";
import { maxMarkdownLength, maxMrkdwnLength } from "../markdown/split.ts";
import { drawTables } from "../markdown/tables.ts";
import { createPart, sourceBlocks } from "../markdown/text-blocks.ts";
import { hasVisibleText, removeComments } from "../markdown/visible-text.ts";
import {
  buttons,
  context,
  markdownBlock,
  maxPlanTitleLength,
  plan,
  planLines,
  removeEmpty,
  section,
  shortenWithLinks,
} from "./blocks.ts";
import { routeChangeText } from "./outcome-text.ts";

type Request = { task: Task; locale: Locale };

const maxProgressLength = 300;
/** Room for the lines around a partial answer. */
const aroundLength = 400;
/** Several times the shown length, because comments take room in a partial text but are not shown. */
const maxReadLength = 50_000;

/** Shows the activity, the progress, and either the agent's note or the partial answer. */
export function placeholderContent({ task, locale }: Request): MessageContent {
  const activity = placeholderText({ task, locale });
  const partialAnswer = readPartialAnswer(task);
  const cancel = cancelButton({ task, locale });
  const { steps = [] } = task.progress ?? {};
  const lines = planLines({ steps, locale });
  if (task.mrkdwnFallback)
    return {
      text: removeEmpty([
        activity,
        lines,
        partialAnswer === undefined ? "" : newestMrkdwn(partialAnswer),
      ]).join("\n"),
    };
  // Slack limits the text of all blocks together.
  const maxLength = maxMarkdownLength - steps.length * maxPlanTitleLength;
  const blocks =
    partialAnswer === undefined
      ? [section(activity)]
      : [markdownBlock(newestMarkdown(partialAnswer, maxLength)), context(activity)];
  const planBlocks =
    steps.length === 0
      ? []
      : [plan({ title: activityTexts[toActivity(task)][locale], steps, locale })];
  return {
    text: removeEmpty([activity, lines]).join("\n"),
    blocks: [...blocks, ...planBlocks, ...cancel],
  };
}

/** In plain text. */
export function statusText({ task, locale }: Request): string {
  const activity = toActivity(task);
  return visibleQueuePosition(task) > 0 && !isEnding(activity)
    ? queuedStatus[locale]
    : status[activity][locale];
}

function placeholderText({ task, locale }: Request): string {
  const { text = "", percent } = task.progress ?? {};
  const doing = activityText({
    activity: toActivity(task),
    queuePosition: visibleQueuePosition(task),
    locale,
  });
  const line =
    task.cancelReason === undefined ? shortenWithLinks({ text, maxLength: maxProgressLength }) : "";
  const note = isVisible(line) ? literalMrkdwn`${line}` : "";
  return removeEmpty([
    routeChangeText({ task, locale }),
    doing,
    note,
    percent === undefined ? "" : percentBar(percent),
  ]).join("\n");
}

function toActivity({ cancelReason, question, retryOf, progress, state }: Task): TaskActivity {
  if (cancelReason !== undefined) return cancelReason === "asked" ? "canceling" : "ending";
  if (state === "asking" && question?.answer === undefined) return "asking";
  // Text from before a question stays, but the agent no longer writes it.
  const { partialText = "", shownAtMs = 0 } = progress ?? {};
  if (partialText !== "" && shownAtMs > (question?.askedAtMs ?? 0)) return "writing";
  return retryOf === undefined ? "working" : "retrying";
}

/** Counts the tasks of the thread that come first. Returns 0 once the task has started. */
function visibleQueuePosition({ queuePosition = 0, state }: Task): number {
  return state === "received" || state === "queued" || state === "announced" ? queuePosition : 0;
}

/** The end of the agent's text. `isCut` is true if it is not the whole text. */
type PartialAnswer = { safe: Markdown; isCut: boolean };

/** Returns undefined if a native stream already shows the text, or if it shows nothing. */
function readPartialAnswer({ progress, stream }: Task): PartialAnswer | undefined {
  const isStreamed =
    stream !== undefined && stream.refused === undefined && stream.messages.length > 0;
  const text = progress?.partialText ?? "";
  if (isStreamed || text === "") return undefined;
  const end = cutToEnd(text);
  const safe = safeMarkdown(end);
  return hasVisibleText(safe) ? { safe, isCut: end.length < text.length } : undefined;
}

function newestMarkdown({ safe, isCut }: PartialAnswer, maxLength: number): string {
  const part = newestPart({ blocks: drawTables(sourceBlocks(safe)), maxLength, isCut });
  return safePart({ whole: safe, part, maxLength }).text;
}

/** Returns about the last `maxMarkdownLength`. Reads only the end of the text, because an agent may send megabytes with every poll. */
function cutToEnd(text: string): string {
  if (text.length <= maxMarkdownLength) return text;
  const end = parseMarkdown(lastPart({ text, maxLength: maxReadLength }));
  // A cut comment would become visible.
  const blocks = sourceBlocks(reparse(end, removeComments(end)));
  return createPart(listNewest({ blocks, maxLength: maxMarkdownLength })).text;
}

function newestMrkdwn({ safe, isCut }: PartialAnswer): string {
  const maxLength = maxMrkdwnLength - aroundLength * 5;
  return newestPart({ blocks: mrkdwnBlocks(safe), maxLength, isCut }).text;
}

function cancelButton({ task, locale }: Request): SlackBlock[] {
  if (task.cancelReason !== undefined) return [];
  return [
    buttons([{ requestId: task.id, button: { type: "cancel" }, label: cancelLabel[locale] }]),
  ];
}

type TaskActivity = "working" | "retrying" | "writing" | "asking" | "canceling" | "ending";

const activityTexts: Record<TaskActivity, Record<Locale, string>> = {
  working: { en: "Working on it…", ja: "対応しています…" },
  retrying: { en: "Trying again…", ja: "再実行しています…" },
  writing: { en: "Writing…", ja: "回答を作成しています…" },
  asking: {
    en: "Waiting for an answer to the question below…",
    ja: "下の質問への回答を待っています…",
  },
  canceling: { en: "Canceling…", ja: "キャンセルしています…" },
  ending: { en: "Out of time. Stopping…", ja: "時間切れのため、終了します…" },
};

/** Slack shows the app's name before this. */
const status: Record<TaskActivity, Record<Locale, string>> = {
  working: { en: "is working on it…", ja: "が対応しています…" },
  retrying: { en: "is trying again…", ja: "が再実行しています…" },
  writing: { en: "is writing…", ja: "が回答を作成しています…" },
  asking: { en: "is waiting for your answer…", ja: "が回答を待っています…" },
  canceling: { en: "is canceling…", ja: "がキャンセルしています…" },
  ending: { en: "is stopping…", ja: "が終了処理をしています…" },
};

const queuePositionText: Record<Locale, (ahead: number) => string> = {
  en: (ahead) =>
    ahead === 1
      ? "I'll start when the message before this one is done…"
      : `I'll start when the ${ahead} messages before this one are done…`,
  ja: (ahead) => `先に届いた${ahead}件が終わり次第、対応します…`,
};

const queuedStatus: Record<Locale, string> = {
  en: "will start soon…",
  ja: "が順番を待っています…",
};

const cancelLabel: Record<Locale, string> = { en: "Cancel", ja: "キャンセル" };

function activityText(request: {
  activity: TaskActivity;
  queuePosition: number;
  locale: Locale;
}): string {
  const { activity, queuePosition, locale } = request;
  const text = activityTexts[activity][locale];
  if (queuePosition === 0 || isEnding(activity)) return text;
  return activity === "retrying"
    ? `${text} ${queuePositionText[locale](queuePosition)}`
    : queuePositionText[locale](queuePosition);
}

function isEnding(activity: TaskActivity): boolean {
  return activity === "canceling" || activity === "ending";
}

const barLength = 10;

/** `▓▓▓░░░░░░░ 30%`. Rounds down, so that the bar is full only at 100%. */
export function percentBar(percent: number): string {
  const whole = Math.floor(Math.min(100, Math.max(0, percent)));
  const filledLength = Math.floor((whole / 100) * barLength);
  return `${"▓".repeat(filledLength)}${"░".repeat(barLength - filledLength)} ${whole}%`;
}
