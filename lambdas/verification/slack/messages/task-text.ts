/**
 * Creates everything that users read about a task, in the language of the person who asked. The texts depend only on the task's record,
 * so that a repeated post has the same content.
 */

import { isVisible } from "../../../shared/visible-text.ts";
import { hasFailedDelivery, isCanceled, type Locale, type Task } from "../../task/task.ts";
import type { MessageContent, SlackBlock } from "../api/slack.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { fencedTables, toMrkdwn } from "../markdown/mrkdwn.ts";
import { safeMarkdown, safePart } from "../markdown/safe-markdown.ts";
import { hasVisibleText, removeComments } from "../markdown/visible-text.ts";
import { answerParts, canceledAnswerParts, plainLast, withBlocks } from "./answer.ts";
import { buttons, context, markdownBlock, plan, planLines, removeEmpty, section, shorten } from "./blocks.ts";
import {
  canceledAnswerText,
  createOutcomeText,
  referenceText,
  replacedText,
  retriedText,
  undeliveredText,
} from "./outcome-text.ts";
import { type ButtonClickRefusal, questionContent, replyRefusalText } from "./question.ts";
import {
  blockText,
  joinBlocks,
  maxMarkdownLength,
  maxMrkdwnLength,
  openFence,
  scanBlocks,
  type TextBlock,
} from "./split.ts";

/** `locale` is the default for tasks without their own. `contact` is mrkdwn that names whom a refused person should ask. */
export function createTaskText(options: { locale: Locale; contact?: string | undefined }): TaskText {
  const localeOf = (task: Task) => task.locale ?? options.locale;

  function parts(task: Task): MessageContent[] {
    const { outcome, retryOf } = task;
    const locale = localeOf(task);
    const isUndelivered = hasFailedDelivery(task);
    if (outcome?.type === "answer" && !isUndelivered) return answerParts({ task, answer: outcome, locale });
    const outcomeText =
      outcome?.type === "answer"
        ? undeliveredText[locale]
        : createOutcomeText({ task, outcome, locale, contact: options.contact });
    const written = isUndelivered || !isCanceled(task) ? [] : canceledParts({ task, locale, text: outcomeText });
    if (written.length > 0) return written;
    const text = retryOf === undefined ? outcomeText : `${retriedText({ locale, retryOf })}\n${outcomeText}`;
    const reference = referenceText({ locale, requestId: task.id });
    const plain = plainLast({ text, reference });
    return [
      task.mrkdwnFallback || isUndelivered ? plain : withBlocks({ ...plain, blocks: [section(text)], reference }),
    ];
  }

  return {
    placeholder: (task) => placeholderContent({ task, locale: localeOf(task) }),
    parts,
    question: ({ task, nowMs }) => {
      const locale = localeOf(task);
      const { question } = task;
      return question === undefined
        ? placeholderContent({ task, locale })
        : questionContent({ task, question, locale, nowMs });
    },
    replaced: (task) => ({ text: replacedText[localeOf(task)] }),
    opening: (task) => ({ text: openingText({ task, locale: localeOf(task) }) }),
    status: (task) => statusText({ task, locale: localeOf(task) }),
    sessionTitle: ({ message }) => sessionTitle(message.text),
    lateChange: ({ task, lateChange }) => ({ text: lateChangeText[lateChange][localeOf(task)] }),
    buttonClickRefused: ({ refusal, locale }) => replyRefusalText({ refusal, locale: locale ?? options.locale }),
  };
}

/** Uses the task's `locale`, or the default if the task has none yet. */
export type TaskText = {
  /** Shows that the task waits or runs, with its progress and a button to cancel. */
  placeholder(task: Task): MessageContent;
  /** Returns the outcome as one or more messages. They have no blocks if the task has `mrkdwnFallback`. */
  parts(task: Task): MessageContent[];
  /** Shows the agent's question with its buttons, its answer, or that it has expired. `nowMs` decides whether it has. */
  question(request: { task: Task; nowMs: number }): MessageContent;
  /** Replaces an outdated message that Slack does not delete. */
  replaced(task: Task): MessageContent;
  /** Opens the thread of a slash command. */
  opening(task: Task): MessageContent;
  /** Says after the bot's name what the bot is doing, such as "is working on it". */
  status(task: Task): string;
  /** Names the thread's session after its first message. Undefined if the message has no text. */
  sessionTitle(task: Task): string | undefined;
  /** Says that an edit or a deletion came too late. */
  lateChange(request: { task: Task; lateChange: NonNullable<Task["lateChange"]> }): MessageContent;
  /** In mrkdwn. */
  buttonClickRefused(request: { refusal: ButtonClickRefusal; locale: Locale | undefined }): string;
};

