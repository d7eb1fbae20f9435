/** Reads a message event: whether it speaks to the bot, its text, who wrote it, and whether the channel is shared. */

import { maxTextLength } from "@sekisho/contracts/limits.ts";
import * as z from "zod/mini";
import { readSharedFiles } from "../slack/api/shared-files.ts";
import {
  findOtherBotUser,
  hasMention,
  isAddressedToOther,
  isMentioned,
  readUserFiles,
  slackId,
} from "../slack/api/user-text.ts";
import { isFromApp, readMessageText } from "../slack/context/message.ts";
import { readOpenItems } from "../slack/context/open-items.ts";
import type { UserMessage } from "../task/messages.ts";
import { type EventCallback, readInstallation, slackTs } from "./event-callback.ts";

/** The user id of Slack's own messages, such as reminders. */
const slackbot = "USLACKBOT";

/** True for the app's own posts, so that it never answers itself, and for Slack's own. */
export function isFromUs(
  { user, app_id, bot_profile }: MessageEvent,
  botUsers: readonly string[],
  appId: string,
) {
  return (
    user === slackbot ||
    botUsers.includes(user ?? "") ||
    app_id === appId ||
    bot_profile?.app_id === appId
  );
}

type Addressing = Pick<UserMessage, "unaddressed" | "perhapsAddressed">;

/**
 * Says how the message speaks to the bot. Undefined if it does not. An edited message does if one of its `texts`, before and after, does.
 * A message with files that may mention the bot is kept, because its `app_mention` may lack the files. Another bot always has to mention
 * it, because bots that answer each other's replies would never stop.
 */
export function findAddressing(
  callback: EventCallback,
  event: MessageEvent,
  {
    texts,
    botUsers,
    isChange,
  }: { texts: readonly string[]; botUsers: readonly string[]; isChange: boolean },
): Addressing | undefined {
  if (texts.some((text) => isAddressed({ ...event, text }, botUsers))) return {};
  if (isFromApp(event)) return undefined;
  // In a Slack Connect channel, the mention may be of the bot's user in another workspace.
  const isPerhaps = callback.is_ext_shared_channel && texts.some(hasMention);
  // Without a bot user the event was delivered for a person's token, so the thread is between people.
  const isReply =
    botUsers.length > 0 &&
    event.thread_ts &&
    !texts.every((text) => isAddressedToOther({ text, botUsers }));
  // If the message of a change, or of files, has asked the bot, the worker knows it.
  const mayBelongToTask = isChange || (event.files ?? []).length > 0;
  if (!isReply && !(mayBelongToTask && isPerhaps)) return undefined;
  return { unaddressed: true, ...(isPerhaps ? { perhapsAddressed: true } : {}) };
}

function isAddressed(event: MessageEvent, botUsers: readonly string[]): boolean {
  if (event.type === "app_mention") return true;
  // Without a bot user the event was delivered for a person's token, so the direct message is between people.
  if (isDirect(event) && !isFromApp(event)) return botUsers.length > 0;
  return isMentioned({ text: event.text ?? "", botUsers });
}

/** Checks the id too, because `app_mention` has no `channel_type`. Ids of direct messages start with D. */
function isDirect(event: MessageEvent): boolean {
  return event.channel_type === "im" || event.channel.startsWith("D");
}

export function listBotUsers(callback: EventCallback, event: MessageEvent): string[] {
  const users = (callback.authorizations ?? [])
    .filter(({ is_bot }) => is_bot !== false)
    .map(({ user_id }) => user_id);
  if (event.type !== "app_mention" || !callback.is_ext_shared_channel) return users;
  return [
    ...users,
    ...findOtherBotUser({ text: event.text ?? "", botUsers: users, author: event.user }),
  ];
}

/** Undefined for a message of nobody. */
export function readUserMessage(
  callback: EventCallback,
  event: MessageEvent,
  botUsers: string[],
): UserMessage | undefined {
  const { thread_ts: threadTs } = event;
  // A workflow, and some older integrations, have no user. Whoever set up an integration did not write its messages.
  const user = (event.subtype !== "bot_message" && event.user) || event.bot_id;
  if (!user) return undefined;
  const external = readExternal(callback, event);
  const installation = readInstallation(callback);
  const open = isDirect(event) ? readOpenItems(event.app_context) : [];
  const sharedFiles = readSharedFiles(event);
  const userTeam = listAuthorTeams(event).find((team) => team !== installation.team);
  return {
    appId: callback.api_app_id,
    ...installation,
    channel: event.channel,
    user,
    ...(userTeam === undefined ? {} : { userTeam }),
    ts: event.ts,
    ...(threadTs ? { threadTs } : {}),
    direct: isDirect(event),
    text: readMessageText({ message: event, botUsers, maxLength: maxTextLength }),
    ...(botUsers.length > 0 ? { botUsers } : {}),
    ...(isFromApp(event) ? { botIds: readBotIds(event) } : {}),
    ...(external === undefined ? {} : { external }),
    ...(open.length > 0 ? { open } : {}),
    ...(event.files?.length ? { files: readUserFiles(event.files) } : {}),
    ...(sharedFiles.length > 0 ? { sharedFiles } : {}),
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
  const authorTeams = listAuthorTeams(event);
  return authorTeams.length > 0 && authorTeams.every((one) => own.includes(one))
    ? "channels"
    : "people";
}

/** Every workspace or organization that Slack names for the author. */
function listAuthorTeams({ user_team, source_team, team, bot_profile }: MessageEvent): string[] {
  return [user_team, source_team, team, bot_profile?.team_id].flatMap((team) => team || []);
}

const optionalText = z.nullish(z.string());

/** `message` and `app_mention`, of any subtype. */
export const messageEventSchema = z.object({
  type: z.literal(["message", "app_mention"]),
  subtype: optionalText,
  /** The time of the event, which differs from the message's for edits and deletions. */
  event_ts: z.nullish(slackTs),
  message: z.nullish(z.looseObject({})),
  previous_message: z.nullish(z.looseObject({})),
  hidden: z.nullish(z.boolean()),
  edited: z.optional(z.unknown()),
  bot_id: z.nullish(slackId),
  app_id: z.nullish(slackId),
  bot_profile: z.nullish(
    z.object({ id: optionalText, app_id: optionalText, team_id: optionalText }),
  ),
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
  /** Read without a schema, because apps may write anything there. */
  blocks: z.optional(z.unknown()),
  attachments: z.optional(z.unknown()),
  /** The items that the person has open, in direct messages with an agent. */
  app_context: z.optional(z.unknown()),
  /** Parsed one by one, so that a malformed file does not drop the message. */
  files: z.nullish(z.array(z.unknown())),
});
export type MessageEvent = z.infer<typeof messageEventSchema>;
