/**
 * All that a user reads about a task, in the language of the person who asked. Pure functions of the task's record, so that every try
 * at a post says the same.
 */
import { hasFailedDelivery, type Locale, type Task } from "../../task/task.ts";
import type { Content } from "../api/slack.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { answerParts, plainLast, withBlocks } from "./answer.ts";
import { section, shorten } from "./blocks.ts";
import { referenceText, replacedText, retriedText, sentencesFor, undeliveredText } from "./outcome-text.ts";
import { placeholderContent, statusText } from "./placeholder.ts";
import { type ButtonClickRefusal, questionContent, refusalText } from "./question.ts";

/** `locale` counts where a task has none of its own; `contact` is whom a person who is refused is to ask, in mrkdwn. */
export function createTaskText(options: { locale: Locale; contact?: string | undefined }): TaskText {
  const localeOf = (task: Task) => task.locale ?? options.locale;

  function parts(task: Task): Content[] {
    const { outcome, retryOf } = task;
    const locale = localeOf(task);
    const isUndelivered = hasFailedDelivery(task);
    if (outcome?.type === "answer" && !isUndelivered) return answerParts({ task, answer: outcome, locale });
    const words =
      outcome?.type === "answer"
        ? undeliveredText({ locale })
        : sentencesFor({ task, outcome, locale, contact: options.contact });
    const text = retryOf === undefined ? words : `${retriedText({ locale, retryOf })}\n${words}`;
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
    replaced: (task) => ({ text: replacedText({ locale: localeOf(task) }) }),
    opening: (task) => ({ text: openingText({ task, locale: localeOf(task) }) }),
    status: (task) => statusText({ task, locale: localeOf(task) }),
    pressRefused: ({ refusal, locale }) => refusalText({ refusal, locale: locale ?? options.locale }),
  };
}

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

const maxLength = 300;

const inChannel: Record<Locale, (user: string, text: string) => string> = {
  en: (user, text) => `<@${user}> asked: ${text}`,
  ja: (user, text) => `<@${user}>さんの依頼：${text}`,
};

const inDirect: Record<Locale, (text: string) => string> = {
  en: (text) => `You asked: ${text}`,
  ja: (text) => `ご依頼：${text}`,
};

const nothing: Record<Locale, string> = { en: "(no text)", ja: "（テキストなし）" };

/** Of a direct message (`D…`) the reader is who asked. */
function openingText({ task, locale }: { task: Task; locale: Locale }): string {
  const { message, place } = task;
  const text = escapeMrkdwn(shorten({ text: message.text, maxLength })) || nothing[locale];
  const isDirect = message.direct || (place?.channel ?? message.channel).startsWith("D");
  return isDirect ? inDirect[locale](text) : inChannel[locale](escapeMrkdwn(message.user), text);
}
