/** Reads the text of an agent's answer: once, for the messages and for whether it becomes a file. */
import { truncate } from "@sekisho/runtime/untrusted-input.ts";
import type { TaskOutcome } from "../../task/task.ts";
import type { Markdown } from "../markdown/markdown.ts";
import { mrkdwnBlocks } from "../markdown/mrkdwn.ts";
import { safeMarkdown } from "../markdown/safe-markdown.ts";
import { splitMarkdown } from "../markdown/safe-parts.ts";
import { countParts, maxMarkdownLength, maxMrkdwnLength } from "../markdown/split.ts";
import type { TextBlock } from "../markdown/text-blocks.ts";

export type Answer = Extract<TaskOutcome, { type: "answer" }>;

/** An answer that needs more messages becomes a file, because nobody reads that many. */
const maxParts = 5;
/** In mrkdwn, the same text takes about three times as many messages. */
const maxMrkdwnParts = 18;
/** The limit for every answer. Only an answer that could not be attached as a file comes near it. */
export const maxMessages = 20;
/** Text beyond this length is ignored. */
const maxReadLength = maxMessages * maxMarkdownLength;
/** A text of at most this length never becomes a file, and a longer one than `maxMessageLength` always does. */
const minFileLength = 1000;
const maxMessageLength = maxParts * maxMarkdownLength;
/** How much of an attached answer the message shows. */
const maxBeginningLength = 3500;

/** A text that messages show. It is safe. */
export type AnswerText = {
  markdown: Markdown;
  /** Each fits into one markdown block. */
  parts: readonly Markdown[];
  mrkdwn: readonly TextBlock[];
  maxMessages: number;
  /** False if the end of the agent's text was not read. */
  isWhole: boolean;
};

/** An answer whose text is read when it is first needed. */
export type AnswerReading = { answer: Answer; read(): AnswerText };

export function readAnswer(answer: Answer): AnswerReading {
  let answerText: AnswerText | undefined;
  return {
    answer,
    read() {
      answerText ??= readText(answer.text);
      return answerText;
    },
  };
}

function readText(text: string): AnswerText {
  const markdown = safeMarkdown(truncate(text, maxReadLength));
  return {
    markdown,
    parts: [...splitMarkdown({ markdown, maxLength: maxMarkdownLength })],
    mrkdwn: mrkdwnBlocks(markdown),
    maxMessages,
    isWhole: text.length <= maxReadLength,
  };
}

/** Returns the beginning of the text, in at most one message. */
export function readBeginning({ answer: { text }, read }: AnswerReading): AnswerText {
  // Three times the shown length is enough to read, since a long text takes time.
  const markdown =
    text.length > maxMessageLength
      ? safeMarkdown(text.slice(0, maxBeginningLength * 3))
      : read().markdown;
  const [part = markdown] = splitMarkdown({ markdown, maxLength: maxBeginningLength });
  return {
    markdown: part,
    parts: [part],
    mrkdwn: mrkdwnBlocks(part),
    maxMessages: 1,
    isWhole: false,
  };
}

/**
 * True if the text becomes a file. Depends only on the agent's text, so that every try at a delivery has the same files, even after
 * Slack has refused the blocks. The length of the text is not enough: padded table columns and escaped characters make messages longer
 * than the text.
 */
export function isLongAnswer({ answer: { text }, read }: AnswerReading): boolean {
  const { length } = text;
  return length > maxMessageLength || (length > minFileLength && needsManyMessages(read()));
}

function needsManyMessages({ parts, mrkdwn }: AnswerText): boolean {
  const mrkdwnParts = countParts({ blocks: mrkdwn, maxLength: maxMrkdwnLength });
  return parts.length > maxParts || mrkdwnParts > maxMrkdwnParts;
}
