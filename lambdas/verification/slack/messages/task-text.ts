/**
 * Creates everything that users read about a task, in the language of the person who asked. The texts depend only on the task's record,
 * so that a repeated post has the same content.
 */
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { ReplyRefusal } from "../../task/asking.ts";
import { retryAdviceOf } from "../../task/retry.ts";
import { hasFailedDelivery, isCanceled, type Locale, type Task } from "../../task/task.ts";
import type { MessageContent, ModalView, SlackBlock } from "../api/slack.ts";
import { escapeMrkdwn } from "../markdown/characters.ts";
import { literalMrkdwn } from "../markdown/literal.ts";
import { answerParts, canceledAnswerParts } from "./answer.ts";
import { withBlocks, withReference } from "./answer-forms.ts";
import { buttons, removeEmpty, section, shorten, shortenWithLinks } from "./blocks.ts";
import {
  aboveText,
  canceledAnswerText,
  createOutcomeText,
  limitedText,
  referenceText,
  refusedText,
  replacedText,
  undeliveredText,
} from "./outcome-text.ts";
import { placeholderContent, statusText } from "./placeholder.ts";
import {
  type ButtonClickRefusal,
  questionContent,
  questionModalView,
  replyRefusalText,
} from "./question.ts";

import { buildNoLinkModal, expiredLink } from "./sign-in.ts";

type TaskTextOptions = { locale: Locale; contact?: string | undefined; feedback?: boolean };

/**
 * `locale` is the default for tasks without their own. `contact` is mrkdwn that names whom a refused person should ask. With `feedback`,
 * people can vote on an answer.
 */
