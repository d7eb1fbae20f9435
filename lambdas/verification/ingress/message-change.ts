/**
 * Reads an edit or a deletion of a message (https://docs.slack.dev/reference/events/message/message_changed and
 * https://docs.slack.dev/reference/events/message/message_deleted). Both have the message as it was before.
 */
import * as z from "zod/mini";
import { hasMention } from "../slack/api/user-text.ts";
import type { UserMessage } from "../task/messages.ts";
import { type EventCallback, slackTs } from "./event-callback.ts";
import {
  type DropReason,
  findAddressing,
  isFromUs,
  isNewMessage,
  listBotUsers,
  type MessageEvent,
  messageEventSchema,
  readUserMessage,
} from "./message-event.ts";

export type ChangedMessage = { userMessage: UserMessage; isDeleted: boolean } | { drop: DropReason | "unchanged" };

const changeSchema = z.object({
  subtype: z.literal(["message_changed", "message_deleted"]),
  channel: z.string(),
  channel_type: z.nullish(z.string()),
  /** The time of the change. */
  ts: slackTs,
  event_ts: z.nullish(slackTs),
  message: z.nullish(z.looseObject({})),
  previous_message: z.nullish(z.looseObject({})),
});
type Change = z.infer<typeof changeSchema>;

/**
 * Returns undefined if the event is neither an edit nor a deletion. Keeps those of messages that are for the bot, before or after the edit.
 * Slack also sends `message_changed` when it adds the preview of a link, and that changes nothing here.
 */
export function readChange(callback: EventCallback): ChangedMessage | undefined {
  const { data: change } = changeSchema.safeParse(callback.event);
  if (change === undefined) return undefined;
  // Slack keeps a deleted message that has replies as a tombstone.
  const isDeleted = change.subtype === "message_deleted" || change.message?.subtype === "tombstone";
  const before = parseVersion(change, change.previous_message);
  const after = isDeleted ? undefined : parseVersion(change, change.message);
  const event = after ?? before;
  if (event === undefined) return { drop: "malformed_message" };
  const botUsers = listBotUsers(callback, event);
  if (isFromUs({ event, botUsers, appId: callback.api_app_id })) return { drop: "from_bot" };
  if (!isNewMessage(event)) return { drop: "subtype" };
  if (after !== undefined && isSame(before, after)) return { drop: "unchanged" };
  const texts = [before, after].flatMap((version) => (version === undefined ? [] : (version.text ?? "")));
  const addressing = findAddressing({ callback, event, texts, botUsers }) ?? toOtherBotUser(callback, texts);
  if (addressing === undefined) return { drop: "not_mentioned" };
  const userMessage = readUserMessage({ callback, event, botUsers, addressing });
  if (userMessage === undefined) return { drop: "no_user" };
  const editedTs = change.event_ts ?? change.ts;
  if (!isDeleted) return { userMessage: { ...userMessage, editedTs }, isDeleted };
  const { files: _files, ...known } = userMessage;
  return { userMessage: { ...known, text: "", editedTs }, isDeleted };
}

/** The channel is only in the event. A message with replies is its own thread. */
function parseVersion({ channel, channel_type }: Change, version: Change["message"]): MessageEvent | undefined {
  if (!version) return undefined;
  const { ts, thread_ts, edited: _edited, hidden: _hidden, ...fields } = version;
  const threadTs = thread_ts === ts ? {} : { thread_ts };
  return messageEventSchema.safeParse({ ...fields, ts, ...threadTs, type: "message", channel, channel_type }).data;
}

/** Without the earlier version, the worker compares the text with what it has. */
function isSame(before: MessageEvent | undefined, after: MessageEvent): boolean {
  return before !== undefined && before.text === after.text && fileIdsOf(before) === fileIdsOf(after);
}

function fileIdsOf({ files }: MessageEvent): string {
  return (files ?? []).map((file) => String(Object(file).id)).join();
}

/** In a Slack Connect channel a mention may be of the bot's user in another workspace. Then the worker knows the task already. */
function toOtherBotUser({ is_ext_shared_channel }: EventCallback, texts: readonly string[]) {
  const isPerhaps = is_ext_shared_channel && texts.some(hasMention);
  return isPerhaps ? ({ unaddressed: true, perhapsAddressed: true } as const) : undefined;
}
