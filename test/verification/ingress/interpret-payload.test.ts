/** The filter: which events are messages for the bot, and what of them is kept. */
import { describe, expect, it } from "@jest/globals";
import { escapeSqsText } from "@sekisho/runtime/engine/aws/sqs-message.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { eventCallbackSchema } from "@sekisho/verification/ingress/event-callback.ts";
import { type FilteredEvent, filterEvent } from "@sekisho/verification/ingress/filter-event.ts";
import {
  type InterpretedPayload,
  interpretPayload,
  type VerifiedPayload,
} from "@sekisho/verification/ingress/interpret-payload.ts";
import { readUserFiles } from "@sekisho/verification/slack/api/user-text.ts";
import { encodeButton } from "@sekisho/verification/slack/messages/buttons.ts";
import { queueMessageSchema, userMessageSchema } from "@sekisho/verification/task/messages.ts";
import { interactionIdOf, requestIdOf } from "@sekisho/verification/task/routing.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { emptyAnswer, setUp } from "./setup.ts";
import {
  botUser,
  createSignedRequest,
  fixture,
  formOf,
  nowMs,
  type Payload,
  secret,
} from "./slack-request.ts";

function filter(payload: Payload): FilteredEvent {
  return filterEvent(eventCallbackSchema.parse(payload));
}

const withEvent = (name: string, change: Record<string, unknown>): Payload => {
  const payload = fixture(name);
  return { ...payload, event: { ...payload.event, ...change } };
};

const askedOf = (payload: Payload) => {
  const filterResult = filter(payload);
  if (!("userMessage" in filterResult)) throw new Error(`dropped: ${filterResult.drop}`);
  return userMessageSchema.parse(filterResult.userMessage);
};

const textOf = (text: string): string => askedOf(withEvent("app-mention", { text })).text;

describe("a message to the bot", () => {
  it("reads a mention without the mention itself", () => {
    expect(askedOf(fixture("app-mention"))).toEqual({
      appId: "A0APP00001",
      team: "T0TEAM0001",
      channel: "C0CHAN0001",
      user: "U0USER0001",
      ts: "1762750000.000100",
      direct: false,
      text: "What is a sekisho? 関所とは 🏯",
      botUsers: [botUser],
    });
  });

  it("reads a message that mentions the bot with the same request id as its mention event", () => {
    const [mention, message] = [
      askedOf(fixture("app-mention")),
      askedOf(fixture("message-with-mention")),
    ];
    expect(message).toEqual(mention);
    expect(requestIdOf(message)).toBe(requestIdOf(mention));
    expect(fixture("message-with-mention").event_id).not.toBe(fixture("app-mention").event_id);
  });

  it("reads every message in a direct message with the bot, mentioned or not", () => {
    expect(askedOf(fixture("message-im"))).toMatchObject({
      direct: true,
      text: "What is a sekisho?",
    });
    expect(askedOf(withEvent("message-im", { channel_type: undefined })).direct).toBe(true);
  });

  describe("the open items of the person", () => {
    const channel = (value: unknown) => ({
      type: "slack#/types/channel_id",
      value,
      team_id: "T0TEAM0001",
    });
    const message = (value: unknown) => ({ type: "slack#/types/message_context", value });
    const openOf = (entities: unknown, name = "message-im") =>
      askedOf(withEvent(name, { app_context: { entities } })).open;

    it("reads what the person has open only from a direct message", () => {
      const entities = [
        message({ channel_id: "C1", message_ts: "1762750000.000100" }),
        channel("C2"),
      ];
      expect(openOf(entities)).toEqual([
        { type: "message", id: "1762750000.000100", channel: "C1" },
        { type: "channel", id: "C2" },
      ]);
      expect(openOf(entities.slice(1))).toEqual([{ type: "channel", id: "C2" }]);
      expect(openOf(entities, "app-mention")).toBeUndefined();
    });

    it.each([
      ["nothing", undefined],
      ["an entry list that is not a list", "C1"],
      [
        "items of other types",
        [
          { type: "slack#/types/canvas_id", value: "F1" },
          { type: "slack#/types/thread_ts", value: "1.1" },
        ],
      ],
      [
        "invalid ids",
        [channel({ id: "C1" }), channel("../C1"), channel("C".repeat(65)), message("C1"), null, 7],
      ],
      [
        "an invalid time",
        [message({ channel_id: "C1", message_ts: "now" }), message({ channel_id: "C1" })],
      ],
    ])("reads no open items from a direct message with %s", (_name, entities) => {
      expect(openOf(entities)).toBeUndefined();
    });

    it("reads at most ten things that the person has open", () => {
      const entities = Array.from({ length: 100_000 }, (_, at) => channel(`C${at}`));
      expect(openOf(entities)).toHaveLength(10);
    });
  });

  it("keeps the thread of a reply", () => {
    expect(askedOf(fixture("thread-reply"))).toMatchObject({
      threadTs: "1762750000.000100",
      text: "and in a thread",
    });
  });

  it("reads what people say of themselves (/me)", () => {
    expect(askedOf(withEvent("app-mention", { subtype: "me_message" })).text).toContain(
      "What is a sekisho?",
    );
  });

  it("reads a file in a thread reply although it has the subtype file_share", () => {
    expect(askedOf(fixture("file-share"))).toMatchObject({
      threadTs: "1762750000.000100",
      text: "summarize this",
    });
    expect(askedOf(withEvent("file-share", { text: `<@${botUser}>` })).text).toBe("");
  });

  it.each([
    ["a bare mention", withEvent("app-mention", { text: ` <@${botUser}>\n` })],
    [
      "a bare mention that arrives as a message",
      withEvent("message-with-mention", { text: `<@${botUser}>` }),
    ],
    ["a direct message without a text", withEvent("message-im", { text: undefined })],
  ])("reads %s as an empty user message, which gets an answer too", (_what, payload) => {
    expect(askedOf(payload).text).toBe("");
  });

  it("reads a thread reply that was also sent to the channel", () => {
    expect(askedOf(fixture("thread-broadcast")).text).toBe("also for the channel");
  });

  it.each([
    ["slack-connect", "T0TEAM0001"],
    ["enterprise-grid", "T0GRID0001"],
  ])(
    "assigns the message of %s to the workspace of the installation, not of the author",
    (name, team) => {
      expect(fixture(name).team_id).not.toBe(team);
      expect(askedOf(fixture(name)).team).toBe(team);
    },
  );

  it("assigns the message to team_id if Slack sends no context_team_id", () => {
    expect(askedOf({ ...fixture("app-mention"), context_team_id: null }).team).toBe("T0TEAM0001");
  });
});

