/** What of Slack's events is a message for the bot. */
import type { AskedMessage } from "../task/messages.ts";
import { askedFiles } from "./asked-files.ts";
import { askedText, beginsWithOther, mentions, mentionsSomebody, otherBotUser } from "./asked-text.ts";
import { installationOfEvent } from "./installation.ts";
import { type EventCallback, type MessageEvent, messageEventSchema } from "./payload.ts";

/** Why an event is no message for the bot. */
type Drop =
  | "other_event"
  | "malformed_message"
  | "from_bot"
  | "subtype"
  | "hidden"
  | "edited"
  | "no_user"
  | "not_mentioned";

export type Filtered = { asked: AskedMessage } | { drop: Drop };

/** Subtypes that are a person's own new message: with files, a thread's reply that is also shown in the channel, `/me`. */
const personalSubtypes: readonly string[] = ["file_share", "thread_broadcast", "me_message"];
/** Slack itself: reminders, and what it says by itself. */
const slackbot = "USLACKBOT";

/**
 * For the bot are: `app_mention`; any `message` in a direct message with it; a `message` elsewhere that mentions it.
 * The same post may come as both; what comes out is the same. Who says nothing to the bot, or sends only a file, is answered too.
 * Any other reply in a thread goes on as unaddressed, unless it begins by speaking to somebody else: whether the thread is one of
 * the bot, and what is meant (an answer, a further question, the word to cancel), the worker knows; else it is forgotten there.
 */
export function filterEvent(callback: EventCallback): Filtered {
  if (callback.event.type !== "message" && callback.event.type !== "app_mention") return { drop: "other_event" };
  const { data: event } = messageEventSchema.safeParse(callback.event);
  if (event === undefined) return { drop: "malformed_message" };
  const botUsers = botUsersOf({ callback, event });
  const { user, thread_ts: threadTs } = event;
  const drop = dropOf({ event, botUsers });
  const unaddressed = drop === "not_mentioned" && isReplyToAnyone({ event, botUsers });
  if (drop !== undefined && !unaddressed) return { drop };
  if (!user) return { drop: "no_user" };
  return {
    asked: {
      appId: callback.api_app_id,
      ...installationOfEvent(callback),
      channel: event.channel,
      user,
      ts: event.ts,
      ...(threadTs ? { threadTs } : {}),
      direct: isDirect(event),
      text: askedText({ text: event.text ?? "", botUsers }),
      ...(botUsers.length > 0 ? { botUsers } : {}),
      ...(unaddressed ? { unaddressed } : {}),
      ...(unaddressed && callback.is_ext_shared_channel && mentionsSomebody(event.text ?? "")
        ? { perhapsAddressed: true }
        : {}),
      ...(event.files?.length ? { files: askedFiles(event.files) } : {}),
    },
  };
}

function dropOf({ event, botUsers }: { event: MessageEvent; botUsers: readonly string[] }): Drop | undefined {
  if (event.bot_id || event.bot_profile || event.user === slackbot) return "from_bot";
  if (event.user && botUsers.includes(event.user)) return "from_bot";
  if (event.subtype && !personalSubtypes.includes(event.subtype)) return "subtype";
  if (event.hidden) return "hidden";
  if (event.edited) return "edited";
  return isAddressed({ event, botUsers }) ? undefined : "not_mentioned";
}

function isAddressed({ event, botUsers }: { event: MessageEvent; botUsers: readonly string[] }): boolean {
  if (event.type === "app_mention") return true;
  // Delivered for a person's token, a direct message is one between people.
  if (isDirect(event)) return botUsers.length > 0;
  return mentions({ text: event.text ?? "", botUsers });
}

/** What was delivered for a person's token alone is a conversation between people, thread or not. */
function isReplyToAnyone({ event, botUsers }: { event: MessageEvent; botUsers: readonly string[] }): boolean {
  return botUsers.length > 0 && Boolean(event.thread_ts) && !beginsWithOther({ text: event.text ?? "", botUsers });
}

/** `app_mention` carries no `channel_type`; ids of direct messages start with D. */
function isDirect(event: MessageEvent): boolean {
  return event.channel_type === "im" || event.channel.startsWith("D");
}

function botUsersOf({ callback, event }: { callback: EventCallback; event: MessageEvent }): string[] {
  const users = (callback.authorizations ?? []).filter(({ is_bot }) => is_bot !== false).map(({ user_id }) => user_id);
  if (event.type !== "app_mention" || !callback.is_ext_shared_channel) return users;
  return [...users, ...otherBotUser({ text: event.text ?? "", botUsers: users, author: event.user })];
}
