/** Reads all that people see of a message, as one text in Markdown for the agent. */

import { cutText } from "@sekisho/contracts/limits.ts";
import { readAttachments } from "./attachments.ts";
import { removeBotMentions } from "./mrkdwn.ts";
import {
  createReading,
  type Fields,
  fieldsOf,
  joinParagraphs,
  markCut,
  toStorable,
} from "./values.ts";
import { wordsOf } from "./words.ts";

/**
 * A message that somebody wrote: with files, a reply that is also sent to the channel, `/me`, of an older integration or a workflow, or
 * a forwarded message. Other subtypes are notices of Slack, such as that somebody has joined.
 */
const writtenSubtypes: readonly unknown[] = [
  "file_share",
  "thread_broadcast",
  "me_message",
  "bot_message",
  "message_share",
];

export function isWritten({ subtype }: { subtype?: unknown }): boolean {
  return !subtype || writtenSubtypes.includes(subtype);
}

/** A person's message can also carry an app id, of the app that it was written with. Only apps have the other fields. */
export function isFromApp({ bot_id, bot_profile, subtype }: Fields): boolean {
  return Boolean(bot_id || bot_profile) || subtype === "bot_message";
}

/**
 * Returns the words of the message without mentions of the bot, then a line per link preview, then the forwarded messages as quotations.
 * A text longer than `maxLength` is cut, and says so. Words of the message itself are cut to one character above `maxLength`, so that
 * the worker refuses them instead of running half of them.
 */
export function readMessageText(request: {
  message: unknown;
  botUsers: readonly string[];
  maxLength: number;
}): string {
  const { message, botUsers, maxLength } = request;
  const { text, blocks, attachments, ...fields } = fieldsOf(message);
  const reading = createReading({ botUsers });
  const words = wordsOf({ text, blocks }, { reading, isApp: isFromApp(fields) });
  const { own, previews, forwards } = readAttachments(attachments, {
    reading,
    isShareMessage: fields.subtype === "message_share",
  });
  const ownText = removeBotMentions(joinParagraphs([words, ...own])).trim();
  if (ownText.length > maxLength) return toStorable(ownText.slice(0, maxLength + 1));
  // A preview by itself is nothing that somebody wrote.
  if (ownText === "" && forwards.length === 0) return "";
  const whole = joinParagraphs([ownText, ...previews, ...forwards]);
  return cutText(reading.budget.isCut ? markCut(whole) : whole, maxLength);
}
