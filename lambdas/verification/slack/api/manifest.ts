/** The Slack app's manifest (https://docs.slack.dev/reference/app-manifest), with only the scopes, events and features in use. */
import type { Config } from "@sekisho/config/schema.ts";
import type { Locale } from "../../task/task.ts";

/** The `callback_id` of the message shortcut and of its modal. */
export const askAboutShortcut = "sekisho_ask_about";

/** A manifest has one language. */
const texts: Record<
  Locale,
  Record<"app" | "agent" | "command" | "commandHint" | "shortcut" | "shortcutHint", string>
> = {
  en: {
    app: "Ask agents to do work for you, from Slack.",
    agent: "Takes your requests to agents and posts their answers",
    command: "Ask the agent",
    commandHint: "[what you need]",
    shortcut: "Ask about this",
    shortcutHint: "Send this message to the agent",
  },
  ja: {
    app: "Slackからエージェントに仕事を依頼できます。",
    agent: "依頼をエージェントに伝え、回答をスレッドに投稿します",
    command: "エージェントに依頼する",
    commandHint: "[依頼の内容]",
    shortcut: "これについて依頼",
    shortcutHint: "このメッセージをエージェントに送ります",
  },
};

/**
 * `name` is the display name of the app, at most 35 characters. Slack sends events, commands and button clicks to `eventsUrl`,
 * the public URL of `/slack/events`. With `socket` they come over Socket Mode, and the URL serves only the installation flow.
 */
export function slackManifest(request: {
  name: string;
  config: ScopeConfig;
  eventsUrl: string;
  socket?: boolean;
}) {
  const { name, config, eventsUrl, socket = false } = request;
  const { command, shortcut, assistant, install, locale } = config.slack;
  const text = texts[locale === "user" ? "en" : locale];
  return {
    display_information: { name, description: text.app },
    features: {
      // Without the messages tab, people cannot send the bot direct messages.
      app_home: {
        home_tab_enabled: true,
        messages_tab_enabled: true,
        messages_tab_read_only_enabled: false,
      },
      bot_user: { display_name: name, always_online: true },
      ...(command === undefined
        ? {}
        : { slash_commands: [slashCommand({ name: command.name, text, eventsUrl, socket })] }),
      ...(shortcut && { shortcuts: [messageShortcut(shortcut.name, text)] }),
      ...(assistant && agentFeature(assistant, text)),
    },
    oauth_config: {
      ...(install === undefined
        ? {}
        : { redirect_urls: [new URL("/slack/oauth_redirect", eventsUrl).href] }),
      scopes: { bot: botScopes(config) },
    },
    settings: {
      event_subscriptions: {
        ...(socket ? {} : { request_url: eventsUrl }),
        bot_events: [
          // The App Home, and the conversations of an agent.
          "app_home_opened",
          "app_mention",
          // Lets people reply, ask again and cancel in a thread without mentioning the bot.
          "message.channels",
          "message.groups",
          "message.im",
          "message.mpim",
          // https://docs.slack.dev/reference/events/agent_session_stopped
          ...(assistant === undefined ? [] : ["agent_session_stopped"]),
          ...(sendsOpenItems(config) ? ["app_context_changed"] : []),
        ],
      },
      interactivity: { is_enabled: true, ...(socket ? {} : { request_url: eventsUrl }) },
      org_deploy_enabled: install !== undefined,
      socket_mode_enabled: socket,
      token_rotation_enabled: false,
    },
  };
}

type Texts = (typeof texts)[Locale];
type Assistant = NonNullable<Config["slack"]["assistant"]>;

/** The bot suggests the prompts itself as well, so that changing them needs no new manifest. */
function agentFeature({ description, prompts }: Assistant, text: Texts) {
  const promptFields = prompts.length === 0 ? {} : { suggested_prompts: prompts };
  return { agent_view: { agent_description: description ?? text.agent, ...promptFields } };
}

