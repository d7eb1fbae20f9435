/** What the delivery posts for a task: the placeholder, and the outcome in parts. Pure. */
import type { Task } from "../task/task.ts";
import type { AnswerText } from "../worker/deliver.ts";
import { escapeMrkdwn } from "./escape.ts";
import type { Locale } from "./failure-words.ts";
import { splitAnswer } from "./split-answer.ts";
import {
  cancelingWords,
  emptyAnswerWords,
  placeholderWords,
  refusalWords,
  retriedWords,
  tooOldWords,
  unreadableWords,
  wordsFor,
} from "./words.ts";

export function createAnswerText({ locale }: { locale: Locale }): AnswerText {
  function parts(task: Task): string[] {
    const { retryOf } = task;
    const before = retryOf === undefined ? "" : retriedWords({ locale, retryOf });
    return splitAnswer({ text: before + wordsOf(task) });
  }

  function wordsOf({ id: requestId, message, outcome }: Task): string {
    switch (outcome?.type) {
      case "answer":
        return outcome.text.trim() === "" ? emptyAnswerWords(locale) : escapeMrkdwn(outcome.text);
      case "refused":
        return refusalWords({ asked: message, locale, requestId });
      case "too_old":
        return tooOldWords({ locale, requestId });
      case "unreadable":
        return unreadableWords({ locale, requestId });
      case "canceling":
        return cancelingWords({ locale, count: outcome.count });
      case "failed":
        return wordsFor({ reason: outcome.reason, lost: outcome.lost, locale, requestId });
      case undefined:
        return wordsFor({ reason: "internal", locale, requestId });
    }
  }
  return {
    placeholder: ({ ahead = 0, retryOf }) => placeholderWords({ locale, ahead, isRetry: retryOf !== undefined }),
    parts,
  };
}