describe("a reply in a thread that does not speak to the bot", () => {
  const reply = (text: string, change: Record<string, unknown> = {}) =>
    withEvent("thread-reply", { type: "message", text, ...change });

  it.each([
    ["cancel", "cancel"],
    ["yes, please", "yes, please"],
    ["ask <@U0USER0002> too", "ask @U0USER0002 too"],
    ["see <https://example.com>", "see https://example.com"],
  ])(
    "marks a reply without a mention as unaddressed, since its thread may be of the bot: %s",
    (text, readText) => {
      expect(askedOf(reply(text))).toMatchObject({
        text: readText,
        unaddressed: true,
        threadTs: "1762750000.000100",
      });
    },
  );

  it("keeps the files of an unaddressed reply, also without a text", () => {
    const files = fixture("file-share").event.files;
    const userMessage = askedOf(reply("", { subtype: "file_share", files }));
    expect(userMessage).toMatchObject({
      text: "",
      unaddressed: true,
      files: [{ id: "F0FILE0001" }],
    });
  });

  it.each([
    "<@U0USER0002> what do you say",
    " <@U0USER0002|hana> hi",
    "<!subteam^S1> ping",
    "<!here> lunch",
  ])("drops a reply that begins with a mention of others: %s", (text) =>
    expect(filter(reply(text))).toEqual({ drop: "not_mentioned" }),
  );

  it("drops an unaddressed reply of a bot and an edited one", () => {
    expect(filter(reply("yes", { bot_id: "B1" }))).toEqual({ drop: "from_bot" });
    expect(filter(reply("yes", { user: botUser }))).toEqual({ drop: "from_bot" });
    expect(filter(reply("yes", { edited: { user: "U0USER0001", ts: "1.1" } }))).toEqual({
      drop: "edited",
    });
  });

  it("drops a reply that was delivered for a person, whose conversations are not for the bot", () => {
    const authorizations = [{ user_id: "U0USER0002", is_bot: false }];
    const direct = reply("yes", { channel: "D0DIRECT01", channel_type: "im" });
    for (const payload of [reply("yes"), direct]) {
      expect(filter({ ...payload, authorizations })).toEqual({ drop: "not_mentioned" });
    }
  });

  it("treats a reply as addressed if it mentions the bot or is in a direct message", () => {
    expect(askedOf(reply(`<@${botUser}> yes`)).unaddressed).toBeUndefined();
    expect(
      askedOf(withEvent("message-im", { thread_ts: "1762750000.000100" })).unaddressed,
    ).toBeUndefined();
  });
});