const lateChangeText: Record<NonNullable<Task["lateChange"]>, Record<Locale, string>> = {
  edited: {
    en: "Your edit came too late: the agent already has the first version. Tell me here what should be different.",
    ja: "編集が間に合わず、エージェントには編集前のメッセージが渡されています。変更したい内容は、このスレッドにお書きください。",
  },
  deleted: {
    en: "The message was deleted, but the agent already has it, so the task goes on. Press Cancel to end it.",
    ja: "メッセージは削除されましたが、すでにエージェントに渡されているため、処理を続けています。終了するには「取り消す」を押してください。",
  },
};

/** Returns the partial answer, if there is any, and below it that the task was canceled. `text` says whether it has stopped. */
function canceledParts({ task, locale, text }: Request & { text: string }): MessageContent[] {
  const { outcome, progress } = task;
  const isConfirmed = outcome?.type === "failed" && outcome.reason === "canceled";
  const note = isConfirmed ? canceledAnswerText[locale] : text;
  return canceledAnswerParts({ task, text: progress?.partialText ?? "", note, locale });
}

const maxOpeningLength = 300;

const inChannel: Record<Locale, (user: string, text: string) => string> = {
  en: (user, text) => `<@${user}> asked: ${text}`,
  ja: (user, text) => `<@${user}>さんの依頼：${text}`,
};

const inDirect: Record<Locale, (text: string) => string> = {
  en: (text) => `You asked: ${text}`,
  ja: (text) => `ご依頼：${text}`,
};

const noText: Record<Locale, string> = { en: "(no text)", ja: "（テキストなし）" };

/** In direct messages (`D…`), the reader is the person who asked. */
function openingText({ task, locale }: { task: Task; locale: Locale }): string {
  const { message, threadRef } = task;
  const text = escapeMrkdwn(shorten({ text: message.text, maxLength: maxOpeningLength })) || noText[locale];
  const isDirect = message.direct || (threadRef?.channel ?? message.channel).startsWith("D");
  return isDirect ? inDirect[locale](text) : inChannel[locale](escapeMrkdwn(message.user), text);
}

