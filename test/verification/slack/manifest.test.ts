import { describe, expect, it } from "@jest/globals";
import { slackManifest } from "../../../lambdas/verification/slack/manifest.ts";

describe("the app manifest", () => {
  const manifest = slackManifest({ name: "Sekisho", eventsUrl: "https://tunnel.example/slack/events" });

  it("subscribes to mentions, direct messages and, for the word to cancel, replies, at the given URL, over HTTP", () => {
    expect(manifest.settings).toMatchObject({
      event_subscriptions: {
        request_url: "https://tunnel.example/slack/events",
        bot_events: ["app_mention", "message.im", "message.channels", "message.groups", "message.mpim"],
      },
      socket_mode_enabled: false,
    });
  });

  it("asks for no scope that the product does not use", () => {
    expect([...manifest.oauth_config.scopes.bot].sort()).toEqual([
      "app_mentions:read",
      "channels:history",
      "chat:write",
      "groups:history",
      "im:history",
      "mpim:history",
      "reactions:write",
    ]);
  });

  it("lets people write to the bot directly, and is plain JSON", () => {
    expect(manifest.features.app_home).toMatchObject({
      messages_tab_enabled: true,
      messages_tab_read_only_enabled: false,
    });
    expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest);
  });
});