describe("a channel of Slack Connect with the app in both workspaces", () => {
  const other = "U0BOT00002";
  const mention = (text: string, change = {}) =>
    askedOf(withEvent("slack-connect", { text, ...change }));
  const reply = (text: string) =>
    filter(withEvent("slack-connect", { type: "message", text, thread_ts: "1762740000.000100" }));

  it.each([
    [`<@${other}> cancel`, "cancel", [botUser, other]],
    [`<@${other}|sekisho> and here?`, "and here?", [botUser, other]],
    [`could you look, <@${other}>`, "could you look,", [botUser, other]],
    [`<@${other}> ask <@U0USER0002>`, "ask @U0USER0002", [botUser, other]],
    [`<@${other}> ask me, <@U0GUEST001>`, "ask me, @U0GUEST001", [botUser, other]],
    [`<@${botUser}> ask <@U0USER0002>`, "ask @U0USER0002", [botUser]],
    ["<@U0GUEST001> is me", "@U0GUEST001 is me", [botUser]],
    [`ask <@U0USER0002> or <@${other}>`, `ask @U0USER0002 or @${other}`, [botUser]],
  ])(
    "understands a mention of either bot user, although Slack names only one: %s",
    (text, readText, botUsers) => {
      expect(mention(text)).toMatchObject({ text: readText, botUsers, team: "T0TEAM0001" });
    },
  );

  it("treats no other user as the bot outside of shared channels", () => {
    const text = "<@U0USER0002> what do you say";
    const userMessage = askedOf(withEvent("app-mention", { text }));
    expect(userMessage).toMatchObject({ text: "@U0USER0002 what do you say", botUsers: [botUser] });
  });

  it("drops a message that begins with a mention and marks one that may mention the bot later", () => {
    expect(reply(`<@${other}> yes`)).toEqual({ drop: "not_mentioned" });
    expect(reply(`yes, <@${other}>`)).toMatchObject({
      userMessage: { unaddressed: true, perhapsAddressed: true },
    });
    const files = [{ id: "F1" }];
    const withFile = withEvent("message-with-mention", {
      type: "message",
      text: `<@${other}> read it`,
      files,
    });
    const fileOfMention = filter({ ...withFile, is_ext_shared_channel: true });
    expect(fileOfMention).toMatchObject({
      userMessage: { unaddressed: true, perhapsAddressed: true },
    });
    expect(filter(withFile)).toEqual({ drop: "not_mentioned" });
    const [plain, addressed] = [reply("yes"), reply(`yes, <@${botUser}>`)];
    for (const filterResult of [plain, addressed])
      expect(filterResult).not.toHaveProperty("userMessage.perhapsAddressed");
    const elsewhere = filter(
      withEvent("thread-reply", { type: "message", text: `yes, <@${other}>` }),
    );
    expect(elsewhere).not.toHaveProperty("userMessage.perhapsAddressed");
  });
});

describe("a message of another bot", () => {
  it("reads a message of another bot that mentions it, with every id that a rule may name", () => {
    const ids = {
      app_id: "A2",
      bot_profile: { id: "B0OTHER001", app_id: "A2", team_id: "T0TEAM0001" },
    };
    expect(askedOf(withEvent("bot-message", ids))).toMatchObject({
      botIds: ["B0OTHER001", "A2"],
      text: "deployed",
    });
    expect(askedOf(withEvent("app-mention", { bot_id: "B2" }))).toMatchObject({
      user: "U0USER0001",
      botIds: ["B2"],
    });
  });

  it("reads a message of a workflow, which has no user and names itself", () => {
    const botFields = {
      user: undefined,
      subtype: "bot_message",
      bot_id: "B7",
      workflow_id: "Wf7",
      username: "Report",
    };
    expect(askedOf(withEvent("app-mention", botFields))).toMatchObject({
      user: "B7",
      botIds: ["B7", "Wf7"],
    });
  });

  it("names the person whose token an app used for the post and the ids of the app, also in an edit", () => {
    // Slack marks every post of its Web API so. Messages of its clients have a `client_msg_id` instead.
    const botFields = {
      client_msg_id: undefined,
      bot_id: "B0TOKEN001",
      app_id: "A2",
      bot_profile: {
        ...{ id: "B0TOKEN001", deleted: false, name: "Dictation", updated: 1762740000 },
        ...{ app_id: "A2", icons: {}, team_id: "T0TEAM0001" },
      },
    };
    const writer = { user: "U0USER0001", botIds: ["B0TOKEN001", "A2"] };
    expect(askedOf(withEvent("app-mention", botFields))).toMatchObject(writer);
    expect(askedOf(withEvent("message-with-mention", botFields))).toMatchObject(writer);
    expect(filter(withEvent("message-im", botFields))).toEqual({ drop: "from_bot" });
    const { event, ...envelope } = fixture("message-changed");
    const versions = {
      message: { ...Object(event.message), ...botFields },
      previous_message: { ...Object(event.previous_message), ...botFields, text: "", blocks: null },
    };
    const editedPayload = { ...envelope, event: { ...event, ...versions } };
    expect(filter(editedPayload)).toMatchObject({ kind: "edited", userMessage: writer });
    // A token of a person of this app makes a post of this app.
    const own = { ...botFields, app_id: "A0APP00001" };
    expect(filter(withEvent("app-mention", own))).toEqual({ drop: "from_bot" });
    const ownEdit = { ...versions, message: { ...versions.message, app_id: "A0APP00001" } };
    expect(filter({ ...envelope, event: { ...event, ...ownEdit } })).toEqual({ drop: "from_bot" });
  });

  it("never attributes the message of an integration to the person who set it up", () => {
    const botFields = { user: "U0USER0001", subtype: "bot_message", bot_id: "B7" };
    expect(askedOf(withEvent("app-mention", botFields))).toMatchObject({ user: "B7" });
    expect(filter(withEvent("app-mention", { ...botFields, bot_id: undefined }))).toEqual({
      drop: "no_user",
    });
  });

  it("drops a reply of another bot that mentions nobody", () => {
    const reply = withEvent("thread-reply", { type: "message", text: "done", bot_id: "B2" });
    expect(filter(reply)).toEqual({ drop: "from_bot" });
  });

  it("sets no bot ids on a message of a person", () => {
    expect(askedOf(fixture("app-mention"))).not.toHaveProperty("botIds");
  });
});

