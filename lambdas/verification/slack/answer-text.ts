/** All that a user reads of a task, in the language of whoever asked. Pure. */
import type { Task } from "../task/task.ts";
import { answerParts, plainLast, withBlocks } from "./answer-parts.ts";
import { section } from "./blocks.ts";
import type { Locale } from "./failure-words.ts";
import { openingText } from "./opening-words.ts";
import { placeholderContent, statusText } from "./placeholder.ts";
import { questionContent } from "./question-message.ts";
import { refusalWords } from "./question-words.ts";
import type { Content } from "./slack.ts";
import type { TaskText } from "./task-text.ts";
import { referenceWords, replacedText, retriedWords, sentencesFor, undeliveredText } from "./words.ts";

/** `locale` counts where a task has none of its own; `contact` is whom a person who is refused is to ask, in mrkdwn. */
export function createTaskText(options: { locale: Locale; contact?: string | undefined }): TaskText {
  const localeOf = (task: Task) => task.locale ?? options.locale;

  function parts(task: Task): Content[] {
    const { outcome, retryOf } = task;
    const locale = localeOf(task);
    const isUndelivered = task.undelivered !== undefined;
    if (outcome?.type === "answer" && !isUndelivered) return answerParts({ task, answer: outcome, locale });
    const words =
      outcome?.type === "answer"
        ? undeliveredText({ locale })
        : sentencesFor({ task, outcome, locale, contact: options.contact });
    const text = retryOf === undefined ? words : `${retriedWords({ locale, retryOf })}\n${words}`;
    const reference = referenceWords({ locale, requestId: task.id });
    const plain = plainLast({ text, reference });
    return [task.plain || isUndelivered ? plain : withBlocks({ ...plain, blocks: [section(text)], reference })];
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
    pressRefused: ({ refusal, locale }) => refusalWords({ refusal, locale: locale ?? options.locale }),
  };
}
