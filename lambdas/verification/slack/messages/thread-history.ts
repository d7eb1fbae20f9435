/** The history of a thread for the agent: the newest messages within the contract's limits, oldest first. */

import {
  cutText,
  maxHistoryBytes,
  maxHistoryItems,
  maxHistoryTextLength,
} from "@sekisho/contracts/limits.ts";
import type { ExecuteTaskParams } from "@sekisho/contracts/methods.ts";
import type { UserFile, UserMessage } from "../../task/messages.ts";
import type { Locale } from "../../task/task.ts";
import type { PostKey } from "../api/post-keys.ts";
import type { PostedMessage } from "../api/slack.ts";
import { mrkdwnToMarkdown } from "../context/mrkdwn.ts";
import { addNames, type NameOf } from "../context/names.ts";
import { createReading, textOf } from "../context/values.ts";
import { referenceText } from "./outcome-text.ts";

const locales: readonly Locale[] = ["en", "ja"];

type HistoryItem = NonNullable<ExecuteTaskParams["history"]>[number];

/**
 * Includes the messages that people and other apps wrote before `message`, and the answers that the agent may read, in Markdown. Leaves out
 * placeholders, questions, refusals and notices of Slack. `nameOf` finds the names of the writers and of the ids in their texts.
 */
export function createThreadHistory(options: {
  /** All messages of the thread, in any order. */
  messages: readonly PostedMessage[];
  message: Pick<UserMessage, "ts" | "about">;
  /** True if the agent may read the answers of the destination, or of an unknown one. */
  mayRead: (destination: string | undefined) => boolean;
  nameOf?: NameOf | undefined;
}): HistoryItem[] {
  const { messages, message, mayRead, nameOf = () => undefined } = options;
  const earlierMessages = messages
    // The message that is asked about is the request itself.
    .filter(({ ts }) => Number(ts) < Number(message.ts) && ts !== message.about?.ts)
    .filter(({ from, key }) => from !== "self" || mayRead(key?.destination))
    .sort((a, b) => Number(a.ts) - Number(b.ts))
    .flatMap((message) => toHistoryItem(message, nameOf));
  return keepNewest(earlierMessages);
}

/** Lists the files that others posted since the bot's last answer and before `message`, the newest message first. */
export function listThreadFiles(options: {
  messages: readonly PostedMessage[];
  message: Pick<UserMessage, "ts" | "about">;
}): UserFile[] {
  const { messages, message } = options;
  const earlierMessages = messages
    .filter(({ ts }) => Number(ts) < Number(message.ts) && ts !== message.about?.ts)
    .sort((a, b) => Number(b.ts) - Number(a.ts));
  const answerIndex = earlierMessages.findIndex(isOwnAnswer);
  return earlierMessages
    .slice(0, answerIndex < 0 ? undefined : answerIndex)
    .flatMap(({ files = [] }) => files);
}

/** A post of ours without a key is a stream, or the files of an answer. Failures, questions and placeholders are no answers. */
function isOwnAnswer(post: PostedMessage): boolean {
  return (
    post.from === "self" &&
    (post.key === undefined || toHistoryItem(post, () => undefined).length > 0)
  );
}

function toHistoryItem(message: PostedMessage, nameOf: NameOf): HistoryItem[] {
  const { ts, from, user, name, text: mrkdwn, markdown = mrkdwn } = message;
  const ownText = from === "self" ? answerMarkdown(message) : markdown;
  if (ownText.trim() === "") return [];
  const text = cutText(addNames(ownText, nameOf), maxHistoryTextLength);
  if (from === "self") return [{ role: "assistant", text, ts }];
  if (from === "other_bot")
    return [{ role: "user", text, ts, bot: true, ...(name === undefined ? {} : { name }) }];
  const writer = nameOf(user ?? "");
  return [
    {
      role: "user",
      text,
      ...(user ? { user_id: user } : {}),
      ts,
      ...(writer === undefined ? {} : { name: writer }),
    },
  ];
}

/** Returns "" for a post that is no answer. Slack's text of an answer is what Sekisho wrote, and its blocks are what Slack made of that. */
function answerMarkdown({ text, key }: PostedMessage): string {
  if (key?.kind !== "answer" && key?.kind !== "mrkdwn_answer") return "";
  const reading = createReading({ botUsers: [] });
  const markdown = mrkdwnToMarkdown(findAnswer({ text: textOf(text, reading), key }), reading);
  // Separates marks from letters, which Markdown does not need.
  return markdown.replaceAll("\u200B", "");
}

/**
 * Returns "" for our own text, such as a failure, which ends with the reference. An answer in blocks has the reference in a block of its
 * own. An answer in mrkdwn also ends with the reference, but is of another kind.
 */
function findAnswer({ text, key: { requestId, kind } }: { text: string; key: PostKey }): string {
  const references = locales.map((locale) => `_${referenceText({ locale, requestId })}_`);
  const reference = references.find((candidate) => text.endsWith(candidate));
  if (reference === undefined) return text;
  return kind === "answer" ? "" : text.slice(0, -reference.length).trimEnd();
}

function keepNewest(items: readonly HistoryItem[]): HistoryItem[] {
  const newestItems: HistoryItem[] = [];
  let bytes = 2;
  for (const item of items.slice(-maxHistoryItems).reverse()) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    if (bytes > maxHistoryBytes) break;
    newestItems.push(item);
  }
  return newestItems.reverse();
}
