/** The app's manifest: the scopes, events and features that the configuration uses, and no others. */
import { describe, expect, it } from "@jest/globals";
import { configFields } from "@sekisho/config/schema.ts";
import { botScopes, slackManifest } from "@sekisho/verification/slack/api/manifest.ts";
import type { SlackApi } from "@sekisho/verification/slack/api/slack.ts";
import type * as z from "zod";

const eventsUrl = "https://checkpoint.example/slack/events";
const configOf = (values: z.input<typeof configFields> = {}) => configFields.parse(values);
const manifestOf = (values: z.input<typeof configFields> = {}, socket = false) =>
  slackManifest({ name: "Sekisho", config: configOf(values), eventsUrl, socket });
const scopesOf = (values: z.input<typeof configFields> = {}) => botScopes(configOf(values));

const everything: z.input<typeof configFields> = {
  files: { canvases: true },
  asker: { issuer: "https://asker.example" },
  destinations: { local: { transport: "https", asker: { claims: ["email"] } } },
  slack: {
    command: { name: "/sekisho", answerIn: "person" },
    shortcut: {},
    assistant: { prompts: [{ title: "Help", message: "What can you do?" }] },
    admins: [{ group: "S0ADMINS" }],
    install: { clientId: "1.2", clientSecret: { env: "SLACK_CLIENT_SECRET" } },
  },
};
const history = ["channels:history", "groups:history", "im:history", "mpim:history"];

const channelScopes = ["channels:read", "groups:read", "im:read", "mpim:read"];

/** Of each call of the product: Slack's method, and the scopes that its page under https://docs.slack.dev/reference/methods asks for. */
const methods: Record<keyof SlackApi, readonly { method: string; scopes: readonly string[] }[]> = {
  post: [{ method: "chat.postMessage", scopes: ["chat:write"] }],
  update: [{ method: "chat.update", scopes: ["chat:write"] }],
  remove: [{ method: "chat.delete", scopes: ["chat:write"] }],
  react: [
    { method: "reactions.add", scopes: ["reactions:write"] },
    { method: "reactions.remove", scopes: ["reactions:write"] },
  ],
  replies: [{ method: "conversations.replies", scopes: history }],
  posts: [{ method: "conversations.history", scopes: history }],
  message: [{ method: "conversations.replies", scopes: history }],
  channelInfo: [{ method: "conversations.info", scopes: channelScopes }],
  channelMembers: [{ method: "conversations.members", scopes: channelScopes }],
  openModal: [{ method: "views.open", scopes: [] }],
  postEphemeral: [{ method: "chat.postEphemeral", scopes: ["chat:write"] }],
  openDirect: [{ method: "conversations.open", scopes: ["im:write"] }],
  // Its page asks for no scope.
  publishHome: [{ method: "views.publish", scopes: [] }],
  person: [{ method: "users.info", scopes: ["users:read", "users:read.email"] }],
  groupHandles: [{ method: "usergroups.list", scopes: ["usergroups:read"] }],
  groupMembers: [{ method: "usergroups.users.list", scopes: ["usergroups:read"] }],
  startStream: [{ method: "chat.startStream", scopes: ["chat:write"] }],
  appendStream: [{ method: "chat.appendStream", scopes: ["chat:write"] }],
  stopStream: [{ method: "chat.stopStream", scopes: ["chat:write"] }],
  fileInfo: [{ method: "files.info", scopes: ["files:read"] }],
  canvasContent: [{ method: "canvases.getContent", scopes: ["canvases:read"] }],
  startUpload: [{ method: "files.getUploadURLExternal", scopes: ["files:write"] }],
  sendUpload: [],
  shareUploads: [{ method: "files.completeUploadExternal", scopes: ["files:write"] }],
  setStatus: [{ method: "assistant.threads.setStatus", scopes: ["chat:write"] }],
  setSession: [{ method: "agents.sessions.setStatus", scopes: ["chat:write"] }],
  renameSession: [{ method: "agents.sessions.rename", scopes: ["chat:write"] }],
  suggestPrompts: [
    { method: "assistant.threads.setSuggestedPrompts", scopes: ["assistant:write"] },
  ],
};
/** Scopes without a call: to be told of mentions and commands. */
const uncalled = ["app_mentions:read", "commands"];

describe("the scopes of an app that uses everything", () => {
  const scopes = scopesOf(everything);

  it.each(Object.values(methods).flat())("requests every scope that $method needs", (call) => {
    for (const scope of call.scopes) expect(scopes).toContain(scope);
  });

  it("requests no scope that is not needed", () => {
    const neededScopes = new Set([
      ...Object.values(methods).flatMap((calls) => calls.flatMap((call) => call.scopes)),
      ...uncalled,
    ]);
    expect(scopes).toEqual([...neededScopes].sort());
  });
});

