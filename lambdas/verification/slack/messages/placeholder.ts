/** The placeholder of a task, which stands in the thread until its answer does: what the bot does, the progress, and the answer so far. */
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { Locale, Task } from "../../task/task.ts";
import type { MessageContent, SlackBlock } from "../api/slack.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { type Markdown, parseMarkdown, reparse } from "../markdown/markdown.ts";
import { fencedTables, toMrkdwn } from "../markdown/mrkdwn.ts";
import { safeMarkdown, safePart } from "../markdown/safe-markdown.ts";
import {
  blockText,
  joinBlocks,
  maxMarkdownLength,
  maxMrkdwnLength,
  openFence,
  scanBlocks,
  type TextBlock,
} from "../markdown/split.ts";
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
        partialAnswer === undefined ? "" : cutPlainNewest(partialAnswer),
      ]).join("\n"),
    };
  // Slack limits the text of all blocks together.
  const maxLength = maxMarkdownLength - steps.length * maxPlanTitleLength;
  const blocks =
    partialAnswer === undefined
      ? [section(activity)]
      : [markdownBlock(cutNewest(partialAnswer, maxLength).text), context(activity)];
  const planned =
    steps.length === 0
      ? []
      : [plan({ title: activityTexts[toActivity(task)][locale], steps, locale })];
  return {
    text: removeEmpty([activity, lines]).join("\n"),
    blocks: [...blocks, ...planned, ...cancel],
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

/** The newest part of the agent's text: safe, and with its tables as Slack shows them, of at most `maxMarkdownLength`. */
type PartialAnswer = { safe: Markdown; newest: Markdown; fenced: string };

/** Returns undefined if a native stream already shows the text, or if it shows nothing. */
function readPartialAnswer({ progress, stream }: Task): PartialAnswer | undefined {
  const isStreamed =
    stream !== undefined && stream.refused === undefined && stream.messages.length > 0;
  const text = progress?.partialText ?? "";
  if (isStreamed || text === "") return undefined;
  const safe = safeMarkdown(cutToEnd(text));
  const fenced = fencedTables(safe.text);
  const newest = safePart({
    whole: safe,
    part: newestText({ text: fenced, maxLength: maxMarkdownLength }),
    maxLength: maxMarkdownLength,
  });
  // The ellipsis of a cut does not count as visible text.
  const isVisible = hasVisibleText(reparse(newest, newest.text.replace(/^…/, "")));
  return isVisible ? { safe, newest, fenced } : undefined;
}

function cutNewest({ safe, newest, fenced }: PartialAnswer, maxLength: number): Markdown {
  if (maxLength === maxMarkdownLength) return newest;
  return safePart({ whole: safe, part: newestText({ text: fenced, maxLength }), maxLength });
}

/** Returns at most the last `maxMarkdownLength`. Reads only the end of the text, because an agent may send megabytes with every poll. */
function cutToEnd(text: string): string {
  // A cut comment would become visible.
  const hasCutComment = text.length > maxMarkdownLength && text.includes("<!--");
  const read = hasCutComment
    ? removeComments(parseMarkdown(lastPart({ text, maxLength: maxReadLength })))
    : text;
  return newestText({ text: read, maxLength: maxMarkdownLength });
}

function cutPlainNewest({ safe }: PartialAnswer): string {
  return newestText({
    text: toMrkdwn(safe),
    maxLength: maxMrkdwnLength - aroundLength * 5,
  });
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

const queued: Record<Locale, (ahead: number) => string> = {
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
    ? `${text} ${queued[locale](queuePosition)}`
    : queued[locale](queuePosition);
}

function isEnding(activity: TaskActivity): boolean {
  return activity === "canceling" || activity === "ending";
}

const barLength = 10;

/** `▓▓▓░░░░░░░ 30%`. Rounds down, so that the bar is full only at 100%. */
export function percentBar(percent: number): string {
  const whole = Math.floor(Math.min(100, Math.max(0, percent)));
  const filled = Math.floor((whole / 100) * barLength);
  return `${"▓".repeat(filled)}${"░".repeat(barLength - filled)} ${whole}%`;
}

const before = "…\n\n";
const partOfCharacter = /^[\uDC00-\uDFFF\p{M}\u200D]+/u;

/** Returns at most the last `maxLength` UTF-16 units (at least 200) of Markdown. Closes an open fence, and reopens a cut one. */
export function newestText({ text, maxLength }: { text: string; maxLength: number }): string {
  const blocks = scanBlocks(text);
  const all = joinBlocks(blocks);
  if (all.length <= maxLength) return all;
  const kept: TextBlock[] = [];
  let room = maxLength - before.length;
  for (const block of blocks.toReversed()) {
    const { length } = blockText(block);
    if (length > room) {
      const end = cutBlockToEnd({ block, room });
      if (end !== undefined) kept.unshift(end);
      break;
    }
    kept.unshift(block);
    room -= length + 2;
  }
  return before + joinBlocks(kept);
}

/**
 * Returns about the last `maxLength` UTF-16 units of Markdown. Bounds the input of slower functions. The result may start within a
 * line, but not within a comment, whose rest would become visible. If it starts within a fence, the fence is reopened.
 */
export function lastPart({ text, maxLength }: { text: string; maxLength: number }): string {
  if (text.length <= maxLength) return text;
  const start = afterComment(text, text.length - maxLength);
  return before + openFence(text.slice(0, start)) + text.slice(start).replace(partOfCharacter, "");
}

/** Returns `at`, or the end of the comment that `at` is in. An unclosed comment ends with the text. */
function afterComment(text: string, at: number): number {
  const opened = text.lastIndexOf("<!--", at - 1);
  // Only a comment whose closing signs are all before `at` is over there.
  if (opened < 0 || text.lastIndexOf("-->", at - 3) > opened) return at;
  const closed = text.indexOf("-->", opened + 4);
  return closed < 0 ? text.length : Math.max(at, closed + 3);
}

function cutBlockToEnd({ block, room }: { block: TextBlock; room: number }): TextBlock | undefined {
  const frame = blockText({ ...block, body: [] }).length + 1;
  let left = room - frame;
  const lines: string[] = [];
  for (const line of block.body.toReversed()) {
    if (line.length > left) {
      const rest =
        lines.length === 0 && left > 100 ? cutLineToEnd({ text: line, length: left }) : undefined;
      if (rest !== undefined) lines.unshift(rest);
      break;
    }
    lines.unshift(line);
    left -= line.length + 1;
  }
  return lines.length === 0 ? undefined : { ...block, body: lines };
}

/** Starts at a word if one is near. Never starts within a character. */
function cutLineToEnd({ text, length }: { text: string; length: number }): string {
  const end = text.slice(-length);
  const [blank] = /^\S{0,30}\s+/.exec(end) ?? [""];
  return end.slice(blank.length).replace(partOfCharacter, "");
}
