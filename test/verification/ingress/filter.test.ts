/** The filter: which events are messages for the bot, and what of them is kept. */
import { describe, expect, it } from "@jest/globals";
import {
  eventCallbackSchema,
  type FilteredEvent,
  filterEvent,
} from "../../../lambdas/verification/ingress/interpret-payload.ts";
import { userMessageSchema } from "../../../lambdas/verification/task/messages.ts";
import { requestIdOf } from "../../../lambdas/verification/task/routing.ts";
import { botUser, fixture, type Payload } from "./slack-request.ts";

function filter(payload: Payload): FilteredEvent {
  return filterEvent(eventCallbackSchema.parse(payload));
}

const withEvent = (name: string, change: Record<string, unknown>): Payload => {
  const payload = fixture(name);
  return { ...payload, event: { ...payload.event, ...change } };
};
const askedOf = (payload: Payload) => {
  const filtered = filter(payload);
  if (!("asked" in filtered)) throw new Error(`dropped: ${filtered.drop}`);
  return userMessageSchema.parse(filtered.asked);
};
const textOf = (text: string): string => askedOf(withEvent("app-mention", { text })).text;

describe("what is for the bot", () => {
  it("is a mention, without the mention itself", () => {
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

  it("is a message that mentions it, and that is the same as the mention of the same post", () => {
    const [mention, message] = [askedOf(fixture("app-mention")), askedOf(fixture("message-with-mention"))];
    expect(message).toEqual(mention);
    expect(requestIdOf(message)).toBe(requestIdOf(mention));
    expect(fixture("message-with-mention").event_id).not.toBe(fixture("app-mention").event_id);
  });

  it("is every message in a direct message with it, mentioned or not", () => {
    expect(askedOf(fixture("message-im"))).toMatchObject({ direct: true, text: "What is a sekisho?" });
    expect(askedOf(withEvent("message-im", { channel_type: undefined })).direct).toBe(true);
  });

  it("is a reply in a thread, which keeps its thread", () => {
    expect(askedOf(fixture("thread-reply"))).toMatchObject({
      threadTs: "1762750000.000100",
      text: "and in a thread",
    });
  });

  it("is what people say of themselves (/me)", () => {
    expect(askedOf(withEvent("app-mention", { subtype: "me_message" })).text).toContain("What is a sekisho?");
  });

  it("is a file in a thread reply, although it has the subtype file_share", () => {
    expect(askedOf(fixture("file-share"))).toMatchObject({ threadTs: "1762750000.000100", text: "summarize this" });
    expect(askedOf(withEvent("file-share", { text: `<@${botUser}>` })).text).toBe("");
  });

  it.each([
    ["nothing but a mention", withEvent("app-mention", { text: ` <@${botUser}>\n` })],
    ["nothing but a mention that came as a message", withEvent("message-with-mention", { text: `<@${botUser}>` })],
    ["a direct message without a text", withEvent("message-im", { text: undefined })],
  ])("is %s: whoever sent it gets an answer as well", (_what, payload) => {
    expect(askedOf(payload).text).toBe("");
  });

  it("is a thread reply that was also sent to the channel", () => {
    expect(askedOf(fixture("thread-broadcast")).text).toBe("also for the channel");
  });

  it.each([
    ["slack-connect", "T0TEAM0001"],
    ["enterprise-grid", "T0GRID0001"],
  ])("belongs to the workspace of the installation, not to the author's (%s)", (name, team) => {
    expect(fixture(name).team_id).not.toBe(team);
    expect(askedOf(fixture(name)).team).toBe(team);
  });

  it("belongs to team_id where Slack sends no context_team_id", () => {
    expect(askedOf({ ...fixture("app-mention"), context_team_id: null }).team).toBe("T0TEAM0001");
  });
});

describe("a reply in a thread that does not speak to the bot", () => {
  const reply = (text: string, change: Record<string, unknown> = {}) =>
    withEvent("thread-reply", { type: "message", text, ...change });

  it.each(["cancel", "yes, please", "and for Osaka?", "ask <@U0USER0002> too", "see <https://example.com>"])(
    "goes on as unaddressed, since its thread may be one of the bot: %s",
    (text) => {
      expect(askedOf(reply(text))).toMatchObject({ text, unaddressed: true, threadTs: "1762750000.000100" });
    },
  );

  it("keeps its files, also without a text", () => {
    const files = fixture("file-share").event.files;
    const asked = askedOf(reply("", { subtype: "file_share", files }));
    expect(asked).toMatchObject({ text: "", unaddressed: true, files: [{ id: "F0FILE0001" }] });
  });

  it.each(["<@U0USER0002> what do you say", " <@U0USER0002|hana> hi", "<!subteam^S1> ping", "<!here> lunch"])(
    "is dropped where it begins by speaking to somebody else: %s",
    (text) => expect(filter(reply(text))).toEqual({ drop: "not_mentioned" }),
  );

  it("is dropped where a bot wrote it, and where it only was edited", () => {
    expect(filter(reply("yes", { bot_id: "B1" }))).toEqual({ drop: "from_bot" });
    expect(filter(reply("yes", { user: botUser }))).toEqual({ drop: "from_bot" });
    expect(filter(reply("yes", { edited: { user: "U0USER0001", ts: "1.1" } }))).toEqual({ drop: "edited" });
  });

  it("is dropped where it was delivered for a person: their conversations are not the bot's", () => {
    const authorizations = [{ user_id: "U0USER0002", is_bot: false }];
    const direct = reply("yes", { channel: "D0DIRECT01", channel_type: "im" });
    for (const payload of [reply("yes"), direct]) {
      expect(filter({ ...payload, authorizations })).toEqual({ drop: "not_mentioned" });
    }
  });

  it("is addressed where it mentions the bot, and in a direct message always", () => {
    expect(askedOf(reply(`<@${botUser}> yes`)).unaddressed).toBeUndefined();
    expect(askedOf(withEvent("message-im", { thread_ts: "1762750000.000100" })).unaddressed).toBeUndefined();
  });
});

describe("a channel of Slack Connect with the app in both workspaces", () => {
  const other = "U0BOT00002";
  const mention = (text: string, change = {}) => askedOf(withEvent("slack-connect", { text, ...change }));
  const reply = (text: string) =>
    filter(withEvent("slack-connect", { type: "message", text, thread_ts: "1762740000.000100" }));

  it.each([
    [`<@${other}> cancel`, "cancel", [botUser, other]],
    [`<@${other}|sekisho> and here?`, "and here?", [botUser, other]],
    [`could you look, <@${other}>`, "could you look,", [botUser, other]],
    [`<@${other}> ask <@U0USER0002>`, "ask <@U0USER0002>", [botUser, other]],
    [`<@${other}> ask me, <@U0GUEST001>`, "ask me, <@U0GUEST001>", [botUser, other]],
    [`<@${botUser}> ask <@U0USER0002>`, "ask <@U0USER0002>", [botUser]],
    ["<@U0GUEST001> is me", "<@U0GUEST001> is me", [botUser]],
    [`ask <@U0USER0002> or <@${other}>`, `ask <@U0USER0002> or <@${other}>`, [botUser]],
  ])("understands a mention of either bot user, although Slack names one: %s", (text, understood, botUsers) => {
    expect(mention(text)).toMatchObject({ text: understood, botUsers, team: "T0TEAM0001" });
  });

  it("takes no other user for the bot's elsewhere", () => {
    const text = "<@U0USER0002> what do you say";
    const asked = askedOf(withEvent("app-mention", { text }));
    expect(asked).toMatchObject({ text, botUsers: [botUser] });
  });

  it("leaves the message that begins with it to the mention, and marks one that may have it further on", () => {
    expect(reply(`<@${other}> yes`)).toEqual({ drop: "not_mentioned" });
    expect(reply(`yes, <@${other}>`)).toMatchObject({ asked: { unaddressed: true, perhapsAddressed: true } });
    const [plain, addressed] = [reply("yes"), reply(`yes, <@${botUser}>`)];
    for (const filtered of [plain, addressed]) expect(filtered).not.toHaveProperty("asked.perhapsAddressed");
    const elsewhere = filter(withEvent("thread-reply", { type: "message", text: `yes, <@${other}>` }));
    expect(elsewhere).not.toHaveProperty("asked.perhapsAddressed");
  });
});

describe("what is not for the bot", () => {
  it.each([
    ["another app's post", "from_bot", fixture("bot-message")],
    ["the bot's own post", "from_bot", fixture("own-message")],
    ["the bot's own post without a bot_id", "from_bot", withEvent("own-message", { bot_id: undefined })],
    ["another app's post without its bot's id", "from_bot", withEvent("message-im", { bot_profile: { id: "B2" } })],
    ["a reminder of Slack's own", "from_bot", withEvent("message-with-mention", { user: "USLACKBOT" })],
    ["a changed message", "subtype", fixture("message-changed")],
    ["a deleted message", "subtype", fixture("message-deleted")],
    ["somebody joining", "subtype", withEvent("message-with-mention", { subtype: "channel_join" })],
    ["a hidden message", "hidden", withEvent("message-im", { hidden: true })],
    ["an edited message", "edited", withEvent("app-mention", { edited: { user: "U0USER0001", ts: "1.1" } })],
    ["a message of nobody", "no_user", withEvent("message-im", { user: undefined })],
    ["chatter", "not_mentioned", withEvent("message-with-mention", { text: "hello all" })],
    ["a mention of somebody else", "not_mentioned", withEvent("message-with-mention", { text: "<@U0BOT000012> hi" })],
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
    ["a message without a channel", "malformed_message", withEvent("app-mention", { channel: undefined })],
    ["a message with a ts that is none", "malformed_message", withEvent("app-mention", { ts: "yesterday" })],
  ])("is %s (%s)", (_what, drop, payload) => {
    expect(filter(payload)).toEqual({ drop });
  });

  it("is a direct message between people, which Slack delivers for a person's user token", () => {
    const authorizations = [{ user_id: "U0USER0002", is_bot: false }];
    expect(filter({ ...fixture("message-im"), authorizations })).toEqual({ drop: "not_mentioned" });
    expect(filter({ ...fixture("message-im"), authorizations: null })).toEqual({ drop: "not_mentioned" });
  });
});

describe("the installation", () => {
  it("is the organization's where the app is installed there", () => {
    expect(askedOf(fixture("enterprise-grid"))).toMatchObject({ team: "T0GRID0001", enterprise: "E0ORG00001" });
  });

  it.each([
    [
      "of the authorization",
      { authorizations: [{ user_id: botUser, is_enterprise_install: true, enterprise_id: "E1" }] },
      "E1",
    ],
    [
      "of the context where that has none",
      {
        authorizations: [{ user_id: botUser, is_enterprise_install: true }],
        context_enterprise_id: "E2",
        enterprise_id: "E3",
      },
      "E2",
    ],
    [
      "of the event where there is no other",
      {
        authorizations: [{ user_id: botUser, is_enterprise_install: true }],
        context_enterprise_id: null,
        enterprise_id: "E3",
      },
      "E3",
    ],
  ])("has the id %s", (_whose, change, enterprise) => {
    expect(askedOf({ ...fixture("app-mention"), ...change }).enterprise).toBe(enterprise);
  });

  it("is the workspace's where the app is installed there, although that belongs to an organization", () => {
    const change = { context_enterprise_id: "E0ORG00001", enterprise_id: "E0ORG00001" };
    expect(askedOf({ ...fixture("app-mention"), ...change })).not.toHaveProperty("enterprise");
  });
});

describe("the text", () => {
  it("is what the user typed: Slack's escapes are decoded, once", () => {
    expect(textOf(`<@${botUser}> is 1 &lt; 2 &amp;&amp; 3 &gt; 2?`)).toBe("is 1 < 2 && 3 > 2?");
    expect(textOf("what does &amp;lt; mean")).toBe("what does &lt; mean");
  });

  it("loses every mention of the bot wherever it stands, also a labelled one, and no other", () => {
    expect(textOf(`hey <@${botUser}> ask <@U0USER0002> or <@${botUser}|sekisho>`)).toBe("hey ask <@U0USER0002> or");
  });

  it("keeps its lines, and Slack's notation of channels and links", () => {
    const text = "see <#C1|general>\n\n  <https://example.com|this>\n```\ncode\n```";
    expect(textOf(`<@${botUser}>\n${text}`)).toBe(text);
  });

  it("that is longer than the contract allows stays too long, so that it is refused in words, but fits the queue", () => {
    const text = textOf("\u0001".repeat(900_000));
    expect(text).toHaveLength(40_001);
    expect(Buffer.byteLength(JSON.stringify({ text }))).toBeLessThan(255 * 1024);
  });

  it("of exactly the allowed length is kept whole", () => {
    expect(textOf("関".repeat(40_000))).toHaveLength(40_000);
  });
});