describe("a channel that is shared with other organizations", () => {
  const own = { user_team: "T0TEAM0001", source_team: "T0TEAM0001", team: "T0TEAM0001" };

  it.each([
    ["people", "a person of another organization", {}],
    ["channels", "our own organization", own],
    [
      "people",
      "a person with one field that names another organization",
      { ...own, source_team: "T9" },
    ],
    [
      "people",
      "a person without details",
      { user_team: undefined, source_team: undefined, team: undefined },
    ],
    [
      "people",
      "a bot of another organization",
      { ...own, bot_profile: { id: "B9", team_id: "T9" } },
    ],
  ])("marks the audience as %s for a message of %s", (external, _whose, change) => {
    expect(askedOf(withEvent("slack-connect", change)).external).toBe(external);
  });

  it("names the workspace of a person of another organization, but not of a person of its own", () => {
    expect(askedOf(fixture("slack-connect"))).toMatchObject({
      team: "T0TEAM0001",
      userTeam: "T0GUEST001",
    });
    expect(askedOf(withEvent("slack-connect", own))).not.toHaveProperty("userTeam");
  });

  it("treats a person as internal if the app is installed in the whole organization", () => {
    const payload = withEvent("enterprise-grid", { team: "E0ORG00001" });
    expect(askedOf({ ...payload, is_ext_shared_channel: true }).external).toBe("channels");
    expect(askedOf(payload)).not.toHaveProperty("external");
  });
});

describe("a message that is not for the bot", () => {
  it.each([
    [
      "another app's post without a mention",
      "from_bot",
      withEvent("bot-message", { text: "deployed" }),
    ],
    [
      "another app's post in a direct message",
      "from_bot",
      withEvent("message-im", { bot_id: "B2" }),
    ],
    [
      "the bot's own post under another user",
      "from_bot",
      withEvent("bot-message", { app_id: "A0APP00001" }),
    ],
    [
      "its own post by its profile",
      "from_bot",
      withEvent("bot-message", { bot_profile: { app_id: "A0APP00001" } }),
    ],
    ["the bot's own post", "from_bot", fixture("own-message")],
    [
      "the bot's own post without a bot_id",
      "from_bot",
      withEvent("own-message", { bot_id: undefined }),
    ],
    [
      "another app's post without its bot's id",
      "from_bot",
      withEvent("message-im", { bot_profile: { id: "B2" } }),
    ],
    [
      "a reminder of Slack's own",
      "from_bot",
      withEvent("message-with-mention", { user: "USLACKBOT" }),
    ],
    [
      "an edit without the message",
      "malformed_message",
      withEvent("message-changed", { message: undefined, previous_message: undefined }),
    ],
    [
      "a deletion without the message",
      "malformed_message",
      withEvent("message-deleted", { previous_message: undefined }),
    ],
    [
      "a person joining a channel",
      "subtype",
      withEvent("message-with-mention", { subtype: "channel_join" }),
    ],
    ["a hidden message", "hidden", withEvent("message-im", { hidden: true })],
    [
      "an edited message",
      "edited",
      withEvent("app-mention", { edited: { user: "U0USER0001", ts: "1.1" } }),
    ],
    ["a message without an author", "no_user", withEvent("message-im", { user: undefined })],
    ["chatter", "not_mentioned", withEvent("message-with-mention", { text: "hello all" })],
    [
      "a mention of another person",
      "not_mentioned",
      withEvent("message-with-mention", { text: "<@U0BOT000012> hi" }),
    ],
    [
      "a typed imitation of a mention",
      "not_mentioned",
      withEvent("message-with-mention", { text: "&lt;@U0BOT00001&gt;" }),
    ],
    [
      "chatter in a group's direct message",
      "not_mentioned",
      withEvent("message-im", { channel: "G1", channel_type: "mpim" }),
    ],
    ["a reaction", "other_event", fixture("reaction-added")],
    ["an event whose channel is an object", "other_event", fixture("channel-created")],
    [
      "a message without a channel",
      "malformed_message",
      withEvent("app-mention", { channel: undefined }),
    ],
    [
      "a message with an invalid ts",
      "malformed_message",
      withEvent("app-mention", { ts: "yesterday" }),
    ],
  ])("drops %s (%s)", (_what, drop, payload) => {
    expect(filter(payload)).toEqual({ drop });
  });

  it("drops a direct message between people, which Slack delivers for a user token", () => {
    const authorizations = [{ user_id: "U0USER0002", is_bot: false }];
    expect(filter({ ...fixture("message-im"), authorizations })).toEqual({ drop: "not_mentioned" });
    expect(filter({ ...fixture("message-im"), authorizations: null })).toEqual({
      drop: "not_mentioned",
    });
  });
});

