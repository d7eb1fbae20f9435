/**
 * The Slack app's manifest (https://docs.slack.dev/reference/app-manifest): exactly the scopes, events and features that the
 * configuration uses.
 */
import type { Config } from "../../../shared/config/schema.ts";

const description = "Takes tasks to the agents that do the work elsewhere";

/**
 * `name` is what people see, at most 35 characters. `eventsUrl` is where Slack's servers reach `/slack/events`: events, commands
 * and buttons all come there. With `socket` they come over Socket Mode, and the address serves the installation flow alone.
 */
export function slackManifest({
  name,
  config,
  eventsUrl,
  socket = false,
}: {
  name: string;
  config: ScopeConfig;
  eventsUrl: string;
  socket?: boolean;
}) {
  const { command, assistant, install } = config.slack;
  return {
    display_information: { name, description },
    features: {
      // Without the messages tab nobody can write to the bot directly.
      app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      bot_user: { display_name: name, always_online: true },
      ...(command === undefined ? {} : { slash_commands: [slashCommand({ name: command.name, eventsUrl, socket })] }),
      // Its prompts are suggested by the bot itself, so that a change of them needs no new manifest.
      ...(assistant === undefined ? {} : { assistant_view: { assistant_description: description } }),
    },
    oauth_config: {
      ...(install === undefined ? {} : { redirect_urls: [new URL("/slack/oauth_redirect", eventsUrl).href] }),
      scopes: { bot: botScopes(config) },
    },
    settings: {
      event_subscriptions: {
        ...(socket ? {} : { request_url: eventsUrl }),
        bot_events: [
          "app_mention",
          // Replies in threads are heard so that an answer, a further question and the word to cancel need no mention.
          "message.channels",
          "message.groups",
          "message.im",
          "message.mpim",
          ...(assistant === undefined ? [] : ["assistant_thread_started"]),
        ],
      },
      interactivity: { is_enabled: true, ...(socket ? {} : { request_url: eventsUrl }) },
      org_deploy_enabled: install !== undefined,
      socket_mode_enabled: socket,
      token_rotation_enabled: false,
    },
  };
}

/** Escaped, so that mentions in it read as they do in messages. */
function slashCommand({ name, eventsUrl, socket }: { name: string; eventsUrl: string; socket: boolean }) {
  const address = socket ? {} : { url: eventsUrl };
  return { command: name, ...address, description: "Ask the agent", usage_hint: "what to do", should_escape: true };
}

export type ScopeConfig = Pick<Config, "slack" | "files" | "allowlist" | "destinations">;

/** Exactly those, sorted: what the manifest asks for and what the OAuth flow does. */
export function botScopes(config: ScopeConfig): string[] {
  const { command, assistant, reactions, locale } = config.slack;
  return [
    "app_mentions:read",
    "chat:write",
    // To be told of messages, and to find in a thread what was said and what was posted already.
    "channels:history",
    "groups:history",
    "im:history",
    "mpim:history",
    // A very long answer becomes a file, whatever the agent gives.
    "files:write",
    ...(config.files.maxCount > 0 ? ["files:read"] : []),
    ...(reactions === false ? [] : ["reactions:write"]),
    ...(locale === "user" ? ["users:read"] : []),
    ...(namesGroup(config) ? ["usergroups:read"] : []),
    // Where the bot may not post in the channel, a command is answered in a direct message, wherever it should have been.
    ...(command === undefined ? [] : ["commands", "im:write"]),
    ...(assistant === undefined ? [] : ["assistant:write"]),
  ].sort();
}

/** Who is a member has to be asked where a rule of who may ask, answer or cancel names a user group. */
function namesGroup({ allowlist, slack, destinations }: ScopeConfig): boolean {
  return (
    allowlist.some(({ group }) => group !== undefined) ||
    slack.admins.some((admin) => "group" in admin) ||
    Object.values(destinations).some(({ questions }) => typeof questions.answerBy === "object")
  );
}