/** `should_escape` makes Slack encode mentions like in messages. */
function slashCommand(command: { name: string; text: Texts; eventsUrl: string; socket: boolean }) {
  const { name, text, eventsUrl, socket } = command;
  const address = socket ? {} : { url: eventsUrl };
  return {
    command: name,
    ...address,
    description: text.command,
    usage_hint: text.commandHint,
    should_escape: true,
  };
}

/** https://docs.slack.dev/interactivity/implementing-shortcuts. */
function messageShortcut(name: string | undefined, text: Texts) {
  return {
    name: name ?? text.shortcut,
    type: "message",
    callback_id: askAboutShortcut,
    description: text.shortcutHint,
  } as const;
}

export type ScopeConfig = Pick<Config, "slack" | "files" | "allowlist" | "destinations">;

/** The sorted bot scopes, used by the manifest and by the OAuth flow. */
export function botScopes(config: ScopeConfig): string[] {
  const scopes = [...requiredScopes(config), ...contextScopes(config), ...emailScopes(config)];
  return [...new Set(scopes)].sort();
}

/** The scopes without which tokens have no e-mail addresses, and nothing fails. Slack gives the second one only with the first. */
export function emailScopes({ destinations }: ScopeConfig): string[] {
  const isWanted = Object.values(destinations).some(({ asker }) => asker?.claims.includes("email"));
  return isWanted ? ["users:read", "users:read.email"] : [];
}

/** The scopes without which the agent gets ids in place of names, and nothing fails. */
export function contextScopes(config: ScopeConfig): string[] {
  const { names, groups, channel } = config.slack.context;
  return [
    ...(names ? ["users:read"] : []),
    ...(groups ? ["usergroups:read"] : []),
    ...(channel || sendsOpenItems(config) ? channelScopes : []),
  ];
}

const channelScopes = ["channels:read", "groups:read", "im:read", "mpim:read"];

/** Slack says only to agents what a person has open. */
function sendsOpenItems({ slack: { context, assistant } }: ScopeConfig): boolean {
  return context.open && assistant !== undefined;
}

/** The scopes without which something fails. */
export function requiredScopes(config: ScopeConfig): string[] {
  const { command, shortcut, assistant, reactions, locale } = config.slack;
  return [
    "app_mentions:read",
    "chat:write",
    // For message events, and for reading the history of a thread.
    "channels:history",
    "groups:history",
    "im:history",
    "mpim:history",
    // Always needed, because a very long answer becomes a file.
    "files:write",
    ...(config.files.maxCount > 0 ? ["files:read"] : []),
    ...(config.files.maxCount > 0 && config.files.canvases ? ["canvases:read"] : []),
    ...(reactions === false ? [] : ["reactions:write"]),
    ...(locale === "user" || namesOrganization(config) ? ["users:read"] : []),
    ...(namesGroup(config) ? ["usergroups:read"] : []),
    ...(command === undefined && shortcut === undefined ? [] : ["commands"]),
    // If the bot may not post in a channel, it answers a command by direct message.
    ...(command === undefined ? [] : ["im:write"]),
    // Slack does not say with a shortcut whether the bot is in the channel, and whether the channel is shared.
    ...(shortcut === undefined ? [] : channelScopes),
    ...(assistant === undefined ? [] : ["assistant:write"]),
  ].sort();
}

/** True if a rule names an organization (Enterprise Grid), whose people Slack knows. */
function namesOrganization({ allowlist }: ScopeConfig): boolean {
  return allowlist.some(({ team }) => team?.startsWith("E"));
}

/** True if a rule about who may ask, answer or cancel names a user group, whose members have to be looked up. */
function namesGroup({ allowlist, slack, destinations }: ScopeConfig): boolean {
  return (
    allowlist.some(({ group }) => group !== undefined) ||
    slack.admins.some((admin) => "group" in admin) ||
    Object.values(destinations).some(({ questions }) => typeof questions.answerBy === "object")
  );
}
