/**
 * Converts one verified payload of Slack, received over HTTP or Socket Mode, to one queue message or to the reason for dropping it
 * (https://docs.slack.dev/apis/events-api).
 */
import * as z from "zod/mini";
import type { Trace } from "../../shared/telemetry/telemetry.ts";
import {
  boundedText,
  findOtherBotUser,
  hasMention,
  isAddressedToOther,
  isMentioned,
  readUserFiles,
  readUserText,
  slackId,
} from "../slack/api/user-text.ts";
import { decodeButton } from "../slack/messages/blocks.ts";
import type {
  AskMessage,
  ButtonClick,
  ConversationOpened,
  Interaction,
  SessionStopped,
  UserMessage,
} from "../task/messages.ts";
import { interactionIdOf, requestIdOf } from "../task/routing.ts";

const slackTs = z.string().check(z.regex(/^(?=.{3,32}$)\d+\.\d+$/));

/** Types are named as in Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode). Over HTTP the signature was verified. */
export type VerifiedPayload = { type: "events_api" | "slash_commands" | "interactive"; payload: unknown };

export type InterpretedPayload = { message: AskMessage | Interaction } | { drop: string };

/** A payload without the form that Slack documents is dropped as `unknown_payload`. */
export function interpretPayload({
  verified: { type, payload },
  nowMs,
  newTrace,
}: {
  verified: VerifiedPayload;
  nowMs: number;
  newTrace: () => Trace;
}): InterpretedPayload {
  const toAskMessage = (requestId: string, message: UserMessage): InterpretedPayload => ({
    message: { type: "ask", requestId, receivedAtMs: nowMs, trace: newTrace(), message },
  });
  if (type === "interactive") return toButtonClick(payload, nowMs);
  if (type === "slash_commands") {
    const command = toSlashCommand(payload, nowMs);
    return "drop" in command ? command : toAskMessage(command.requestId, command.userMessage);
  }
  const { data: callback } = eventCallbackSchema.safeParse(payload);
  if (callback === undefined) return { drop: "unknown_payload" };
  switch (callback.event.type) {
    case "assistant_thread_started":
      return toConversationOpened(callback);
    case "app_home_opened":
      return toMessagesTabOpened(callback);
    case "agent_session_stopped":
      return toSessionStopped(callback);
  }
  const filtered = filterEvent(callback);
  return "drop" in filtered ? filtered : toAskMessage(requestIdOf(filtered.userMessage), filtered.userMessage);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses the three kinds of request bodies: JSON of the Events API, the form of a slash command
 * (https://docs.slack.dev/interactivity/implementing-slash-commands), and the form of a button, whose `payload` is JSON
 * (https://docs.slack.dev/interactivity/handling-user-interaction). The bytes decide, not the content type. Returns undefined for any
 * other body.
 */
export function parseBody(body: Uint8Array): VerifiedPayload | { challenge: string } | undefined {
  try {
    const text = strictUtf8.decode(body);
    return text.startsWith("{") ? readJsonPayload(JSON.parse(text)) : readFormPayload(new URLSearchParams(text));
  } catch {
    return undefined;
  }
}

function readJsonPayload(payload: unknown): VerifiedPayload | { challenge: string } {
  // The schema takes ten times as long to refuse an event as this comparison.
  const isVerification = Object(payload).type === "url_verification";
  const { data } = isVerification ? urlVerificationSchema.safeParse(payload) : {};
  return data === undefined ? { type: "events_api", payload } : { challenge: data.challenge };
}

function readFormPayload(form: URLSearchParams): VerifiedPayload | undefined {
  const interaction = form.get("payload");
  if (interaction !== null) return { type: "interactive", payload: JSON.parse(interaction) };
  return form.has("command") ? { type: "slash_commands", payload: Object.fromEntries(form) } : undefined;
}

/** `enterprise` is absent if the app is installed in the workspace itself. */
type InstallationFields = { team: string; enterprise?: string };

/** With Slack Connect, `team_id` may be the author's workspace. The authorization says whether the organization installed the app. */
function readInstallation(callback: EventCallback): InstallationFields {
  const authorization = (callback.authorizations ?? []).find(({ is_enterprise_install }) => is_enterprise_install);
  const organization =
    authorization && (authorization.enterprise_id ?? callback.context_enterprise_id ?? callback.enterprise_id);
  return installationFields(callback.context_team_id ?? callback.team_id, organization);
}

function installationFields(team: string, organization: string | null | undefined): InstallationFields {
  return organization ? { team, enterprise: organization } : { team };
}

type DropReason =
  | "other_event"
  | "malformed_message"
  | "from_bot"
  | "subtype"
  | "hidden"
  | "edited"
  | "no_user"
  | "not_mentioned";

export type FilteredEvent = { userMessage: UserMessage } | { drop: DropReason };

/** Subtypes of a person's own new message: with files, a reply that is also sent to the channel, `/me`. */
const newMessageSubtypes: readonly string[] = ["file_share", "thread_broadcast", "me_message"];
/** The user id of Slack's own messages, such as reminders. */
const slackbot = "USLACKBOT";

/**
 * Keeps the events that are for the bot: `app_mention`, any `message` in a direct message with it, and a `message` elsewhere that mentions
 * it. The same post may arrive as both events, with the same result. A mention without text is kept too. Any other reply in a thread is
 * kept as `unaddressed`, unless it begins by mentioning someone else. The worker drops it if the bot was not asked in that thread.
 */
export function filterEvent(callback: EventCallback): FilteredEvent {
  if (callback.event.type !== "message" && callback.event.type !== "app_mention") return { drop: "other_event" };
  const { data: event } = messageEventSchema.safeParse(callback.event);
  if (event === undefined) return { drop: "malformed_message" };
  const botUsers = listBotUsers(callback, event);
  const { user, user_team: userTeam, thread_ts: threadTs } = event;
  const installation = readInstallation(callback);
  const drop = findDropReason(event, botUsers);
  const unaddressed = drop === "not_mentioned" && isPossibleReplyToBot(event, botUsers);
  const perhapsAddressed = unaddressed && callback.is_ext_shared_channel && hasMention(event.text ?? "");
  if (drop !== undefined && !unaddressed) return { drop };
  if (!user) return { drop: "no_user" };
  return {
    userMessage: {
      appId: callback.api_app_id,
      ...installation,
      channel: event.channel,
      user,
      ...(userTeam && userTeam !== installation.team ? { userTeam } : {}),
      ts: event.ts,
      ...(threadTs ? { threadTs } : {}),
      direct: isDirect(event),
      text: readUserText({ text: event.text ?? "", botUsers }),
      ...(botUsers.length > 0 ? { botUsers } : {}),
      ...(unaddressed ? { unaddressed } : {}),
      ...(perhapsAddressed ? { perhapsAddressed } : {}),
      ...(event.files?.length ? { files: readUserFiles(event.files) } : {}),
    },
  };
}

function findDropReason(event: MessageEvent, botUsers: readonly string[]): DropReason | undefined {
  if (event.bot_id || event.bot_profile || event.user === slackbot) return "from_bot";
  if (event.user && botUsers.includes(event.user)) return "from_bot";
  if (event.subtype && !newMessageSubtypes.includes(event.subtype)) return "subtype";
  if (event.hidden) return "hidden";
  if (event.edited) return "edited";
  return isAddressed(event, botUsers) ? undefined : "not_mentioned";
}

function isAddressed(event: MessageEvent, botUsers: readonly string[]): boolean {
  if (event.type === "app_mention") return true;
  // Without a bot user the event was delivered for a person's token, so the direct message is between people.
  if (isDirect(event)) return botUsers.length > 0;
  return isMentioned({ text: event.text ?? "", botUsers });
}

/** True if a reply without a mention may be for the bot. False without a bot user, because such a thread is between people. */
function isPossibleReplyToBot(event: MessageEvent, botUsers: readonly string[]): boolean {
  return botUsers.length > 0 && Boolean(event.thread_ts) && !isAddressedToOther({ text: event.text ?? "", botUsers });
}

/** Checks the id too, because `app_mention` has no `channel_type`. Ids of direct messages start with D. */
function isDirect(event: MessageEvent): boolean {
  return event.channel_type === "im" || event.channel.startsWith("D");
}

function listBotUsers(callback: EventCallback, event: MessageEvent): string[] {
  const users = (callback.authorizations ?? []).filter(({ is_bot }) => is_bot !== false).map(({ user_id }) => user_id);
  if (event.type !== "app_mention" || !callback.is_ext_shared_channel) return users;
  return [...users, ...findOtherBotUser({ text: event.text ?? "", botUsers: users, author: event.user })];
}

const startedSchema = z.object({
  assistant_thread: z.object({ user_id: slackId, channel_id: slackId, thread_ts: slackTs }),
});

/** A person opened a conversation with the assistant (https://docs.slack.dev/reference/events/assistant_thread_started). */
function toConversationOpened(callback: EventCallback): { message: ConversationOpened } | { drop: "unknown_payload" } {
  const { data } = startedSchema.safeParse(callback.event);
  if (data === undefined) return { drop: "unknown_payload" };
  const { user_id: user, channel_id: channel, thread_ts: threadTs } = data.assistant_thread;
  const requestId = interactionIdOf({ kind: "assistant", appId: callback.api_app_id, channel, ts: threadTs });
  return {
    message: { type: "conversation_opened", requestId, ...readInstallation(callback), channel, threadTs, user },
  };
}

const homeOpenedSchema = z.object({
  user: slackId,
  channel: slackId,
  tab: z.nullish(z.string()),
  event_ts: slackTs,
});

/** A person opened the direct messages with the bot (https://docs.slack.dev/reference/events/app_home_opened). */
function toMessagesTabOpened(callback: EventCallback): { message: ConversationOpened } | { drop: string } {
  const { data } = homeOpenedSchema.safeParse(callback.event);
  if (data === undefined) return { drop: "unknown_payload" };
  if (data.tab !== "messages") return { drop: "other_event" };
  const { user, channel, event_ts: ts } = data;
  const requestId = interactionIdOf({ kind: "assistant", appId: callback.api_app_id, channel, ts });
  return { message: { type: "conversation_opened", requestId, ...readInstallation(callback), channel, user } };
}

const sessionStoppedSchema = z.object({
  user: slackId,
  channel: slackId,
  thread_ts: slackTs,
  streaming_message_ts: z.nullish(z.array(slackTs)),
  event_ts: slackTs,
});

/** A person pressed Slack's stop button (https://docs.slack.dev/reference/events/agent_session_stopped). */
function toSessionStopped(callback: EventCallback): { message: SessionStopped } | { drop: "unknown_payload" } {
  const { data } = sessionStoppedSchema.safeParse(callback.event);
  if (data === undefined) return { drop: "unknown_payload" };
  const { user, channel, thread_ts: threadTs, streaming_message_ts: streams, event_ts: ts } = data;
  const requestId = interactionIdOf({ kind: "stopped", appId: callback.api_app_id, channel, ts });
  const installation = readInstallation(callback);
  return {
    message: { type: "session_stopped", requestId, ...installation, channel, threadTs, user, streams: streams ?? [] },
  };
}

const blockActionsSchema = z.object({
  type: z.literal("block_actions"),
  is_enterprise_install: z.nullish(z.boolean()),
  enterprise: z.nullish(z.object({ id: slackId })),
  /** Null if the app is installed in the organization. */
  team: z.nullish(z.object({ id: slackId })),
  user: z.object({ id: slackId, team_id: z.nullish(slackId) }),
  channel: z.nullish(z.object({ id: slackId })),
  message: z.nullish(z.object({ thread_ts: z.nullish(slackTs) })),
  container: z.nullish(z.object({ channel_id: z.nullish(slackId), thread_ts: z.nullish(slackTs) })),
  actions: z.array(z.object({ action_id: z.string(), value: z.nullish(z.string()) })),
});

/**
 * Reads a click on a button of the bot's messages (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). Other
 * interactions are dropped. Slack sends one action at a time.
 */
function toButtonClick(payload: unknown, nowMs: number): { message: ButtonClick } | { drop: "other_interaction" } {
  const { data } = blockActionsSchema.safeParse(payload);
  const [action] = data?.actions ?? [];
  const clicked = action && decodeButton({ action_id: action.action_id, value: action.value ?? "" });
  const team = data?.team?.id ?? data?.user.team_id;
  const channel = data?.channel?.id ?? data?.container?.channel_id;
  if (data === undefined || clicked === undefined || !team || !channel) return { drop: "other_interaction" };
  const organization = data.is_enterprise_install ? data.enterprise?.id : undefined;
  const threadTs = data.message?.thread_ts ?? data.container?.thread_ts;
  return {
    message: {
      type: "button_click",
      requestId: clicked.requestId,
      ...installationFields(team, organization),
      channel,
      ...(threadTs ? { threadTs } : {}),
      user: data.user.id,
      atMs: nowMs,
      button: clicked.button,
    },
  };
}

/** Refuses a trigger id that looks like a post's `ts` (digits and one dot), because it would get a post's request id. */
const triggerId = z.string().check(z.regex(/^(?!\d+\.\d+$).{1,255}$/s));

const slashCommandSchema = z.object({
  api_app_id: slackId,
  team_id: slackId,
  enterprise_id: z.nullish(slackId),
  /** The text "true" or "false", because form values are texts. */
  is_enterprise_install: z.optional(z.unknown()),
  channel_id: slackId,
  user_id: slackId,
  text: z.nullish(z.string()),
  trigger_id: triggerId,
});

/**
 * Reads a slash command (https://docs.slack.dev/interactivity/implementing-slash-commands#app_command_handling), which has no message in
 * the channel. The request id is derived from the trigger id, which is unique to each use of the command.
 */
function toSlashCommand(
  payload: unknown,
  nowMs: number,
): { requestId: string; userMessage: UserMessage } | { drop: "unknown_payload" } {
  const { data } = slashCommandSchema.safeParse(payload);
  if (data === undefined) return { drop: "unknown_payload" };
  const { api_app_id: appId, channel_id: channel, trigger_id, user_id: user } = data;
  const isOrganization = data.is_enterprise_install === true || data.is_enterprise_install === "true";
  const organization = isOrganization ? data.enterprise_id : undefined;
  return {
    requestId: requestIdOf({ appId, channel, ts: trigger_id }),
    userMessage: {
      appId,
      ...installationFields(data.team_id, organization),
      channel,
      user,
      ts: (nowMs / 1000).toFixed(6),
      direct: channel.startsWith("D"),
      text: readUserText({ text: data.text ?? "", botUsers: [] }),
      command: true,
    },
  };
}

const urlVerificationSchema = z.object({
  type: z.literal("url_verification"),
  challenge: boundedText(1024),
});

/** The recipient of an event: the bot, or a person who gave the app a user token (`is_bot: false`). */
const authorizationSchema = z.object({
  user_id: slackId,
  is_bot: z.nullish(z.boolean()),
  is_enterprise_install: z.nullish(z.boolean()),
  enterprise_id: z.nullish(slackId),
});

/** The envelope of an Events API event (https://docs.slack.dev/apis/events-api#callback-field). */
export const eventCallbackSchema = z.object({
  type: z.literal("event_callback"),
  api_app_id: slackId,
  team_id: slackId,
  enterprise_id: z.nullish(slackId),
  /** The workspace and organization of the installation, if they differ from the author's (Enterprise Grid, Slack Connect). */
  context_team_id: z.nullish(slackId),
  context_enterprise_id: z.nullish(slackId),
  /** Has at most one installation, even if several are in the channel. */
  authorizations: z.nullish(z.array(authorizationSchema)),
  /** The channel is shared with other organizations (Slack Connect). */
  is_ext_shared_channel: z.nullish(z.boolean()),
  event: z.looseObject({ type: z.string() }),
});
type EventCallback = z.infer<typeof eventCallbackSchema>;

/** `message` and `app_mention`, of any subtype. */
const messageEventSchema = z.object({
  type: z.literal(["message", "app_mention"]),
  subtype: z.nullish(z.string()),
  hidden: z.nullish(z.boolean()),
  edited: z.optional(z.unknown()),
  bot_id: z.nullish(z.string()),
  bot_profile: z.optional(z.unknown()),
  user: z.nullish(slackId),
  user_team: z.nullish(slackId),
  channel: slackId,
  channel_type: z.nullish(z.string()),
  ts: slackTs,
  thread_ts: z.nullish(slackTs),
  text: z.nullish(z.string()),
  /** Parsed one by one, so that a malformed file does not drop the message. */
  files: z.nullish(z.array(z.unknown())),
});
type MessageEvent = z.infer<typeof messageEventSchema>;
