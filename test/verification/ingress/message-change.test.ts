/** Edits and deletions of messages, as Slack sends them. */
import { describe, expect, it } from "@jest/globals";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  type InterpretedPayload,
  interpretPayload,
} from "@sekisho/verification/ingress/interpret-payload.ts";
import { queueMessageSchema } from "@sekisho/verification/task/messages.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";
import { botUser, fixture, nowMs, type Payload } from "./slack-request.ts";

const readValue = (payload: Payload): InterpretedPayload =>
  interpretPayload({ verified: { type: "events_api", payload }, nowMs, newTrace: createTrace });

const ts = "1762750000.000100";
const version = (change: object = {}) => ({
  type: "message",
  user: "U0USER0001",
  team: "T0TEAM0001",
  text: `<@${botUser}> What is a sekisho?`,
  ts,
  ...change,
});
const editMark = { edited: { user: "U0USER0001", ts: "1762750010.000000" } };

function changePayload(
  oldValue: object | undefined,
  newValue: object,
  envelope: object = {},
): Payload {
  const payload = fixture("message-changed");
  const event = {
    type: "message",
    subtype: "message_changed",
    hidden: true,
    channel: "C0CHAN0001",
    channel_type: "channel",
    ts: "1762750010.000300",
    event_ts: "1762750010.000300",
    message: version({ ...editMark, ...newValue }),
    ...(oldValue && { previous_message: version(oldValue) }),
  };
  return { ...payload, ...envelope, event };
}

function deletionPayload(oldValue: object): Payload {
  const { message: _message, ...event } = changePayload(oldValue, {}).event;
  return {
    ...fixture("message-deleted"),
    event: { ...event, subtype: "message_deleted", deleted_ts: ts },
  };
}

const changeOf = (payload: Payload) => {
  const interpretation = readValue(payload);
  if (!("message" in interpretation))
    throw new Error(`no message: ${JSON.stringify(interpretation)}`);
  return queueMessageSchema.parse(interpretation.message);
};
const text = (of: string) => ({ text: of });
const mention = text(`<@${botUser}> And who kept it?`);