describe("the installation", () => {
  it("assigns the message to the organization if the app is installed there", () => {
    expect(askedOf(fixture("enterprise-grid"))).toMatchObject({
      team: "T0GRID0001",
      enterprise: "E0ORG00001",
    });
  });

  it.each([
    [
      "of the authorization",
      { authorizations: [{ user_id: botUser, is_enterprise_install: true, enterprise_id: "E1" }] },
      "E1",
    ],
    [
      "of the context if the authorization has none",
      {
        authorizations: [{ user_id: botUser, is_enterprise_install: true }],
        context_enterprise_id: "E2",
        enterprise_id: "E3",
      },
      "E2",
    ],
    [
      "of the event if no other exists",
      {
        authorizations: [{ user_id: botUser, is_enterprise_install: true }],
        context_enterprise_id: null,
        enterprise_id: "E3",
      },
      "E3",
    ],
  ])("takes the organization id %s", (_whose, change, enterprise) => {
    expect(askedOf({ ...fixture("app-mention"), ...change }).enterprise).toBe(enterprise);
  });

  it("leaves out the organization if the app is installed in a workspace of it", () => {
    const change = { context_enterprise_id: "E0ORG00001", enterprise_id: "E0ORG00001" };
    expect(askedOf({ ...fixture("app-mention"), ...change })).not.toHaveProperty("enterprise");
  });
});

describe("a forwarded message", () => {
  const attachments = [
    { is_share: true, is_msg_unfurl: true, text: "The backup failed", author_name: "robin" },
  ];
  const quotation = "Forwarded message from robin:\n> The backup failed";

  it("reads a forwarded message in a direct message as a request, also without a text", () => {
    expect(askedOf(withEvent("message-im", { text: "", attachments })).text).toBe(quotation);
    const share = withEvent("message-im", { text: "", attachments, subtype: "message_share" });
    expect(askedOf(share).text).toBe(quotation);
  });

  it("ignores mentions inside a forwarded message", () => {
    const mention = [{ ...attachments[0], text: `<@${botUser}> cancel` }];
    expect(
      filter(withEvent("message-with-mention", { text: "fyi", attachments: mention })),
    ).toEqual({
      drop: "not_mentioned",
    });
    const reply = askedOf(
      withEvent("thread-reply", { type: "message", text: "", attachments: mention }),
    );
    expect(reply).toMatchObject({
      unaddressed: true,
      text: expect.stringContaining(`> @${botUser} cancel`),
    });
  });
});

describe("the text", () => {
  it("removes every mention of the bot from the text, also a labelled one, and no other mention", () => {
    expect(textOf(`hey <@${botUser}> ask <@U0USER0002> or <@${botUser}|sekisho>`)).toBe(
      "hey ask @U0USER0002 or",
    );
  });

  it("cuts a long text so that it fits the queue but is still refused as too long", () => {
    const text = textOf("\u0001".repeat(900_000));
    expect(text).toHaveLength(40_001);
    expect(Buffer.byteLength(JSON.stringify({ text }))).toBeLessThan(255 * 1024);
  });

  it("keeps a text of exactly the allowed length whole", () => {
    expect(textOf("関".repeat(40_000))).toHaveLength(40_000);
  });
});

const taskId = "b712cf0d-e876-58d0-ab39-23ec5761e80e";

function of(type: VerifiedPayload["type"], payload: unknown): InterpretedPayload {
  return interpretPayload({ verified: { type, payload }, nowMs, newTrace: createTrace });
}

function messageOf(type: VerifiedPayload["type"], payload: unknown) {
  const interpretation = of(type, payload);
  if (!("message" in interpretation))
    throw new Error(`no message: ${JSON.stringify(interpretation)}`);
  return queueMessageSchema.parse(interpretation.message);
}

const command = (change: Record<string, unknown> = {}) => ({
  ...fixture("slash-command"),
  ...change,
});
const clickPayload = (change: Record<string, unknown> = {}) => ({
  ...fixture("block-actions"),
  ...change,
});

describe("a slash command", () => {
  it("reads a slash command as a question with its time and its typed text", () => {
    expect(messageOf("slash_commands", command())).toMatchObject({
      type: "ask",
      requestId: requestIdOf({
        appId: "A0APP00001",
        channel: "C0CHAN0001",
        ts: "13345224609.738474920.8088930838d88f008e0",
      }),
      receivedAtMs: nowMs,
      message: {
        appId: "A0APP00001",
        team: "T0TEAM0001",
        channel: "C0CHAN0001",
        user: "U0USER0001",
        ts: "1762750300.000000",
        direct: false,
        text: "What is a sekisho? 1 < 2",
        command: true,
      },
    });
  });

  it("gives a repeated delivery of a command the same id, and a repeated command a new one", () => {
    const again = command({ trigger_id: "13345224609.738474920.8088930838d88f008e9" });
    const ids = [command(), command(), again].map((each) => messageOf("slash_commands", each));
    const [first, repeatedId, second] = ids.map((message) => message.requestId);
    expect(repeatedId).toBe(first);
    expect(second).not.toBe(first);
  });

  it.each([
    ["a direct message", { channel_id: "D0DIRECT01", channel_name: "directmessage" }, true],
    ["a group's direct message", { channel_id: "G0GROUP001", channel_name: "mpdm-a--b-1" }, false],
    ["a private channel", { channel_id: "C0PRIVATE1", channel_name: "privategroup" }, false],
  ])(
    "decides from the channel id whether a command comes from a direct message: %s",
    (_where, change, direct) => {
      expect(messageOf("slash_commands", command(change))).toMatchObject({ message: { direct } });
    },
  );

  it("assigns a command to the organization if the app is installed there, as form or over the socket", () => {
    for (const is_enterprise_install of ["true", true]) {
      const change = { is_enterprise_install, enterprise_id: "E0ORG00001" };
      expect(messageOf("slash_commands", command(change))).toMatchObject({
        message: { enterprise: "E0ORG00001" },
      });
    }
    const { message } = {
      message: undefined,
      ...messageOf("slash_commands", command({ enterprise_id: "E0ORG00001" })),
    };
    expect(message).not.toHaveProperty("enterprise");
  });

  it("reads a command without a text as an empty question", () => {
    expect(messageOf("slash_commands", command({ text: undefined }))).toMatchObject({
      message: { text: "" },
    });
  });

  it.each([
    ["a trigger that looks like a post's ts", { trigger_id: "1762750000.000100" }],
    ["an empty trigger", { trigger_id: "" }],
    ["no channel", { channel_id: undefined }],
    ["no user", { user_id: "" }],
  ])("drops a command with %s", (_what, change) => {
    expect(of("slash_commands", command(change))).toEqual({ drop: "unknown_payload" });
  });
});

