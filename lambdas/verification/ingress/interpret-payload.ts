/**
 * Converts one verified payload of Slack, received over HTTP or Socket Mode, to one queue message or to the reason for dropping it
 * (https://docs.slack.dev/apis/events-api).
 */

import type { Trace } from "@sekisho/runtime/telemetry/telemetry.ts";
import * as z from "zod/mini";
import { boundedText, readUserText, slackId } from "../slack/api/user-text.ts";
import { decodeButton } from "../slack/messages/buttons.ts";
import type {
  AskMessage,
  ButtonClick,
  ConversationOpened,
  HomeOpened,
  Interaction,
  MessageChange,
  SessionStopped,
  UserMessage,
} from "../task/messages.ts";
import { interactionIdOf, requestIdOf } from "../task/routing.ts";
import {
  type EventCallback,
  eventCallbackSchema,
  installationFields,
  readActorTeam,
  readInstallation,
  slackTs,
} from "./event-callback.ts";
import { filterEvent } from "./filter-event.ts";
import { readShortcut, readSubmittedModal } from "./modal-payload.ts";

/** Types are named as in Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode). Over HTTP the signature was verified. */
export type VerifiedPayload = {
  type: "events_api" | "slash_commands" | "interactive";
  payload: unknown;
};

/** `errors` say what is wrong with the inputs of a modal, by their blocks. Slack shows them, and the modal stays open. */
export type InterpretedPayload =
  | { message: AskMessage | MessageChange | Interaction }
  | { drop: string }
  | { errors: Record<string, string> };

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
  const toAskMessage = (requestId: string, message: UserMessage) => ({
    message: { type: "ask" as const, requestId, receivedAtMs: nowMs, trace: newTrace(), message },
  });
  if (type === "interactive") {
    const modal = readSubmittedModal(payload, nowMs);
    if (modal !== undefined && "ask" in modal)
      return toAskMessage(modal.ask.requestId, modal.ask.userMessage);
    return modal ?? readShortcut(payload, nowMs) ?? toButtonClick(payload, nowMs);
  }
  if (type === "slash_commands") {
    const command = toSlashCommand(payload, nowMs);
    return "drop" in command ? command : toAskMessage(command.requestId, command.userMessage);
  }
  const { data: callback } = eventCallbackSchema.safeParse(payload);
  if (callback === undefined) return { drop: "unknown_payload" };
  switch (callback.event.type) {
    case "app_home_opened":
      return toTabOpened(callback);
    case "agent_session_stopped":
      return toSessionStopped(callback);
  }
  const filterResult = filterEvent(callback);
  if ("drop" in filterResult) return filterResult;
  const { userMessage, kind } = filterResult;
  const ask = toAskMessage(requestIdOf(userMessage), userMessage);
  if (kind === "new") return ask;
  const isDeleted = kind === "deleted" ? { isDeleted: true as const } : {};
  return { message: { ...ask.message, type: "message_change", ...isDeleted } };
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
    return text.startsWith("{")
      ? readJsonPayload(JSON.parse(text))
      : readFormPayload(new URLSearchParams(text));
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
  return form.has("command")
    ? { type: "slash_commands", payload: Object.fromEntries(form) }
    : undefined;
}

const homeOpenedSchema = z.object({
  user: slackId,
  channel: slackId,
  tab: z.nullish(z.string()),
  event_ts: slackTs,
});

/** A person opened the App Home or the direct messages with the bot (https://docs.slack.dev/reference/events/app_home_opened). */
function toTabOpened(
  callback: EventCallback,
): { message: ConversationOpened | HomeOpened } | { drop: string } {
  const { data } = homeOpenedSchema.safeParse(callback.event);
  if (data === undefined) return { drop: "unknown_payload" };
  const { user, channel, event_ts: ts, tab } = data;
  if (tab !== "messages" && tab !== "home") return { drop: "other_event" };
  const kind = tab === "home" ? "home" : "assistant";
  const requestId = interactionIdOf({ kind, appId: callback.api_app_id, channel, ts });
  const common = { requestId, ...readInstallation(callback), user };
  return {
    message:
      tab === "home"
        ? { type: "home_opened", ...common, ...readActorTeam(callback) }
        : { type: "conversation_opened", ...common, channel },
  };
}

const sessionStoppedSchema = z.object({
  user: slackId,
  channel: slackId,
  thread_ts: slackTs,
  streaming_message_ts: z.nullish(z.array(slackTs)),
  event_ts: slackTs,
});

/** A person pressed Slack's stop button (https://docs.slack.dev/reference/events/agent_session_stopped). */
function toSessionStopped(
  callback: EventCallback,
): { message: SessionStopped } | { drop: "unknown_payload" } {
  const { data } = sessionStoppedSchema.safeParse(callback.event);
  if (data === undefined) return { drop: "unknown_payload" };
  const { user, channel, thread_ts: threadTs, streaming_message_ts: streams, event_ts: ts } = data;
  const requestId = interactionIdOf({ kind: "stopped", appId: callback.api_app_id, channel, ts });
  const person = { ...readInstallation(callback), user, ...readActorTeam(callback) };
  return {
    message: {
      type: "session_stopped",
      requestId,
      ...person,
      channel,
      threadTs,
      streams: streams ?? [],
    },
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
  /** Present for a button of a view. */
  view: z.nullish(z.object({ type: z.string() })),
  container: z.nullish(z.object({ channel_id: z.nullish(slackId), thread_ts: z.nullish(slackTs) })),
  actions: z.array(z.object({ action_id: z.string(), value: z.nullish(z.string()) })),
  trigger_id: z.nullish(boundedText(255)),
});

/**
 * Reads a click on a button of the bot's messages, or on a button to cancel of the App Home (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). Other
 * interactions are dropped. Slack sends one action at a time.
 */
function toButtonClick(
  payload: unknown,
  nowMs: number,
): { message: ButtonClick } | { drop: "other_interaction" } {
  const { data } = blockActionsSchema.safeParse(payload);
  const [action] = data?.actions ?? [];
  const decodedClick =
    action && decodeButton({ action_id: action.action_id, value: action.value ?? "" });
  const team = data?.team?.id ?? data?.user.team_id;
  const channel = data?.channel?.id ?? data?.container?.channel_id;
  const isHome = data?.view?.type === "home" && decodedClick?.button.type === "cancel";
  if (data === undefined || decodedClick === undefined || !team || (!channel && !isHome))
    return { drop: "other_interaction" };
  const organization = data.is_enterprise_install ? data.enterprise?.id : undefined;
  const threadTs = data.message?.thread_ts ?? data.container?.thread_ts;
  return {
    message: {
      type: "button_click",
      requestId: decodedClick.requestId,
      ...installationFields(team, organization),
      ...(channel ? { channel } : {}),
      ...(threadTs ? { threadTs } : {}),
      user: data.user.id,
      ...(data.user.team_id ? { userTeam: data.user.team_id } : {}),
      atMs: nowMs,
      button: withTrigger(decodedClick.button, data.trigger_id),
    },
  };
}

/** Only the button that opens a form needs the trigger. */
function withTrigger(
  button: NonNullable<ReturnType<typeof decodeButton>>["button"],
  triggerId: string | null | undefined,
): ButtonClick["button"] {
  return button.type === "open_form" && triggerId ? { ...button, triggerId } : button;
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
  const isOrganization =
    data.is_enterprise_install === true || data.is_enterprise_install === "true";
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