export function createTaskText(options: TaskTextOptions): TaskText {
  const localeOf = (task: Task) => task.locale ?? options.locale;

  function parts(task: Task): MessageContent[] {
    const { outcome } = task;
    const locale = localeOf(task);
    const isUndelivered = hasFailedDelivery(task);
    if (outcome?.type === "answer" && !isUndelivered) {
      return answerParts({ task, answer: outcome, locale, canVote: options.feedback === true });
    }
    if (outcome?.type === "help" && !isUndelivered) {
      return [
        { text: outcome.text, ...(task.mrkdwnFallback ? {} : { blocks: [section(outcome.text)] }) },
      ];
    }
    const outcomeText =
      outcome?.type === "answer"
        ? undeliveredText[locale]
        : createOutcomeText({ task, outcome, locale, contact: options.contact });
    const partialAnswer =
      isUndelivered || !isCanceled(task) ? [] : canceledParts({ task, locale, text: outcomeText });
    if (partialAnswer.length > 0) return partialAnswer;
    const text = removeEmpty([aboveText({ task, locale }), outcomeText]).join("\n");
    const reference = referenceText({ locale, requestId: task.id });
    const plain = withReference({ text, reference });
    return [
      task.mrkdwnFallback || isUndelivered
        ? plain
        : withBlocks({
            ...plain,
            blocks: [section(text), ...retryButton({ task, locale })],
            reference,
          }),
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
    questionModal: ({ task, locale }) =>
      questionModalView({ task, locale: locale ?? localeOf(task) }),
    noLinkModal({ task, refusal, nowMs }) {
      const locale = localeOf(task);
      // After its expiry, the question is closed in several steps.
      const isExpired =
        task.question?.answer === undefined && nowMs >= (task.question?.expiresAtMs ?? nowMs);
      const text = isExpired ? expiredLink[locale] : replyRefusalText({ refusal, locale });
      return buildNoLinkModal({ text, locale });
    },
    withoutRetry({ task, text: shownText }) {
      const reference = referenceText({ locale: localeOf(task), requestId: task.id });
      const end = withReference({ text: "", reference }).text;
      const text = shownText.endsWith(end) ? shownText.slice(0, -end.length).trimEnd() : shownText;
      return withBlocks({
        ...withReference({ text, reference }),
        blocks: [section(text)],
        reference,
      });
    },
    buttonClickRefused({ refusal, locale = options.locale }) {
      if (refusal.type === "not_allowed") return refusedText({ locale, contact: options.contact });
      if (refusal.type === "limited")
        return limitedText({ ...refusal, nowMs: refusal.atMs, locale });
      return replyRefusalText({ refusal, locale });
    },
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
  /** Says that an edit, a deletion or files came too late. */
  lateChange(request: { task: Task; lateChange: LateChange }): MessageContent;
  /** The modal with the fields of the agent's question. Undefined if it has none. */
  questionModal(request: { task: Task; locale: Locale | undefined }): ModalView | undefined;
  /** Tells the person who asked why there is no link to sign in any more. */
  noLinkModal(request: { task: Task; refusal: ReplyRefusal; nowMs: number }): ModalView;
  /** Shows a failure without the button to try it again. `text` is the failure's text as it stands in Slack. */
  withoutRetry(request: { task: Task; text: string }): MessageContent;
  /** In mrkdwn. */
  buttonClickRefused(request: { refusal: ButtonClickRefusal; locale: Locale | undefined }): string;
};

export type LateChange = NonNullable<Task["lateChange"]> | "files";

const lateChangeText: Record<LateChange, Record<Locale, string>> = {
  edited: {
    en: "Your edit came too late: the agent already has your original message. Reply here with what should change.",
    ja: "編集が間に合わず、編集前のメッセージがエージェントに送られました。変更点は、このスレッドでお知らせください。",
  },
  deleted: {
    en: "The message was deleted, but the agent is already working on it. Press Cancel to stop it.",
    ja: "メッセージは削除されましたが、すでにエージェントに送られているため、処理を続けます。止めるには「キャンセル」を押してください。",
  },
  files: {
    en: "Slack sent me your files too late: the agent got your message without them. Upload them again in this thread.",
    ja: "Slackからファイルが届くのが遅れ、ファイルなしのメッセージがエージェントに送られました。このスレッドにもう一度アップロードしてください。",
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
  ja: (user, text) => `<@${user}> さんの依頼：${text}`,
};

const inDirect: Record<Locale, (text: string) => string> = {
  en: (text) => `You asked: ${text}`,
  ja: (text) => `依頼内容：${text}`,
};

const noText: Record<Locale, string> = { en: "(no text)", ja: "（テキストなし）" };

/** In direct messages (`D…`), the reader is the person who asked. */
function openingText({ task, locale }: { task: Task; locale: Locale }): string {
  const { message, threadRef } = task;
  const line = shortenWithLinks({ text: message.text, maxLength: maxOpeningLength });
  const text = literalMrkdwn`${line}` || noText[locale];
  const isDirect = message.direct || (threadRef?.channel ?? message.channel).startsWith("D");
  return isDirect ? inDirect[locale](text) : inChannel[locale](escapeMrkdwn(message.user), text);
}

/** Slack allows 200 characters and shows fewer. */
const maxTitleLength = 100;
/** A mention, a channel or a link as Slack writes it, with its label. */
const slackNotation = /<(?:[@#!](?:[^<>|]+)|((?:https?|mailto):[^<>|]+))(?:\|([^<>|]*))?>/g;

/** In plain text, on one line. A mention without a name is left out. */
function sessionTitle(text: string): string | undefined {
  const plain = text.replace(
    slackNotation,
    (_notation, address = "", label = "") => label || address,
  );
  const title = shorten({ text: plain, maxLength: maxTitleLength });
  return isVisible(title) ? title : undefined;
}

type Request = { task: Task; locale: Locale };

/** Below a failure that may end otherwise at another try. If the agent may have done its work, Slack asks first. */
function retryButton({ task, locale }: Request): SlackBlock[] {
  const advice = retryAdviceOf(task);
  if (advice === undefined) return [];
  const confirm = advice === "with_care" ? confirmRetry[locale] : undefined;
  return [
    buttons([
      { requestId: task.id, button: { type: "retry" }, label: retryLabel[locale], confirm },
    ]),
  ];
}

const retryLabel: Record<Locale, string> = { en: "Try again", ja: "もう一度試す" };

const confirmRetry = {
  en: {
    title: "Try again?",
    text: "This may already be done or still be running, so it could happen twice.",
    confirm: "Try again",
    deny: "Not now",
  },
  ja: {
    title: "もう一度試しますか？",
    text: "すでに完了しているか、まだ処理が続いている可能性があります。その場合、同じ処理が2回実行されます。",
    confirm: "もう一度試す",
    deny: "やめておく",
  },
};