describe("a button", () => {
  const expectedResult = {
    type: "button_click",
    requestId: taskId,
    team: "T0TEAM0001",
    channel: "C0CHAN0001",
    threadTs: "1762750000.000100",
    user: "U0USER0001",
    userTeam: "T0TEAM0001",
    atMs: nowMs,
    button: { type: "cancel" },
  };

  it("reads who clicked a button, of which task and where", () => {
    expect(messageOf("interactive", clickPayload())).toEqual(expectedResult);
  });

  it("reads the question and the answer of a clicked option", () => {
    const button = { type: "answer", question: 1, option: 2 } as const;
    const actions = [encodeButton({ requestId: taskId, button })];
    expect(messageOf("interactive", clickPayload({ actions }))).toEqual({
      ...expectedResult,
      button,
    });
  });

  it("takes the workspace of the person for a click in an installation of an organization", () => {
    const change = {
      team: null,
      enterprise: { id: "E0ORG00001", name: "Example" },
      is_enterprise_install: true,
    };
    expect(messageOf("interactive", clickPayload(change))).toMatchObject({
      team: "T0TEAM0001",
      enterprise: "E0ORG00001",
    });
  });

  it("assigns a click to the workspace in which the app is installed, even in an organization", () => {
    const change = {
      enterprise: { id: "E0ORG00001", name: "Example" },
      user: { id: "U1", team_id: "T0OTHER001" },
    };
    expect(messageOf("interactive", clickPayload(change))).toEqual({
      ...expectedResult,
      user: "U1",
      userTeam: "T0OTHER001",
    });
  });

  it("names the workspace of the person who clicked in a channel of another installation", () => {
    // https://github.com/slackapi/java-slack-sdk/issues/1041
    const change = { team: { id: "T0TEAM0001" }, user: { id: "U1", team_id: "T0OTHER001" } };
    expect(messageOf("interactive", clickPayload(change))).toMatchObject({
      team: "T0TEAM0001",
      userTeam: "T0OTHER001",
    });
    const unknown = messageOf("interactive", clickPayload({ user: { id: "U1" } }));
    expect(unknown).toMatchObject({ team: "T0TEAM0001" });
    expect(unknown).not.toHaveProperty("userTeam");
  });

  it("finds the message of a button by its container if Slack sends no message or channel", () => {
    expect(
      messageOf("interactive", clickPayload({ message: undefined, channel: undefined })),
    ).toEqual(expectedResult);
  });

  it.each([
    ["a button of another app", clickPayload({ actions: [{ action_id: "other", value: "1" }] })],
    ["a button without a value", clickPayload({ actions: [{ action_id: "sekisho_cancel" }] })],
    [
      "an unknown value",
      clickPayload({ actions: [{ action_id: "sekisho_cancel", value: '{"r":"1"}' }] }),
    ],
    ["no action", clickPayload({ actions: [] })],
    ["no workspace", clickPayload({ team: null, user: { id: "U1" } })],
    ["no channel", clickPayload({ channel: null, container: null })],
    ["a shortcut", { type: "shortcut", callback_id: "x" }],
    ["a modal", clickPayload({ type: "view_submission" })],
    ["nothing", null],
  ])("drops an interaction that is not a button click: %s", (_what, payload) => {
    expect(of("interactive", payload)).toEqual({ drop: "other_interaction" });
  });
});

describe("the App Home", () => {
  const fromHome = {
    container: { type: "view", view_id: "V0VIEW0001" },
    view: { id: "V0VIEW0001", type: "home" },
    channel: undefined,
    message: undefined,
  };

  it("reads that a person opened the App Home", () => {
    const message = {
      kind: "home",
      appId: "A0APP00001",
      channel: "D0DIRECT01",
      ts: "1762750000.000200",
    } as const;
    expect(messageOf("events_api", withEvent("app-home-opened", { tab: "home" }))).toEqual({
      type: "home_opened",
      requestId: interactionIdOf(message),
      ...{ team: "T0TEAM0001", user: "U0USER0001", userTeam: "T0TEAM0001" },
    });
  });

  it("reads a cancel button of the App Home without a channel", () => {
    const message = messageOf("interactive", clickPayload(fromHome));
    expect(message).toMatchObject({
      type: "button_click",
      requestId: taskId,
      button: { type: "cancel" },
    });
    expect(message).not.toHaveProperty("channel");
  });

  it.each([
    ["a button of a modal", { ...fromHome, view: { id: "V1", type: "modal" } }],
    [
      "an answer to a question",
      {
        ...fromHome,
        actions: [
          encodeButton({ requestId: taskId, button: { type: "answer", question: 0, option: 0 } }),
        ],
      },
    ],
  ])("drops any other button of the App Home: %s", (_what, change) => {
    expect(of("interactive", clickPayload(change))).toEqual({ drop: "other_interaction" });
  });
});

