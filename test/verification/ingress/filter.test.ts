/** The filter: which events are messages for the bot, and what of them is kept. */
import { describe, expect, it } from "@jest/globals";
import { type Filtered, filterEvent } from "../../../lambdas/verification/ingress/filter.ts";
import { parsePayload } from "../../../lambdas/verification/ingress/payload.ts";
import { requestIdOf } from "../../../lambdas/verification/ingress/request-id.ts";
import { askedMessageSchema } from "../../../lambdas/verification/task/messages.ts";
import { botUser, bytesOf, fixture, type Payload } from "./slack-request.ts";

function filter(payload: Payload): Filtered {
  const parsed = parsePayload(bytesOf(payload));
  if (parsed?.type !== "event_callback") throw new Error("the payload is no event_callback");
  return filterEvent(parsed);
}

const withEvent = (name: string, change: Record<string, unknown>): Payload => {
  const payload = fixture(name);
  return { ...payload, event: { ...payload.event, ...change } };
};
const askedOf = (payload: Payload) => {
  const filtered = filter(payload);
  if (!("asked" in filtered)) throw new Error(`dropped: ${filtered.drop}`);
  return askedMessageSchema.parse(filtered.asked);
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

describe("what is not for the bot", () => {
  it.each([
    ["another app's post", "from_bot", fixture("bot-message")],
    ["the bot's own post", "from_bot", fixture("own-message")],
    ["the bot's own post without a bot_id", "from_bot", withEvent("own-message", { bot_id: undefined })],
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
