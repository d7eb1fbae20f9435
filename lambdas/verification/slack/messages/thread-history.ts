/** The history of a thread for the agent: the newest messages within the contract's limits, oldest first. */

import { maxHistoryBytes, maxHistoryItems, maxHistoryTextLength } from "../../../../contracts/limits.ts";
import type { ExecuteTaskParams } from "../../../../contracts/methods.ts";
import { truncate } from "../../../shared/untrusted-input.ts";
import type { UserMessage } from "../../task/messages.ts";
import type { Locale } from "../../task/task.ts";
import type { PostedMessage, PostKey } from "../api/slack.ts";
import { readUserText, unescapeMrkdwn } from "../api/user-text.ts";
import { answerPart, insteadPart, plainPart } from "./blocks.ts";
import { referenceText } from "./outcome-text.ts";

const locales: readonly Locale[] = ["en", "ja"];

type HistoryItem = NonNullable<ExecuteTaskParams["history"]>[number];

/**
 * Includes the messages that people wrote before `message`, and the answers that the agent may read. Leaves out placeholders, questions, refusals
 * and the posts of other bots, which are not part of this conversation.
 */
export function createThreadHistory(options: {
  /** All messages of the thread, in any order. */
  messages: readonly PostedMessage[];
  message: Pick<UserMessage, "ts" | "botUsers" | "about">;
  /** True if the agent may read the answers of the destination, or of an unknown one. */
  mayRead: (destination: string | undefined) => boolean;
}): HistoryItem[] {
  const { messages, message, mayRead } = options;
  const earlier = messages
    // The message that is asked about is the request itself.
    .filter(({ ts }) => Number(ts) < Number(message.ts) && ts !== message.about?.ts)
    .filter(({ from, key }) => from !== "self" || mayRead(key?.destination))
    .sort((a, b) => Number(a.ts) - Number(b.ts))
    .flatMap((posted) => toHistoryItem(posted, message.botUsers ?? []));
  return keepNewest(earlier);
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