describe("a conversation with the agent", () => {
  it("reads the messages tab as an opened conversation, with the same id for each delivery", () => {
    const payload = fixture("app-home-opened");
    const tab = {
      kind: "assistant",
      appId: "A0APP00001",
      channel: "D0DIRECT01",
      ts: "1762750000.000200",
    } as const;
    expect(messageOf("events_api", payload)).toEqual({
      type: "conversation_opened",
      requestId: interactionIdOf(tab),
      ...{ team: "T0TEAM0001", channel: "D0DIRECT01", user: "U0USER0001" },
    });
    expect(interactionIdOf(tab)).not.toBe(requestIdOf(tab));
    const about = withEvent("app-home-opened", { tab: "about" });
    expect(of("events_api", about)).toEqual({ drop: "other_event" });
    const brokenEvent = withEvent("app-home-opened", { user: 7 });
    expect(of("events_api", brokenEvent)).toEqual({ drop: "unknown_payload" });
  });

  it("reads a stop by the button of Slack itself", () => {
    const payload = fixture("agent-session-stopped");
    const stop = {
      kind: "stopped",
      appId: "A0APP00001",
      channel: "C0CHAN0001",
      ts: "1762750000.000300",
    } as const;
    const stopMessage = {
      type: "session_stopped",
      requestId: interactionIdOf(stop),
      ...{
        team: "T0TEAM0001",
        channel: "C0CHAN0001",
        threadTs: "1762750000.000100",
        user: "U0USER0001",
      },
      userTeam: "T0TEAM0001",
    };
    expect(messageOf("events_api", payload)).toEqual({
      ...stopMessage,
      streams: ["1762750000.000200"],
    });
    const without = withEvent("agent-session-stopped", { streaming_message_ts: null });
    expect(messageOf("events_api", without)).toEqual({ ...stopMessage, streams: [] });
    const brokenEvent = withEvent("agent-session-stopped", { thread_ts: "now" });
    expect(of("events_api", brokenEvent)).toEqual({ drop: "unknown_payload" });
  });

  it("leaves out the workspace of who stops in a shared channel if Slack names the installation", () => {
    const payload = { ...fixture("agent-session-stopped"), is_ext_shared_channel: true };
    expect(messageOf("events_api", payload)).not.toHaveProperty("userTeam");
    expect(messageOf("events_api", { ...payload, team_id: "T0GUEST001" })).toMatchObject({
      ...{ team: "T0TEAM0001", userTeam: "T0GUEST001" },
    });
  });
});

const address = "https://files.slack.com/files-pri/T0TEAM0001-F0FILE0001";

const hosted = {
  id: "F0FILE0001",
  name: "plan.pdf",
  mimetype: "application/pdf",
  size: 104_857,
  mode: "hosted",
  is_external: false,
  url_private: `${address}/plan.pdf`,
  url_private_download: `${address}/download/plan.pdf`,
};

describe("a file of a message", () => {
  it("keeps the fields that are needed to fetch a file", () => {
    const { id, name, mimetype, size, url_private_download: url } = hosted;
    expect(readUserFiles([hosted])).toEqual([{ id, name, mimetype, size, url }]);
    expect(readUserFiles([{ ...hosted, url_private_download: undefined }])).toMatchObject([
      { url: hosted.url_private },
    ]);
  });

  it.each([
    ["a deleted file", { id: "F1", mode: "tombstone" }],
    ["a file beyond the plan's limit", { ...hosted, id: "F1", mode: "hidden_by_limit" }],
    [
      "an external file",
      { ...hosted, id: "F1", is_external: true, url_private: "https://drive.example/1" },
    ],
    ["an external file by its mode", { ...hosted, id: "F1", mode: "external" }],
    ["a file of a shared channel without details", { id: "F1", file_access: "check_file_info" }],
    [
      "a file with an invalid address",
      { ...hosted, id: "F1", url_private_download: "file:///etc/passwd" },
    ],
  ])("keeps a file without its address if it cannot be fetched: %s", (_what, file) => {
    const [userFile] = readUserFiles([file]);
    expect(userFile).toMatchObject({ id: "F1" });
    expect(userFile).not.toHaveProperty("url");
  });

  it.each([
    [
      "a canvas",
      "application/vnd.slack-docs",
      { mode: "quip", mimetype: "application/vnd.slack-docs" },
    ],
    [
      "a canvas, by its type",
      "application/vnd.slack-docs",
      { mimetype: "application/vnd.slack-docs" },
    ],
    [
      "a canvas, by its mode",
      "application/vnd.slack-docs",
      { mode: "canvas", mimetype: "text/html" },
    ],
    ["a list", "application/vnd.slack-list", { mode: "list", mimetype: null }],
  ])("keeps the type and no address of a Slack document: %s", (_what, type, changes) => {
    const [document] = readUserFiles([{ ...hosted, ...changes }]);
    expect(document).toMatchObject({ id: hosted.id, mimetype: type });
    expect(document).not.toHaveProperty("url");
    expect(readUserFiles([{ ...hosted, name: "sources.list", mode: "constructor" }])).toMatchObject(
      [{ url: hosted.url_private_download }],
    );
  });

  it("names a file without a name by its title or its id", () => {
    const names = [{ ...hosted, name: null, title: "The plan" }, { id: "F2" }].map(
      (file) => readUserFiles([file])[0]?.name,
    );
    expect(names).toEqual(["The plan", "F2"]);
  });

  it("skips malformed files and keeps the others", () => {
    expect(readUserFiles([null, "F1", { id: 7 }, { ...hosted, size: -1 }, hosted])).toHaveLength(1);
  });
});

