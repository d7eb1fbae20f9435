/** Records what happens between Slack and the Verification zone as steps: the signed requests, and the calls that post the answer. */
import { randomUUID } from "node:crypto";
import { metadataSchema } from "@sekisho/verification/slack/api/post-keys.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";
import type { FakeSlack } from "../fake-slack/fake-slack.ts";
import type { FakeSlackMessage } from "../fake-slack/messages.ts";
import type { PostedByFakePerson } from "../fake-slack/persons.ts";
import type { FakeSlackCall } from "../fake-slack/server.ts";
import { findFakePerson, workspace } from "../fake-slack/workspace.ts";
import { readJson } from "../read-json.ts";
import type { Delivery } from "../signed-events.ts";
import type { StepRecorder } from "./step-recorder.ts";

/** The fake Slack of a local run, and the recorder of what happens in it. */
export type RecordedSlack = { fakeSlack: FakeSlack; stepRecorder: StepRecorder };

/** Records each call that the fake Slack answers from now on. */
export function watchFakeSlack({ fakeSlack, stepRecorder }: RecordedSlack): void {
  fakeSlack.onCall(({ method, args, reply }) => {
    const requestId = requestIdOfCall({ fakeSlack, args });
    if (requestId === undefined) return;
    const { ok, ts, error, messages } = reply as {
      ok: boolean;
      ts?: string;
      error?: string;
      messages?: unknown[];
    };
    stepRecorder.add({
      requestId,
      kind: "delivery",
      title: ok ? method : `${method}: ${error}`,
      detail: { args, reply: { ok, ts, error, messages: messages?.length } },
    });
  });
}

/** Records the event of a message to the bot, and the ingress's answer to it. */
export function recordPost({
  postedMessage,
  stepRecorder,
}: {
  postedMessage: PostedByFakePerson;
  stepRecorder: StepRecorder;
}): void {
  const { requestId, message, delivered } = postedMessage;
  const { channel, user, ts, threadTs, files } = message;
  const detail = {
    channel,
    user,
    ts,
    thread_ts: threadTs,
    files: files?.map(({ id, size }) => ({ id, size })),
  };
  recordSignedRequest({
    requestId,
    delivered,
    title: "Slack sent a signed event",
    detail,
    stepRecorder,
  });
}

type SignedRequest = {
  requestId: string;
  delivered: Promise<Delivery>;
  title: string;
  detail: object;
  stepRecorder: StepRecorder;
};

/** Records one of Slack's signed requests that belongs to the task, and the ingress's answer to it. */
export function recordSignedRequest({
  requestId,
  delivered,
  title,
  detail,
  stepRecorder,
}: SignedRequest): void {
  const step = { requestId, kind: "event", call: randomUUID() } as const;
  stepRecorder.add({ ...step, title, detail });
  void delivered.then(({ status, deliveries }) => {
    const answer = status === undefined ? "no response" : `ingress responded ${status}`;
    stepRecorder.add({ ...step, title: answer, detail: { status, deliveries } });
  });
}

type SlackCall = Pick<FakeSlackCall, "args"> & { fakeSlack: FakeSlack };

/** The task that a call belongs to: by its metadata, else by the message that it is about, else by the last question in its thread. */
function requestIdOfCall({
  fakeSlack,
  args: { channel: channelId, channel_id, ts, timestamp, oldest, thread_ts, metadata },
}: SlackCall): string | undefined {
  const channel = channelId ?? channel_id ?? "";
  const ownMetadata = metadataSchema.parse(readJson(metadata));
  if (ownMetadata !== undefined) return ownMetadata.event_payload.request_id;
  const message = fakeSlack.messages().find((each) => each.channel === channel && each.ts === ts);
  const knownMetadata = metadataSchema.parse(message?.metadata);
  if (knownMetadata !== undefined) return knownMetadata.event_payload.request_id;
  const askedTs = timestamp ?? oldest;
  if (askedTs !== undefined) return requestIdOf({ appId: workspace.app, channel, ts: askedTs });
  const threadTs = thread_ts ?? message?.threadTs;
  if (threadTs === undefined) return undefined;
  const thread = fakeSlack.thread({ channel, ts: threadTs });
  // The thread of a slash command has no message of a person, and begins with a post of the bot.
  const question = thread.findLast(({ user }) => findFakePerson(user) !== undefined) ?? thread[0];
  return question && requestIdOfMessage(question);
}

/** A person's message asks for a task. The bot's messages name their task in the metadata. */
export function requestIdOfMessage({
  user,
  channel,
  ts,
  metadata,
}: FakeSlackMessage): string | undefined {
  if (findFakePerson(user) !== undefined) return requestIdOf({ appId: workspace.app, channel, ts });
  return metadataSchema.parse(metadata)?.event_payload.request_id;
}
