/** Forwarded messages where `slack.context.forwards` is on and off. */
import { expect, it } from "@jest/globals";
import { setUp } from "./setup.ts";
import { botUser, bytesOf, createSignedRequest, fixture, type Payload } from "./slack-request.ts";

const forward = {
  is_share: true,
  is_msg_unfurl: true,
  text: "The backup failed",
  author_name: "robin",
  files: [{ id: "F1", name: "log.txt", mimetype: "text/plain", size: 4 }],
};
const preview = { is_msg_unfurl: true, text: "A preview", from_url: "https://a.slack.com/x" };
const own = { text: "Disk full" };
const attachments = [forward, preview, own];

async function messagesOf(payload: Payload, forwards?: boolean) {
  const { ingress, sent: messages } = setUp(forwards === undefined ? {} : { forwards });
  const { status } = await ingress(createSignedRequest({ body: bytesOf(payload) }));
  expect(status).toBe(200);
  return messages.flatMap((message) => ("message" in message ? [message.message] : []));
}

function mention(fields: object): Payload {
  const payload = fixture("app-mention");
  return { ...payload, event: { ...payload.event, text: `<@${botUser}> Why?`, ...fields } };
}

it("enqueues forwarded messages and their files by default, and neither when they are off", async () => {
  const [message] = await messagesOf(mention({ attachments }));
  expect(message?.text).toBe(
    "Why?\n\nDisk full\n\nLink preview: A preview\n\nForwarded message from robin:\n> The backup failed\n>\n> (file: log.txt)",
  );
  expect(message?.sharedFiles).toMatchObject([{ id: "F1" }]);
  const [less] = await messagesOf(mention({ attachments }), false);
  expect(less?.text).toBe("Why?\n\nDisk full\n\nLink preview: A preview");
  expect(less).not.toHaveProperty("sharedFiles");
});

it("removes the forwards of a message_share message when they are off, also unmarked ones", async () => {
  const sharedPost = {
    subtype: "message_share",
    attachments: [{ ...forward, is_share: undefined }],
  };
  const [message] = await messagesOf(mention({ type: "message", ...sharedPost }));
  const [less] = await messagesOf(mention({ type: "message", ...sharedPost }), false);
  expect([message?.text.includes("backup"), less?.text]).toEqual([true, "Why?"]);
});

it("ignores an edit that only removes a forwarded message when forwards are off", async () => {
  const payload = fixture("message-changed");
  const version = { ...Object(payload.event.message), text: `<@${botUser}> Why?` };
  const change = (text: string): Payload => ({
    ...payload,
    event: {
      ...payload.event,
      message: { ...version, text, attachments: [] },
      previous_message: { ...version, attachments },
    },
  });
  const previewOnly = [preview, own];
  const plainMention = change(`<@${botUser}> Why?`);
  Object.assign(Object(plainMention.event.message), { attachments: previewOnly });
  expect((await messagesOf(plainMention)).length).toBe(1);
  expect(await messagesOf(plainMention, false)).toEqual([]);
  expect(await messagesOf(change(`<@${botUser}> Where?`), false)).toMatchObject([
    { text: "Where?" },
  ]);
});

it.each([null, "text", [null, 1, "a"], { 0: forward }])(
  "accepts attachments of unknown form when forwards are off: %j",
  async (odd) => {
    expect(await messagesOf(mention({ attachments: odd }), false)).toMatchObject([
      { text: "Why?" },
    ]);
  },
);
