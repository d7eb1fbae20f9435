/** What somebody does on the page, done by the fake Slack's person: each becomes a signed request to the app. */
import * as z from "zod";
import type { FakeSlack } from "../fake-slack/fake-slack.ts";
import { workspace } from "../fake-slack/workspace.ts";
import { recordPost, recordSignedRequest } from "../recorder/slack-steps.ts";
import type { StepRecorder } from "../recorder/step-recorder.ts";
import type { PageRefusal } from "./respond.ts";

/** What was done, or why it was not. */
export type PageActionResult = { done: object } | { refused: PageRefusal };
export type PageAction = (body: unknown, eventsUrl: string) => PageActionResult;

const personSchema = z.string().default(workspace.person);
const messageSchema = z
  .object({
    text: z.string().trim().max(40_000),
    channel: z.string().optional(),
    thread_ts: z.string().optional(),
    user: personSchema,
    file_ids: z.array(z.string()).max(10).default([]),
  })
  .refine(({ text, file_ids }) => text !== "" || file_ids.length > 0);
const clickSchema = z.object({ channel: z.string(), ts: z.string(), action_id: z.string(), user: personSchema });
const conversationSchema = z.object({ user: personSchema });

/** A slash command as it is typed, and what follows it. */
const command = /^(\/[a-z0-9_-]+)(?:\s+|$)/;
/** A mention as it is typed; in a thread it may be left out. */
const mention = /^@sekisho\b[,:]?\s*/i;

/** By the last part of the address. */
export function createPageActions({
  fakeSlack,
  stepRecorder,
}: {
  fakeSlack: FakeSlack;
  stepRecorder: StepRecorder;
}): Record<string, PageAction> {
  function post(body: unknown, eventsUrl: string): PageActionResult {
    const parsed = messageSchema.safeParse(body).data;
    if (parsed === undefined) return { refused: "unreadable" };
    const { text, channel = workspace.channel.id, thread_ts: threadTs, user, file_ids: fileIds } = parsed;
    const [typed, name] = command.exec(text) ?? [];
    if (typed !== undefined && name !== undefined && threadTs === undefined && fileIds.length === 0) {
      const sent = fakeSlack.command({ eventsUrl, command: name, text: text.slice(typed.length), channel, user });
      const what = { title: `Slack sends the command ${name}`, detail: { channel, user, command: name } };
      recordSignedRequest({ ...sent, ...what, stepRecorder });
      return { done: { request_id: sent.requestId } };
    }
    const words = text.replace(mention, "");
    const place = { eventsUrl, text: words, channel, user, fileIds };
    const isReply = threadTs !== undefined && words === text;
    const asked = isReply ? fakeSlack.reply({ ...place, threadTs }) : fakeSlack.ask({ ...place, threadTs });
    recordPost({ asked, stepRecorder });
    return { done: { request_id: asked.requestId, ts: asked.message.ts } };
  }

  function click(body: unknown, eventsUrl: string): PageActionResult {
    const parsed = clickSchema.safeParse(body).data;
    if (parsed === undefined) return { refused: "no_button" };
    const { channel, ts, action_id: actionId, user } = parsed;
    const { delivered, requestId } = fakeSlack.clickButton({ eventsUrl, channel, ts, actionId, user });
    if (requestId !== undefined) {
      const what = { title: "Slack sends a pressed button", detail: { channel, user, action_id: actionId } };
      recordSignedRequest({ requestId, delivered, ...what, stepRecorder });
    }
    return { done: {} };
  }

  return {
    messages: refuseOnThrow(post, "no_place"),
    clicks: refuseOnThrow(click, "no_button"),
    conversations: refuseOnThrow((body, eventsUrl) => {
      const parsed = conversationSchema.safeParse(body).data;
      if (parsed === undefined) return { refused: "no_place" };
      const { channel, threadTs } = fakeSlack.openAssistant({ eventsUrl, user: parsed.user });
      return { done: { channel, thread_ts: threadTs } };
    }, "no_place"),
  };
}

/** The fake Slack throws where a place or a button does not exist. */
function refuseOnThrow(deed: PageAction, refused: PageRefusal): PageAction {
  return (body, eventsUrl) => {
    try {
      return deed(body, eventsUrl);
    } catch {
      return { refused };
    }
  };
}
