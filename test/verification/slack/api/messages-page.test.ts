import { describe, expect, it } from "@jest/globals";
import { readMessagesPage } from "../../../../lambdas/verification/slack/api/messages.ts";
import { createMetadata } from "../../../../lambdas/verification/slack/api/posts.ts";
import { SlackError } from "../../../../lambdas/verification/slack/api/slack.ts";

const appId = "A0APP00001";
const key = { requestId: "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d", part: 1 };
const ours = { ts: "2.000001", text: "Done.", metadata: createMetadata(key), app_id: appId };
const read = (page: unknown) => readMessagesPage({ page, appId });
const keysOf = (...messages: object[]) => read({ messages }).posts.map((post) => post.key);

describe("a page of a thread", () => {
  it("has the key of each of the app's own posts", () => {
    expect(read({ messages: [ours], response_metadata: { next_cursor: "n" } })).toEqual({
      posts: [{ ts: "2.000001", text: "Done.", key, from: "self", user: undefined, fileIds: [] }],
      nextCursor: "n",
    });
  });

  it("has no key on another app's post or a person's, whatever metadata they carry", () => {
    const { app_id: _none, ...person } = ours;
    expect(keysOf({ ...ours, app_id: "A0APP00002" }, person)).toEqual([undefined, undefined]);
  });

  it("knows the app by its bot's profile where the message does not name it", () => {
    const { app_id: _none, ...nameless } = ours;
    expect(keysOf({ ...nameless, bot_profile: { app_id: appId } })).toEqual([key]);
    expect(keysOf({ ...nameless, bot_profile: { app_id: "A0APP00002" } })).toEqual([undefined]);
  });

  it.each([
    ["of another event", { event_type: "deployed", event_payload: {} }],
    ["without a request id", { event_type: "sekisho_message", event_payload: { part: 1 } }],
    ["of a part that is none", { event_type: "sekisho_message", event_payload: { request_id: "r", part: "1" } }],
    ["that are a text", "metadata"],
    ["that are null", null],
  ])("keeps its other posts where one has metadata %s", (_what, metadata) => {
    expect(keysOf({ ...ours, metadata }, ours)).toEqual([undefined, key]);
  });

  it.each([
    ["self", { app_id: appId, bot_id: "B1", user: "UBOT" }],
    ["person", { user: "U1" }],
    ["person", { user: "U1", app_id: "A0APP00002", client_msg_id: "through an app" }],
    ["other_bot", { bot_id: "B2", app_id: "A0APP00002", user: "UOTHER" }],
    ["other_bot", { subtype: "bot_message", username: "An old webhook" }],
    ["other_bot", { bot_profile: { app_id: "A0APP00002" } }],
  ])("tells that %s wrote %j", (from, message) => {
    expect(read({ messages: [{ ts: "1.000001", text: "", ...message }] }).posts[0]?.from).toBe(from);
  });

  it("names files, and lets be what is none", () => {
    const files = [{ id: "F1" }, { id: 7 }, null, "F2", { id: "F3", mode: "tombstone" }];
    const posts = read({
      messages: [
        { ...ours, files },
        { ...ours, files: "none" },
      ],
    }).posts;
    expect(posts.map(({ fileIds }) => fileIds)).toEqual([["F1", "F3"], []]);
  });

  it("keeps its other posts where one has no text, or an app id that is none", () => {
    expect(keysOf({ ts: "1.000001", text: null, app_id: 7, bot_profile: "none" }, ours)).toEqual([undefined, key]);
  });

  it("is the last one where it has no cursor", () => {
    for (const end of [{}, { response_metadata: {} }, { response_metadata: { next_cursor: "" } }])
      expect(read({ messages: [], ...end }).nextCursor).toBe("");
  });

  it.each([
    ["without messages", { ok: true }],
    ["whose messages are no list", { messages: {} }],
    ["with a message that has no ts", { messages: [ours, { text: "hello" }] }],
    ["with a message that is null", { messages: [ours, null] }],
    ["with a cursor that is none", { messages: [ours], response_metadata: { next_cursor: 2 } }],
  ])("%s is not taken for an empty one: nobody knows what is there", (_what, page) => {
    expect(() => read(page)).toThrow(expect.objectContaining({ name: SlackError.name, kind: "ambiguous" }));
  });
});