describe("a scope", () => {
  it("requests only the basic scopes for an empty configuration", () => {
    expect(scopesOf()).toEqual([
      "app_mentions:read",
      "channels:history",
      "chat:write",
      "files:read",
      "files:write",
      "groups:history",
      "im:history",
      "mpim:history",
      "reactions:write",
      "users:read",
    ]);
  });

  it.each([
    ["files:read", {}, { files: { maxCount: 0 } }],
    ["canvases:read", { files: { canvases: true } }, {}],
    ["reactions:write", {}, { slack: { reactions: false } }],
    [
      "users:read",
      { slack: { locale: "ja" } },
      { slack: { locale: "ja", context: { names: false } } },
    ],
    [
      "users:read",
      { slack: { context: { names: false } } },
      { slack: { locale: "en", context: { names: false } } },
    ],
    ["usergroups:read", { slack: { context: { groups: true } } }, {}],
    ["groups:read", { slack: { context: { channel: true } } }, {}],
    [
      "channels:read",
      { slack: { context: { open: true }, assistant: {} } },
      { slack: { context: { open: true } } },
    ],
    ["usergroups:read", { allowlist: [{ group: "S1" }] }, { allowlist: [{ user: "U1" }] }],
    [
      "users:read.email",
      {
        asker: { issuer: "https://asker.example" },
        destinations: { local: { transport: "https", asker: { claims: ["email"] } } },
      },
      {
        asker: { issuer: "https://asker.example" },
        destinations: { local: { transport: "https", asker: true } },
      },
    ],
    [
      "usergroups:read",
      { slack: { admins: [{ group: "S1" }] } },
      { slack: { admins: [{ user: "U1" }] } },
    ],
    [
      "usergroups:read",
      { destinations: { local: { transport: "https", questions: { answerBy: { group: "S1" } } } } },
      { destinations: { local: { transport: "https", questions: { answerBy: "anyone" } } } },
    ],
    ["commands", { slack: { command: { name: "/ask" } } }, {}],
    ["im:write", { slack: { command: { name: "/ask" } } }, {}],
    ["assistant:write", { slack: { assistant: {} } }, {}],
  ] satisfies [string, z.input<typeof configFields>, z.input<typeof configFields>][])(
    "requests the scope %s for the configuration %j and not for %j",
    (scope, usedNames, unusedNames) => {
      expect(scopesOf(usedNames)).toContain(scope);
      expect(scopesOf(unusedNames)).not.toContain(scope);
    },
  );
});

describe("the app manifest", () => {
  it("uses one address for events, commands and buttons", () => {
    const { settings, features } = manifestOf(everything);
    expect(settings).toMatchObject({
      event_subscriptions: { request_url: eventsUrl },
      interactivity: { is_enabled: true, request_url: eventsUrl },
      socket_mode_enabled: false,
    });
    expect(features.slash_commands).toMatchObject([
      { command: "/sekisho", url: eventsUrl, should_escape: true },
    ]);
  });

  it("names only the address of the installation flow with Socket Mode", () => {
    const manifest = manifestOf(everything, true);
    expect(manifest.settings).toMatchObject({
      socket_mode_enabled: true,
      interactivity: { is_enabled: true },
    });
    expect(JSON.stringify(manifest)).not.toContain("/slack/events");
    expect(manifest.oauth_config.redirect_urls).toEqual([
      "https://checkpoint.example/slack/oauth_redirect",
    ]);
  });

  it("declares only the configured features and their events", () => {
    const messages = [
      "app_home_opened",
      "app_mention",
      "message.channels",
      "message.groups",
      "message.im",
      "message.mpim",
    ];
    const [least, most] = [manifestOf(), manifestOf(everything)];
    expect(least.settings.event_subscriptions.bot_events).toEqual(messages);
    expect(most.settings.event_subscriptions.bot_events).toEqual([
      ...messages,
      "agent_session_stopped",
    ]);
    expect(Object.keys(least.features)).toEqual(["app_home", "bot_user"]);
    expect(Object.keys(most.features)).toEqual([
      "app_home",
      "bot_user",
      "slash_commands",
      "shortcuts",
      "agent_view",
    ]);
    expect(least.oauth_config).not.toHaveProperty("redirect_urls");
    expect([least.settings.org_deploy_enabled, most.settings.org_deploy_enabled]).toEqual([
      false,
      true,
    ]);
  });

  it("subscribes to what people have open only if the agent receives it", () => {
    const events = (slack: z.input<typeof configFields>["slack"]) =>
      manifestOf({ slack }).settings.event_subscriptions.bot_events;
    expect(events({ assistant: {}, context: { open: true } })).toContain("app_context_changed");
    for (const slack of [{ assistant: {} }, { context: { open: true } }])
      expect(events(slack)).not.toContain("app_context_changed");
  });

  it("adds the shortcut to the message menu under its configured name", () => {
    const { features } = manifestOf({ slack: { shortcut: { name: "質問する" } } });
    expect(features).toMatchObject({
      shortcuts: [{ name: "質問する", type: "message", callback_id: "sekisho_ask_about" }],
    });
    expect(() => manifestOf({ slack: { shortcut: { name: "x".repeat(25) } } })).toThrow();
  });

  it("declares an agent with its description and prompts", () => {
    const prompts = [{ title: "Help", message: "What can you do?" }];
    const agent = manifestOf({ slack: { assistant: { prompts, description: "Deploys" } } });
    expect(agent.features).toMatchObject({
      agent_view: { agent_description: "Deploys", suggested_prompts: prompts },
    });
  });

  it("writes in the language of the bot, or in English if each person has their own", () => {
    const slack = { command: { name: "/ask" }, shortcut: {}, assistant: {} };
    expect(JSON.stringify(manifestOf({ slack: { ...slack, locale: "ja" } }))).not.toMatch(
      /Ask|agent"|answers/,
    );
    const { features } = manifestOf({ slack });
    expect(features).toMatchObject({
      shortcuts: [{ name: "Ask about this" }],
      slash_commands: [{ description: "Ask the agent" }],
    });
  });

  it("enables the App Home and subscribes to its opening", () => {
    const { features, settings } = manifestOf();
    expect(features.app_home).toMatchObject({ home_tab_enabled: true });
    expect(settings.event_subscriptions.bot_events).toContain("app_home_opened");
  });

  it("stays within the lengths of Slack, allows direct messages, and is plain JSON", () => {
    const manifest = manifestOf(everything);
    expect(manifest.display_information.description.length).toBeLessThanOrEqual(140);
    expect(manifest.features.app_home).toMatchObject({
      messages_tab_enabled: true,
      messages_tab_read_only_enabled: false,
    });
    expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest);
  });
});
