/** What of Slack's events is a message for the bot. */
import { isCancelWord } from "../gate/cancel-word.ts";
import type { AskedMessage } from "../task/messages.ts";
import { askedText, mentions } from "./asked-text.ts";
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

/** Subtypes that are a person's own new message: with files, or a thread's reply that is also shown in the channel. */
const personalSubtypes: readonly string[] = ["file_share", "thread_broadcast"];

/**
 * For the bot are: `app_mention`; any `message` in a direct message with it; a `message` elsewhere that mentions it.
 * The same post may come as both; what comes out is the same. Who says nothing to the bot, or sends only a file, is answered too.
 * And a reply in any thread that is nothing but the word to cancel: whether it means a task of the bot, the worker knows.
 */
export function filterEvent(callback: EventCallback): Filtered {
  if (callback.event.type !== "message" && callback.event.type !== "app_mention") return { drop: "other_event" };
  const { data: event } = messageEventSchema.safeParse(callback.event);
  if (event === undefined) return { drop: "malformed_message" };
  const botUsers = botUsersOf(callback);
  const text = askedText({ text: event.text ?? "", botUsers });
  const { user, thread_ts: threadTs } = event;
  const drop = dropOf({ event, botUsers });
  const unaddressed = drop === "not_mentioned" && threadTs !== undefined && isCancelWord(text);
  if (drop !== undefined && !unaddressed) return { drop };
  if (!user) return { drop: "no_user" };
  return {
    asked: {
      appId: callback.api_app_id,
      team: callback.context_team_id ?? callback.team_id,
      channel: event.channel,
      user,
      ts: event.ts,
      ...(threadTs ? { threadTs } : {}),
      direct: isDirect(event),
      text,
      ...(botUsers.length > 0 ? { botUsers } : {}),
      ...(unaddressed ? { unaddressed } : {}),
    },
  };
}

function dropOf({ event, botUsers }: { event: MessageEvent; botUsers: readonly string[] }): Drop | undefined {
  if (event.bot_id || (event.user && botUsers.includes(event.user))) return "from_bot";
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

/** `app_mention` carries no `channel_type`; ids of direct messages start with D. */
function isDirect(event: MessageEvent): boolean {
  return event.channel_type ? event.channel_type === "im" : event.channel.startsWith("D");
}

function botUsersOf(callback: EventCallback): string[] {
  return (callback.authorizations ?? []).filter(({ is_bot }) => is_bot !== false).map(({ user_id }) => user_id);
}
