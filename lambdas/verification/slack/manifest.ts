/** The Slack app's manifest (https://docs.slack.dev/reference/app-manifest): exactly the scopes and events that are used. */

/** `name` is what people see, at most 35 characters. `eventsUrl` is where Slack's servers reach `/slack/events`. */
export function slackManifest({ name, eventsUrl }: { name: string; eventsUrl: string }) {
  return {
    display_information: { name, description: "Takes tasks to the agents that do the work elsewhere" },
    features: {
      // Without the messages tab nobody can write to the bot directly.
      app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      bot_user: { display_name: name, always_online: true },
    },
    oauth_config: {
      scopes: {
        bot: [
          "app_mentions:read",
          "chat:write",
          "reactions:write",
          // To be told of direct messages, and to find in a thread what was posted already.
          "im:history",
          "channels:history",
          "groups:history",
          "mpim:history",
        ],
      },
    },
    settings: {
      event_subscriptions: {
        request_url: eventsUrl,
        // Replies in threads are heard so that the word to cancel needs no mention; all else of them is dropped at the door.
        bot_events: ["app_mention", "message.im", "message.channels", "message.groups", "message.mpim"],
      },
      org_deploy_enabled: false,
      socket_mode_enabled: false,
      token_rotation_enabled: false,
    },
  };
}
