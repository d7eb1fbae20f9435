/** Decides which message events are for the bot, and reads them: the text, who wrote it, and whether the channel is shared. */
import * as z from "zod/mini";
import {
  findOtherBotUser,
  hasMention,
  isAddressedToOther,
  isMentioned,
  readUserFiles,
  readUserText,
  slackId,
} from "../slack/api/user-text.ts";
import type { UserMessage } from "../task/messages.ts";
import { type EventCallback, readInstallation, slackTs } from "./event-callback.ts";

export type DropReason =
  | "other_event"
  | "malformed_message"
  | "from_bot"
  | "subtype"
  | "hidden"
  | "edited"
  | "no_user"
  | "not_mentioned";

export type FilteredEvent = { userMessage: UserMessage } | { drop: DropReason };

/** Subtypes of a new message: with files, a reply that is also sent to the channel, `/me`, of an older integration or a workflow. */
const newMessageSubtypes: readonly string[] = ["file_share", "thread_broadcast", "me_message", "bot_message"];
/** The user id of Slack's own messages, such as reminders. */
const slackbot = "USLACKBOT";

/**
 * Keeps the events that are for the bot: `app_mention`, any `message` in a direct message with it, and a `message` elsewhere that mentions
 * it. The same post may arrive as both events, with the same result. A mention without text is kept too. Any other reply of a person in a
 * thread is kept as `unaddressed`, unless it begins by mentioning someone else. The worker drops it if the bot was not asked in that thread.
 */
export function filterEvent(callback: EventCallback): FilteredEvent {
  if (callback.event.type !== "message" && callback.event.type !== "app_mention") return { drop: "other_event" };
  const { data: event } = messageEventSchema.safeParse(callback.event);
  if (event === undefined) return { drop: "malformed_message" };
  const botUsers = listBotUsers(callback, event);
  const drop = findDropReason(event, botUsers, callback.api_app_id);
  if (drop !== undefined) return { drop };
  const addressing = findAddressing({ callback, event, texts: [event.text ?? ""], botUsers });
  if (addressing === undefined) return { drop: isFromBot(event) ? "from_bot" : "not_mentioned" };
  const userMessage = readUserMessage({ callback, event, botUsers, addressing });
  return userMessage === undefined ? { drop: "no_user" } : { userMessage };
}

function findDropReason(event: MessageEvent, botUsers: readonly string[], appId: string): DropReason | undefined {
  if (isFromUs({ event, botUsers, appId })) return "from_bot";
  if (!isNewMessage(event)) return "subtype";
  if (event.hidden) return "hidden";
  // `message_changed` tells the same with the earlier text, from which it is clear what has changed.
  if (event.edited) return "edited";
  return undefined;
}

/** False for messages of Slack itself, such as that somebody has joined, and for changes of messages. */
export function isNewMessage({ subtype }: MessageEvent): boolean {
  return !subtype || newMessageSubtypes.includes(subtype);
}

/** True for the app's own posts, so that it never answers itself, and for Slack's own. */
export function isFromUs(about: { event: MessageEvent; botUsers: readonly string[]; appId: string }): boolean {
  const { event, botUsers, appId } = about;
  const { user, app_id, bot_profile } = event;
  if (user === slackbot || (user && botUsers.includes(user))) return true;
  return app_id === appId || bot_profile?.app_id === appId;
}

function isFromBot({ bot_id, bot_profile, subtype }: MessageEvent): boolean {
  return Boolean(bot_id || bot_profile) || subtype === "bot_message";
}

type Addressing = Pick<UserMessage, "unaddressed" | "perhapsAddressed">;

/**
 * Says how the message speaks to the bot. Undefined if it does not. `texts` are all versions of an edited message: it is for the bot if one
 * of them is. Another bot always has to mention it, because bots that answer each other's replies would never stop.
 */
export function findAddressing(about: {
  callback: EventCallback;
  event: MessageEvent;
  texts: readonly string[];
  botUsers: readonly string[];
}): Addressing | undefined {
  const { callback, event, texts, botUsers } = about;
  const isForBot = texts.some((text) => isAddressed({ ...event, text }, botUsers));
  if (isForBot || isFromBot(event)) return isForBot ? {} : undefined;
  // Without a bot user the event was delivered for a person's token, so the thread is between people.
  if (botUsers.length === 0 || !event.thread_ts) return undefined;
  if (texts.every((text) => isAddressedToOther({ text, botUsers }))) return undefined;
  const perhapsAddressed = callback.is_ext_shared_channel && texts.some(hasMention);
  return { unaddressed: true, ...(perhapsAddressed ? { perhapsAddressed } : {}) };
}