describe("an edit", () => {
  it("reads an edit with the id of its message, the new text and the time of the edit", () => {
    expect(changeOf(changePayload({}, mention))).toMatchObject({
      type: "message_change",
      requestId: requestIdOf({ appId: "A0APP00001", channel: "C0CHAN0001", ts }),
      receivedAtMs: nowMs,
      message: {
        user: "U0USER0001",
        ts,
        text: "And who kept it?",
        editedTs: "1762750010.000300",
        direct: false,
      },
    });
    expect(changeOf(changePayload({}, mention))).not.toHaveProperty("isDeleted");
  });

  it("reads the fixture of a real edit", () => {
    expect(changeOf(fixture("message-changed"))).toMatchObject({
      type: "message_change",
      message: { text: "What is a sekisho, really?", editedTs: "1762750050.000300" },
    });
  });

  it.each([
    ["was", {}, text("never mind")],
    ["is now", text("What is a sekisho?"), mention],
  ])("treats an edit as addressed if the message %s a mention", (_when, oldValue, newValue) => {
    expect(changeOf(changePayload(oldValue, newValue))).not.toHaveProperty("message.unaddressed");
  });

  it("marks the edit of an unaddressed reply as unaddressed", () => {
    const thread = { thread_ts: "1762740000.000100" };
    const reply = changePayload({ ...text("yes"), ...thread }, { ...text("no"), ...thread });
    expect(changeOf(reply)).toMatchObject({
      message: { unaddressed: true, threadTs: "1762740000.000100", text: "no" },
    });
  });

  it("does not treat the first message of a thread as a reply", () => {
    const root = { thread_ts: ts, reply_count: 1 };
    expect(changeOf(changePayload(root, { ...root, ...mention }))).not.toHaveProperty(
      "message.threadTs",
    );
    expect(readValue(changePayload({ ...root, ...text("a") }, { ...root, ...text("b") }))).toEqual({
      drop: "not_mentioned",
    });
  });

  it("reads a change of files as an edit", () => {
    const files = [{ id: "F1", name: "a.txt", size: 1, url_private: "https://files.slack.com/F1" }];
    expect(changeOf(changePayload({ files }, { files: [] }))).not.toHaveProperty("message.files");
    expect(changeOf(changePayload({}, { files }))).toMatchObject({
      message: { files: [{ id: "F1" }] },
    });
  });

  it("reads a change of a pasted table as an edit", () => {
    const table = (cell: string) => ({
      blocks: [{ type: "table", rows: [[{ type: "raw_text", text: cell }]] }],
    });
    expect(changeOf(changePayload(table("97 %"), table("12 %")))).toMatchObject({
      message: { text: expect.stringContaining("| 12 % |") },
    });
    expect(readValue(changePayload(table("97 %"), table("97 %")))).toEqual({ drop: "unchanged" });
  });

  it("reads the removal of a forwarded message as an edit, but not a change of its copy", () => {
    const forward = {
      is_share: true,
      channel_id: "C1",
      ts: "1762740000.000100",
      text: "The plan",
      files: [{ id: "F1" }],
    };
    const { message } = changeOf(
      changePayload({ attachments: [forward] }, { attachments: [] }),
    ) as {
      message: object;
    };
    expect(message).not.toHaveProperty("sharedFiles");
    expect(
      readValue(
        changePayload(
          { attachments: [forward] },
          { attachments: [{ ...forward, fallback: "The plan" }] },
        ),
      ),
    ).toEqual({
      drop: "unchanged",
    });
  });

  it("passes on an edit with any mention in a shared channel, since it may be the other bot user", () => {
    const other = text("<@U0BOT00002> and?");
    const sharedChannel = { is_ext_shared_channel: true };
    expect(
      changeOf(changePayload(text("<@U0BOT00002> what?"), other, sharedChannel)),
    ).toMatchObject({
      message: { text: "@U0BOT00002 and?", unaddressed: true, perhapsAddressed: true },
    });
    expect(readValue(changePayload(text("<@U0BOT00002> what?"), other))).toEqual({
      drop: "not_mentioned",
    });
  });

  it.each([
    [
      "only a link preview was added",
      "unchanged",
      changePayload({}, { attachments: [{ from_url: "https://example.com" }] }),
    ],
    [
      "a link of an edited message got its preview",
      "unchanged",
      changePayload(editMark, { attachments: [{}] }),
    ],
    [
      "a message without a mention was edited",
      "not_mentioned",
      changePayload(text("a"), text("b")),
    ],
    [
      "the bot edited its placeholder",
      "from_bot",
      changePayload({ user: botUser }, { ...mention, user: botUser }),
    ],
    [
      "the bot edited a post by its app id",
      "from_bot",
      changePayload({ app_id: "A0APP00001" }, { ...mention, app_id: "A0APP00001" }),
    ],
    [
      "another bot edited a post without a mention",
      "from_bot",
      changePayload({ ...text("a"), bot_id: "B2" }, { ...text("b"), bot_id: "B2" }),
    ],
    [
      "a channel's topic was edited",
      "subtype",
      changePayload({ subtype: "channel_topic" }, { subtype: "channel_topic", ...mention }),
    ],
    [
      "the message has no ts",
      "malformed_message",
      changePayload({ ts: "x" }, { ...mention, ts: "x" }),
    ],
    ["the message has no author", "no_user", changePayload({}, { ...mention, user: undefined })],
  ])("drops an edit if %s", (_what, drop, payload) => {
    expect(readValue(payload)).toEqual({ drop });
  });

  it("passes an edit without its previous version on to the worker, which compares", () => {
    expect(changeOf(changePayload(undefined, mention))).toMatchObject({
      message: { text: "And who kept it?" },
    });
  });
});

describe("a deletion", () => {
  it("reads a deletion with the id of its message and without its text", () => {
    const files = [{ id: "F1", name: "a.txt" }];
    const change = changeOf(deletionPayload({ files }));
    expect(change).toMatchObject({
      type: "message_change",
      isDeleted: true,
      requestId: requestIdOf({ appId: "A0APP00001", channel: "C0CHAN0001", ts }),
      message: { user: "U0USER0001", text: "" },
    });
    expect(change).not.toHaveProperty("message.files");
  });

  it("reads the tombstone of a message with replies as a deletion", () => {
    const tombstone = {
      subtype: "tombstone",
      user: "USLACKBOT",
      text: "This message was deleted.",
      hidden: true,
    };
    const change = changeOf(changePayload({ thread_ts: ts, reply_count: 1 }, tombstone));
    expect(change).toMatchObject({ isDeleted: true, message: { user: "U0USER0001", text: "" } });
  });

  it("drops the deletion of a bot post or of a message to others", () => {
    expect(readValue(deletionPayload({ user: botUser }))).toEqual({ drop: "from_bot" });
    expect(readValue(deletionPayload(text("hello")))).toEqual({ drop: "not_mentioned" });
  });
});
