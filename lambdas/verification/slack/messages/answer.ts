/** All that a user reads of a task, in the language of whoever asked. */

import { hasFailedDelivery, type Locale, type Task, type TaskOutcome } from "../../task/task.ts";
import type { Block, Content } from "../api/slack.ts";
import { escapeMrkdwn } from "../markdown/escape.ts";
import { toMrkdwn } from "../markdown/mrkdwn.ts";
import { context, cut, markdownBlock, section } from "./blocks.ts";
import { answerMessages, beginningOf, isLongAnswer, longAnswerName } from "./long-answer.ts";
import {
  cutAnswerText,
  emptyAnswerText,
  goesOnText,
  missingFilesText,
  referenceText,
  replacedText,
  retriedText,
  sentencesFor,
  undeliveredText,
} from "./outcome-text.ts";
import { leftOutCount, outgoingFiles } from "./outgoing.ts";
import { placeholderContent, statusText } from "./placeholder.ts";
import { questionContent, refusalText } from "./question.ts";
import { maxMrkdwnLength } from "./split.ts";
import { shorten, type TaskText } from "./text.ts";

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

// The agent's answer as messages: its text, what is said about its files, and the short request id.

/** Words of ours in place of a text; the reference stands below them. */
const maxEmptyLength = maxMrkdwnLength - 100;

type Answer = Extract<TaskOutcome, { type: "answer" }>;

function answerParts(request: { task: Task; answer: Answer; locale: Locale }): Content[] {
  const { task, answer, locale } = request;
  const files = outgoingFiles(task);
  const failed = files.filter((_, index) => hasFailed({ answer, index })).map(({ name }) => name);
  const missing = missingFilesText({ locale, failed, leftOut: leftOutCount(task) });
  const before = task.retryOf === undefined ? "" : retriedText({ locale, retryOf: task.retryOf });
  const reference = referenceText({ locale, requestId: task.id });
  const isAttached = isLongAnswer(answer.text) && !hasFailed({ answer, index: 0 });
  const form = task.mrkdwnFallback ? ({ type: "mrkdwn", before } as const) : ({ type: "markdown" } as const);
  const { parts, isWhole } = isAttached ? beginningOf(answer.text, form) : answerMessages(answer.text, form);
  const rest = isAttached ? goesOnText({ locale, name: longAnswerName }) : isWhole ? "" : cutAnswerText({ locale });
  const after = filled([rest, missing]);
  if (parts.length === 0) {
    const words = emptyAnswerText({ locale, files: files.length - failed.length });
    // Names of files are escaped, which makes them longer.
    const text = cut({ text: filled([before, words, missing]).join("\n"), maxLength: maxEmptyLength });
    return [
      task.mrkdwnFallback ? plainLast({ text, reference }) : withBlocks({ text, blocks: [section(text)], reference }),
    ];
  }
  if (task.mrkdwnFallback) return plainParts({ texts: parts, after, reference });
  return parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    const said = index === 0 ? filled([before]) : [];
    return withBlocks({
      text: cut({ text: [...said, toMrkdwn(part)].join("\n"), maxLength: maxMrkdwnLength }),
      blocks: [...said.map(context), markdownBlock(part), ...(isLast ? after.map(section) : [])],
      reference: isLast ? reference : undefined,
    });
  });
}

type Plain = { texts: readonly string[]; after: readonly string[]; reference: string };

/** What follows the answer stands in a message of its own where the last one is full. */
function plainParts({ texts, after, reference }: Plain): Content[] {
  const parts = [...texts];
  const end = plainLast({ text: after.join("\n"), reference }).text;
  const last = parts.pop() ?? "";
  const together = filled([last, end]).join("\n\n");
  const ends = together.length <= maxMrkdwnLength ? [together] : [last, cut({ text: end, maxLength: maxMrkdwnLength })];
  return [...parts, ...ends].map((part) => ({ text: part }));
}

/** Words of ours with the short request id below them. */
function plainLast({ text, reference }: { text: string; reference: string }): Content {
  return { text: filled([text, `_${reference}_`]).join("\n") };
}

/** `text` stands where blocks are not shown. */
function withBlocks(request: { text: string; blocks: readonly Block[]; reference: string | undefined }): Content {
  const { text, blocks, reference } = request;
  return { text, blocks: reference === undefined ? blocks : [...blocks, context(reference)] };
}

function hasFailed({ answer, index }: { answer: Answer; index: number }): boolean {
  const upload = answer.uploads?.[index];
  return upload !== undefined && "failed" in upload;
}

function filled(texts: readonly string[]): string[] {
  return texts.filter((text) => text !== "");
}

// What opens the thread of a slash command, of which the channel shows nothing by itself.

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
