/** Turns an agent's answer into Slack messages and files. A very long answer becomes a file itself. */
import type { Locale, Task } from "../../task/task.ts";
import type { MessageContent } from "../api/slack.ts";
import { maxMrkdwnLength } from "../markdown/split.ts";
import { listFiles, longAnswerName, type OutgoingFile } from "./answer-files.ts";
import { type AnswerForm, blocksForm, mrkdwnForm } from "./answer-forms.ts";
import {
  type Answer,
  type AnswerText,
  isLongAnswer,
  readAnswer,
  readBeginning,
} from "./answer-text.ts";
import { cut, feedbackButtons, removeEmpty } from "./blocks.ts";
import {
  aboveText,
  continuedText,
  cutAnswerText,
  emptyAnswerText,
  missingFilesText,
  referenceText,
} from "./outcome-text.ts";

/** The limit for our own text in place of an empty answer. Leaves room for the reference below it. */
const maxEmptyAnswerLength = maxMrkdwnLength - 100;

/** Returns the messages of an answer: its text, notes about its files, and the short request id. */
export function answerParts(request: {
  task: Task;
  answer: Answer;
  locale: Locale;
  /** People can vote on the answer. Messages in mrkdwn have no buttons. */
  canVote: boolean;
}): MessageContent[] {
  const { task, answer, locale, canVote } = request;
  const reading = readAnswer(answer);
  const isLong = isLongAnswer(reading);
  const { files, leftOut } = listFiles(answer, isLong);
  const failedNames = files
    .filter((_, index) => hasFailed({ answer, index }))
    .map(({ name }) => name);
  const missing = missingFilesText({ locale, failed: failedNames, leftOut });
  const isAttached = isLong && !hasFailed({ answer, index: 0 });
  const text = isAttached ? readBeginning(reading) : reading.read();
  const above = aboveText({ task, locale });
  const form = chooseForm(task);
  const { messages, isWhole } = createMessages({ form, text, above });
  const cutText = isAttached
    ? continuedText({ locale, name: longAnswerName })
    : isWhole
      ? ""
      : cutAnswerText[locale];
  const emptyText = emptyAnswerText[locale](files.length - failedNames.length);
  return form.addEnd(messages, {
    notes:
      messages.length === 0
        ? joinLines([above, emptyText, missing])
        : removeEmpty([cutText, missing]),
    reference: referenceText({ locale, requestId: task.id }),
    below: canVote ? [feedbackButtons({ requestId: task.id, locale })] : [],
  });
}

/**
 * Returns the messages of an answer that was canceled while it was written: the text so far, `note` and the reference. Returns none if
 * the text shows nothing.
 */
export function canceledAnswerParts(request: {
  task: Task;
  text: string;
  note: string;
  locale: Locale;
}): MessageContent[] {
  const { task, note, locale } = request;
  const text = readAnswer({ type: "answer", text: request.text }).read();
  const form = chooseForm(task);
  const { messages, isWhole } = createMessages({ form, text, above: aboveText({ task, locale }) });
  if (messages.length === 0) return [];
  const notes = removeEmpty([isWhole ? "" : cutAnswerText[locale], note]);
  const reference = referenceText({ locale, requestId: task.id });
  return form.addEnd(messages, { notes, reference, below: [] });
}

/** Returns the files in the order of the outcome's `uploads`. Every try at a delivery gets the same list. */
export function createOutgoingFiles({ outcome }: Pick<Task, "outcome">): readonly OutgoingFile[] {
  if (outcome?.type !== "answer") return [];
  return listFiles(outcome, isLongAnswer(readAnswer(outcome))).files;
}

/** Escaped file names can make the text longer than a message. */
function joinLines(lines: readonly string[]): string[] {
  return [cut({ text: removeEmpty(lines).join("\n"), maxLength: maxEmptyAnswerLength })];
}

function chooseForm({ mrkdwnFallback }: Task): AnswerForm {
  return mrkdwnFallback ? mrkdwnForm : blocksForm;
}

/** `isWhole` is true if nothing is left out. */
function createMessages(request: { form: AnswerForm; text: AnswerText; above: string }): {
  messages: MessageContent[];
  isWhole: boolean;
} {
  const { form, text, above } = request;
  const messages = form.createMessages(text, above);
  const isWhole = text.isWhole && messages.length <= text.maxMessages;
  return { messages: messages.slice(0, text.maxMessages), isWhole };
}

function hasFailed({ answer, index }: { answer: Answer; index: number }): boolean {
  const upload = answer.uploads?.[index];
  return upload !== undefined && "failed" in upload;
}