function isAddressed(event: MessageEvent, botUsers: readonly string[]): boolean {
  if (event.type === "app_mention") return true;
  // Without a bot user the event was delivered for a person's token, so the direct message is between people.
  if (isDirect(event) && !isFromBot(event)) return botUsers.length > 0;
  return isMentioned({ text: event.text ?? "", botUsers });
}

/** Checks the id too, because `app_mention` has no `channel_type`. Ids of direct messages start with D. */
function isDirect(event: MessageEvent): boolean {
  return event.channel_type === "im" || event.channel.startsWith("D");
}

export function listBotUsers(callback: EventCallback, event: MessageEvent): string[] {
  const users = (callback.authorizations ?? []).filter(({ is_bot }) => is_bot !== false).map(({ user_id }) => user_id);
  if (event.type !== "app_mention" || !callback.is_ext_shared_channel) return users;
  return [...users, ...findOtherBotUser({ text: event.text ?? "", botUsers: users, author: event.user })];
}

/** Undefined for a message of nobody. */
export function readUserMessage(about: {
  callback: EventCallback;
  event: MessageEvent;
  botUsers: readonly string[];
  addressing: Addressing;
}): UserMessage | undefined {
  const { callback, event, botUsers, addressing } = about;
  const { thread_ts: threadTs } = event;
  // A workflow, and some older integrations, have no user.
  const user = event.user || event.bot_id;
  if (!user) return undefined;
  const external = readExternal(callback, event);
  const installation = readInstallation(callback);
  const userTeam = event.user_team ?? event.source_team;
  return {
    appId: callback.api_app_id,
    ...installation,
    channel: event.channel,
    user,
    ...(userTeam && userTeam !== installation.team ? { userTeam } : {}),
    ts: event.ts,
    ...(threadTs ? { threadTs } : {}),
    direct: isDirect(event),
    text: readUserText({ text: event.text ?? "", botUsers }),
    ...(botUsers.length > 0 ? { botUsers: [...botUsers] } : {}),
    ...(isFromBot(event) ? { botIds: readBotIds(event) } : {}),
    ...(external === undefined ? {} : { external }),
    ...addressing,
    ...(event.files?.length ? { files: readUserFiles(event.files) } : {}),
  };
}

/** A workflow's bot id may differ from run to run, so its `workflow_id` counts too. Slack does not document that field. */
function readBotIds({ bot_id, app_id, bot_profile, workflow_id }: MessageEvent): string[] {
  const ids = [bot_id, bot_profile?.id, app_id, bot_profile?.app_id, workflow_id];
  return [...new Set(ids.flatMap((id) => id || []))];
}

/** Compares every workspace that Slack names for the author. If it names none in a shared channel, the author counts as a stranger. */
function readExternal(callback: EventCallback, event: MessageEvent): UserMessage["external"] {
  if (!callback.is_ext_shared_channel) return undefined;
  const { team, enterprise } = readInstallation(callback);
  const own: readonly unknown[] = [team, enterprise, callback.context_enterprise_id];
  const { user_team, source_team, team: authorTeam, bot_profile } = event;
  const named = [user_team, source_team, authorTeam, bot_profile?.team_id].filter(Boolean);
  return named.length > 0 && named.every((one) => own.includes(one)) ? "channels" : "people";
}

const optionalText = z.nullish(z.string());

/** `message` and `app_mention`, of any subtype. */
export const messageEventSchema = z.object({
  type: z.literal(["message", "app_mention"]),
  subtype: optionalText,
  hidden: z.nullish(z.boolean()),
  edited: z.optional(z.unknown()),
  bot_id: z.nullish(slackId),
  app_id: z.nullish(slackId),
  bot_profile: z.nullish(z.object({ id: optionalText, app_id: optionalText, team_id: optionalText })),
  workflow_id: z.nullish(slackId),
  user: z.nullish(slackId),
  /** The author's workspace. In a channel of Slack Connect the other two name it as well. */
  team: optionalText,
  user_team: optionalText,
  source_team: optionalText,
  channel: slackId,
  channel_type: optionalText,
  ts: slackTs,
  thread_ts: z.nullish(slackTs),
  text: optionalText,
  /** Parsed one by one, so that a malformed file does not drop the message. */
  files: z.nullish(z.array(z.unknown())),
});
export type MessageEvent = z.infer<typeof messageEventSchema>;
