/** The history of a thread for the agent: the newest messages within the contract's limits, oldest first. */

import { maxHistoryBytes, maxHistoryItems, maxHistoryTextLength } from "../../../../contracts/limits.ts";
import type { ExecuteTaskParams } from "../../../../contracts/methods.ts";
import { truncate } from "../../../shared/untrusted-input.ts";
import type { UserFile, UserMessage } from "../../task/messages.ts";
import type { Locale } from "../../task/task.ts";
import type { PostedMessage, PostKey } from "../api/slack.ts";
import { readUserText, unescapeMrkdwn } from "../api/user-text.ts";
import { answerPart, insteadPart, plainPart } from "./blocks.ts";
import { referenceText } from "./outcome-text.ts";

const locales: readonly Locale[] = ["en", "ja"];

type HistoryItem = NonNullable<ExecuteTaskParams["history"]>[number];

/**
 * Includes the messages that people wrote before `message`, and the agents' answers. Leaves out placeholders, questions, refusals
 * and the posts of other bots, which are not part of this conversation.
 */
export function createThreadHistory(options: {
  /** All messages of the thread, in any order. */
  messages: readonly PostedMessage[];
  message: Pick<UserMessage, "ts" | "botUsers" | "about">;
}): HistoryItem[] {
  const { messages, message } = options;
  const earlier = messages
    // The message that is asked about is the request itself.
    .filter(({ ts }) => Number(ts) < Number(message.ts) && ts !== message.about?.ts)
    .sort((a, b) => Number(a.ts) - Number(b.ts))
    .flatMap((posted) => toHistoryItem(posted, message.botUsers ?? []));
  return keepNewest(earlier);
}

/** Lists the files that others posted since the bot's last answer and before `message`, the newest message first. */
export function listThreadFiles(options: {
  messages: readonly PostedMessage[];
  message: Pick<UserMessage, "ts" | "about">;
}): UserFile[] {
  const { messages, message } = options;
  const earlier = messages
    .filter(({ ts }) => Number(ts) < Number(message.ts) && ts !== message.about?.ts)
    .sort((a, b) => Number(b.ts) - Number(a.ts));
  const answered = earlier.findIndex(isOwnAnswer);
  return earlier.slice(0, answered < 0 ? undefined : answered).flatMap(({ files = [] }) => files);
}

/** A post of ours without a key is a stream, or the files of an answer. Failures, questions and placeholders are no answers. */
function isOwnAnswer(post: PostedMessage): boolean {
  return post.from === "self" && (post.key === undefined || toHistoryItem(post, []).length > 0);
}

function toHistoryItem({ ts, text, from, user, key }: PostedMessage, botUsers: readonly string[]): HistoryItem[] {
  if (from === "other_bot") return [];
  if (from === "self" && (key === undefined || !isAnswer(key.part))) return [];
  const itemText =
    key === undefined ? readUserText({ text, botUsers }) : findAnswer({ text: unescapeMrkdwn(text), key });
  if (itemText.trim() === "") return [];
  const role = from === "self" ? "assistant" : "user";
  return [
    {
      role,
      text: truncate(itemText, maxHistoryTextLength),
      ...(from === "person" && user ? { user_id: user } : {}),
      ts,
    },
  ];
}

/**
 * Returns "" for our own text, such as a failure, which ends with the reference. An answer in blocks has the reference in a block of its
 * own. An answer in mrkdwn also ends with the reference, but has another part number.
 */
function findAnswer({ text, key: { requestId, part } }: { text: string; key: PostKey }): string {
  const references = locales.map((locale) => `_${referenceText({ locale, requestId })}_`);
  const reference = references.find((each) => text.endsWith(each));
  if (reference === undefined) return text;
  return part < plainPart ? "" : text.slice(0, -reference.length).trimEnd();
}

/** True for answers in blocks and in mrkdwn. */
function isAnswer(part: number): boolean {
  return part >= answerPart && part < insteadPart;
}

function keepNewest(items: readonly HistoryItem[]): HistoryItem[] {
  const kept: HistoryItem[] = [];
  let bytes = 2;
  for (const item of items.slice(-maxHistoryItems).reverse()) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    if (bytes > maxHistoryBytes) break;
    kept.push(item);
  }
  return kept.reverse();
}
