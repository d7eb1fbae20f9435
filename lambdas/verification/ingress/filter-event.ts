/** Decides which message events are for the bot: new messages, edits and deletions. */
import { maxTextLength } from "@sekisho/contracts/limits.ts";
import { countForwards } from "../slack/api/shared-files.ts";
import { readUserFiles } from "../slack/api/user-text.ts";
import { isFromApp, isWritten, readMessageText } from "../slack/context/message.ts";
import type { UserMessage } from "../task/messages.ts";
import type { EventCallback } from "./event-callback.ts";
import {
  findAddressing,
  isFromUs,
  listBotUsers,
  type MessageEvent,
  messageEventSchema,
  readUserMessage,
} from "./message-event.ts";

type DropReason =
  | "other_event"
  | "malformed_message"
  | "from_bot"
  | "subtype"
  | "hidden"
  | "edited"
  | "unchanged"
  | "no_user"
  | "not_mentioned";

/** `userMessage` is the newest version, without text and files if it was deleted. */
export type FilteredEvent =
  | { userMessage: UserMessage; kind: "new" | "edited" | "deleted" }
  | { drop: DropReason };

/**
 * Keeps the events that are for the bot: `app_mention`, any `message` in a direct message with it, and a `message` elsewhere that mentions
 * it. The same post may arrive as both events, with the same result. A mention without text is kept too. Any other reply of a person in a
 * thread is kept as `unaddressed`, unless it begins by mentioning someone else. The worker drops it if the bot was not asked in that thread.
 *
 * An edit or a deletion (https://docs.slack.dev/reference/events/message/message_changed, `message_deleted`) is kept if the message was
 * for the bot before or is now. Slack also sends `message_changed` when it adds the preview of a link, and that changes nothing here.
 */
export function filterEvent(callback: EventCallback): FilteredEvent {
  if (callback.event.type !== "message" && callback.event.type !== "app_mention")
    return { drop: "other_event" };
  const { data: event } = messageEventSchema.safeParse(callback.event);
  const versions = event && readVersions(event);
  const latest = versions?.currentVersion ?? versions?.previousVersion;
  if (versions === undefined || latest === undefined) return { drop: "malformed_message" };
  const { previousVersion, currentVersion, kind } = versions;
  const botUsers = listBotUsers(callback, latest);
  if (isFromUs(latest, botUsers, callback.api_app_id)) return { drop: "from_bot" };
  if (!isWritten(latest)) return { drop: "subtype" };
  if (latest.hidden) return { drop: "hidden" };
  // `message_changed` tells the same with the earlier text, from which it is clear what has changed.
  if (latest.edited) return { drop: "edited" };
  if (previousVersion && currentVersion && isSame(previousVersion, currentVersion))
    return { drop: "unchanged" };
  const texts = [previousVersion, currentVersion].flatMap((version) =>
    version ? (version.text ?? "") : [],
  );
  const addressing = findAddressing(callback, latest, {
    texts,
    botUsers,
    isChange: kind !== "new",
  });
  if (addressing === undefined) return { drop: isFromApp(latest) ? "from_bot" : "not_mentioned" };
  const userMessage = readUserMessage(
    callback,
    currentVersion ?? { ...latest, ...emptyMessage },
    botUsers,
  );
  if (userMessage === undefined) return { drop: "no_user" };
  const editMark = kind === "new" ? {} : { editedTs: event?.event_ts ?? latest.ts };
  return { userMessage: { ...userMessage, ...addressing, ...editMark }, kind };
}

/** A deleted message keeps none of its content. */
const emptyMessage = { text: "", files: null, blocks: null, attachments: null };

type Versions = {
  previousVersion?: MessageEvent | undefined;
  /** Undefined if it was deleted. */
  currentVersion?: MessageEvent | undefined;
  kind: "new" | "edited" | "deleted";
};

/** Slack keeps a deleted message that has replies as a tombstone. */
function readVersions(event: MessageEvent): Versions {
  const { subtype, message, previous_message } = event;
  if (subtype !== "message_changed" && subtype !== "message_deleted")
    return { currentVersion: event, kind: "new" };
  const previousVersion = readVersion(event, previous_message);
  if (subtype === "message_deleted" || message?.subtype === "tombstone")
    return { previousVersion, kind: "deleted" };
  return { previousVersion, currentVersion: readVersion(event, message), kind: "edited" };
}

/** The channel is only in the event. A message with replies is its own thread. */
function readVersion(
  { channel, channel_type }: MessageEvent,
  version: MessageEvent["message"],
): MessageEvent | undefined {
  const { ts, thread_ts, ...fields } = version ?? {};
  const thread = { ts, thread_ts: thread_ts === ts ? null : thread_ts };
  const knownFields = { type: "message", channel, channel_type, edited: null, hidden: null };
  return messageEventSchema.safeParse({ ...fields, ...thread, ...knownFields }).data;
}

function isSame(one: MessageEvent, other: MessageEvent): boolean {
  const hasSameForwards = countForwards(one) === countForwards(other);
  return (
    hasSameForwards && ownTextOf(one) === ownTextOf(other) && fileIdsOf(one) === fileIdsOf(other)
  );
}

/** Includes tables, which are in the blocks only. Slack adds previews of links to the attachments. */
function ownTextOf(message: MessageEvent): string {
  return readMessageText({
    message: { ...message, attachments: null },
    botUsers: [],
    maxLength: maxTextLength,
  });
}

function fileIdsOf({ files }: MessageEvent): string {
  return readUserFiles(files ?? [])
    .map(({ id }) => id)
    .join();
}