describe("the files of a message", () => {
  it("keeps at most thirty files, which the worker refuses as too many", () => {
    expect(readUserFiles(Array.from({ length: 100 }, () => hosted))).toHaveLength(30);
  });

  it("fits the files of forwarded messages into the queue beside the longest text and own files", () => {
    const name = "関".repeat(255);
    const start = "https://files.slack.com/";
    const url_private_download = `${start}${'"'.repeat(1000 - start.length)}`;
    const files = Array.from({ length: 40 }, (_, n) => ({
      ...hosted,
      id: `F${n}`.padEnd(64, "0"),
      name,
      mimetype: name,
      url_private_download,
    }));
    const attachments = [{ is_share: true, text: "a", files }];
    const payload = withEvent("message-im", { text: "関".repeat(39_990), attachments, files });
    const interpretation = interpretPayload({
      verified: { type: "events_api", payload },
      nowMs,
      newTrace: createTrace,
    });
    if (!("message" in interpretation)) throw new Error(JSON.stringify(interpretation));
    expect(interpretation.message).toMatchObject({
      message: { files: { length: 30 }, sharedFiles: { length: 10 } },
    });
    expect(Buffer.byteLength(escapeSqsText(JSON.stringify(interpretation.message)))).toBeLessThan(
      256 * 1024,
    );
  });

  it("fits the files and the longest text into the queue, whatever the characters", () => {
    const evil = fc.constantFrom(
      "\u0001",
      "\ud800",
      "\uffff",
      '"',
      "\\",
      "関",
      "🏯",
      "\u2028",
      "<",
    );
    forAll(evil, evil).hold((one, other) => {
      const name = one.repeat(1000);
      const url_private_download = `${address}/${'"'.repeat(900)}`;
      const files = Array.from({ length: 40 }, () => ({
        ...hosted,
        name,
        mimetype: name,
        url_private_download,
      }));
      const { event, ...payload } = fixture("app-mention");
      const verifiedPayload = {
        type: "events_api" as const,
        payload: { ...payload, event: { ...event, files, text: other.repeat(60_000) } },
      };
      const interpretation = interpretPayload({
        verified: verifiedPayload,
        nowMs,
        newTrace: createTrace,
      });
      if (!("message" in interpretation)) throw new Error(JSON.stringify(interpretation));
      queueMessageSchema.parse(interpretation.message);
      expect(Buffer.byteLength(escapeSqsText(JSON.stringify(interpretation.message)))).toBeLessThan(
        256 * 1024,
      );
    }, 30);
  });
});

const commandForm = formOf(fixture("slash-command"));
const buttonClick = formOf({ payload: JSON.stringify(fixture("block-actions")) });
const form = { more: [["content-type", "application/x-www-form-urlencoded"]] as const };

describe("a signed form", () => {
  it.each([
    [
      "a slash command",
      commandForm,
      { type: "ask", message: { command: true, text: "What is a sekisho? 1 < 2" } },
    ],
    ["a button", buttonClick, { type: "button_click", button: { type: "cancel" }, atMs: nowMs }],
  ])(
    "enqueues a signed form as one message and answers with an empty 200: %s",
    async (_what, body, responseFields) => {
      const { ingress, sent: messages } = setUp();
      expect(await ingress(createSignedRequest({ body, ...form }))).toEqual(emptyAnswer(200));
      expect(messages).toMatchObject([responseFields]);
    },
  );

  it("keeps the characters of every language in a form", async () => {
    const { ingress, asks } = setUp();
    const body = formOf({ ...fixture("slash-command"), text: "関所とは 🏯 a+b & c" });
    await ingress(createSignedRequest({ body }));
    expect(asks.map(({ message }) => message.text)).toEqual(["関所とは 🏯 a+b & c"]);
  });

  it("logs no text, token or response address of a form", async () => {
    const { ingress, lines } = setUp();
    for (const body of [commandForm, buttonClick]) await ingress(createSignedRequest({ body }));
    expect(lines).toHaveLength(2);
    for (const text of ["sekisho?", "hooks.slack.com", "ZZZZZZ", secret])
      expect(lines.join("")).not.toContain(text);
  });
});