/** Slack allows 200 characters and shows fewer. */
const maxTitleLength = 100;
/** A mention, a channel or a link as Slack writes it, with its label. */
const slackNotation = /<(?:[@#!](?:[^<>|]+)|((?:https?|mailto):[^<>|]+))(?:\|([^<>|]*))?>/g;

/** In plain text, on one line. A mention without a name is left out. */
function sessionTitle(text: string): string | undefined {
  const plain = text.replace(slackNotation, (_notation, address = "", label = "") => label || address);
  const title = shorten({ text: plain, maxLength: maxTitleLength });
  return isVisible(title) ? title : undefined;
}

const maxProgressLength = 300;
/** Room for the lines around a partial answer. */
const aroundLength = 400;
/** Several times the shown length, because comments take room in a partial text but are not shown. */
const maxReadLength = 50_000;

type Request = { task: Task; locale: Locale };

/** Shows the activity, the progress, and either the agent's note or the partial answer. */
function placeholderContent({ task, locale }: Request): MessageContent {
  const activity = placeholderText({ task, locale });
  const written = readPartialAnswer(task);
  const cancel = cancelButton({ task, locale });
  const { steps = [] } = task.progress ?? {};
  const lines = planLines(steps);
  if (task.mrkdwnFallback)
    return { text: removeEmpty([activity, lines, written === undefined ? "" : cutPlainNewest(written)]).join("\n") };
  const blocks = written === undefined ? [section(activity)] : [markdownBlock(cutNewest(written)), context(activity)];
  const planned = steps.length === 0 ? [] : [plan({ title: activityTexts[toActivity(task)][locale], steps })];
  return { text: removeEmpty([activity, lines]).join("\n"), blocks: [...blocks, ...planned, ...cancel] };
}

/** In plain text. */
function statusText({ task, locale }: Request): string {
  const activity = toActivity(task);
  return visibleQueuePosition(task) > 0 && !isEnding(activity) ? queuedStatus[locale] : status[activity][locale];
}

function placeholderText({ task, locale }: Request): string {
  const { text = "", percent } = task.progress ?? {};
  const doing = activityText({ activity: toActivity(task), queuePosition: visibleQueuePosition(task), locale });
  const line = task.cancelReason === undefined ? shorten({ text, maxLength: maxProgressLength }) : "";
  const note = isVisible(line) ? escapeMrkdwn(line) : "";
  return removeEmpty([doing, note, percent === undefined ? "" : percentBar(percent)]).join("\n");
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

/** Returns undefined if a native stream already shows the text. */
function readPartialAnswer({ progress, stream }: Task): string | undefined {
  const isStreamed = stream !== undefined && stream.refused === undefined && stream.messages.length > 0;
  const text = progress?.partialText ?? "";
  // The ellipsis of a cut does not count as visible text.
  return isStreamed || !hasVisibleText(cutNewest(text).replace(/^…/, "")) ? undefined : text;
}

function cutNewest(text: string): string {
  const markdown = fencedTables(safeMarkdown(cutToEnd(text)));
  return safePart({ part: newestText({ text: markdown, maxLength: maxMarkdownLength }), maxLength: maxMarkdownLength });
}

/** Returns at most the last `maxMarkdownLength`. Reads only the end of the text, because an agent may send megabytes with every poll. */
function cutToEnd(text: string): string {
  // A cut comment would become visible.
  const hasCutComment = text.length > maxMarkdownLength && text.includes("<!--");
  const read = hasCutComment ? removeComments(lastPart({ text, maxLength: maxReadLength })) : text;
  return newestText({ text: read, maxLength: maxMarkdownLength });
}

function cutPlainNewest(text: string): string {
  return newestText({ text: toMrkdwn(safeMarkdown(cutToEnd(text))), maxLength: maxMrkdwnLength - aroundLength * 5 });
}

function cancelButton({ task, locale }: Request): SlackBlock[] {
  if (task.cancelReason !== undefined) return [];
  return [buttons([{ requestId: task.id, button: { type: "cancel" }, label: cancelLabel[locale] }])];
}

type TaskActivity = "working" | "retrying" | "writing" | "asking" | "canceling" | "ending";

const activityTexts: Record<TaskActivity, Record<Locale, string>> = {
  working: { en: "Working on it…", ja: "対応しています…" },
  retrying: { en: "Trying again…", ja: "再実行しています…" },
  writing: { en: "Writing…", ja: "回答を書いています…" },
  asking: { en: "Waiting for an answer to the question below…", ja: "下の質問への回答を待っています…" },
  canceling: { en: "Canceling…", ja: "キャンセルしています…" },
  ending: { en: "Out of time. Stopping…", ja: "時間切れのため、終了しています…" },
};

/** Slack shows the app's name before this. */
const status: Record<TaskActivity, Record<Locale, string>> = {
  working: { en: "is working on it…", ja: "が対応しています…" },
  retrying: { en: "is trying again…", ja: "が再実行しています…" },
  writing: { en: "is writing…", ja: "が回答を書いています…" },
  asking: { en: "is waiting for your answer…", ja: "が回答を待っています…" },
  canceling: { en: "is canceling…", ja: "がキャンセルしています…" },
  ending: { en: "is stopping…", ja: "が終了しています…" },
};

const queued: Record<Locale, (ahead: number) => string> = {
  en: (ahead) =>
    ahead === 1
      ? "I'll start when the message before this one is done…"
      : `I'll start when the ${ahead} messages before this one are done…`,
  ja: (ahead) => `先に届いた${ahead}件が終わり次第、対応します…`,
};

const queuedStatus: Record<Locale, string> = { en: "will start soon…", ja: "が順番を待っています…" };

const cancelLabel: Record<Locale, string> = { en: "Cancel", ja: "キャンセル" };

function activityText(request: { activity: TaskActivity; queuePosition: number; locale: Locale }): string {
  const { activity, queuePosition, locale } = request;
  const text = activityTexts[activity][locale];
  if (queuePosition === 0 || isEnding(activity)) return text;
  return activity === "retrying" ? `${text} ${queued[locale](queuePosition)}` : queued[locale](queuePosition);
}

function isEnding(activity: TaskActivity): boolean {
  return activity === "canceling" || activity === "ending";
}

const barLength = 10;

/** `▓▓▓░░░░░░░ 30 %`. Rounds down, so that the bar is full only at 100 %. */
export function percentBar(percent: number): string {
  const whole = Math.floor(Math.min(100, Math.max(0, percent)));
  const filled = Math.floor((whole / 100) * barLength);
  return `${"▓".repeat(filled)}${"░".repeat(barLength - filled)} ${whole} %`;
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
  if (opened < 0 || text.lastIndexOf("-->", at - 1) > opened) return at;
  const closed = text.indexOf("-->", opened + 4);
  return closed < 0 ? text.length : Math.max(at, closed + 3);
}

function cutBlockToEnd({ block, room }: { block: TextBlock; room: number }): TextBlock | undefined {
  const frame = blockText({ ...block, body: [] }).length + 1;
  let left = room - frame;
  const lines: string[] = [];
  for (const line of block.body.toReversed()) {
    if (line.length > left) {
      const rest = lines.length === 0 && left > 100 ? cutLineToEnd({ text: line, length: left }) : undefined;
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
