/** What goes on between Slack and us, as steps of a task's way: the signed requests, and the calls that bring the answer. */

import { metadataSchema } from "../../../lambdas/verification/slack/api/posts.ts";
import { requestIdOf } from "../../../lambdas/verification/task/routing.ts";
import type { FakeSlack } from "../fake-slack/fake-slack.ts";
import type { PostedByFakePerson } from "../fake-slack/persons.ts";
import type { FakeSlackCall } from "../fake-slack/server.ts";
import { findFakePerson, workspace } from "../fake-slack/workspace.ts";
import { readJson } from "../read-json.ts";
import type { Delivery } from "../signed-events.ts";
import type { StepRecorder } from "./step-recorder.ts";

/** From now on the calls that the fake Slack answers are steps. */
export function watchFakeSlack({
  fakeSlack,
  stepRecorder,
}: {
  fakeSlack: FakeSlack;
  stepRecorder: StepRecorder;
}): void {
  fakeSlack.onCall(({ method, args, reply }) => {
    const requestId = requestIdOfCall({ fakeSlack, args });
    if (requestId === undefined) return;
    const { ok, ts, error, messages } = reply as { ok: boolean; ts?: string; error?: string; messages?: unknown[] };
    stepRecorder.add({
      requestId,
      kind: "delivery",
      title: ok ? method : `${method}: ${error}`,
      detail: { args, reply: { ok, ts, error, messages: messages?.length } },
    });
  });
}

/** The event of a message that was asked, and how it was taken. */
export function recordPost({ asked, stepRecorder }: { asked: PostedByFakePerson; stepRecorder: StepRecorder }): void {
  const { requestId, message, delivered } = asked;
  const { channel, user, ts, threadTs, files } = message;
  const detail = { channel, user, ts, thread_ts: threadTs, files: files?.map(({ id, size }) => ({ id, size })) };
  recordSignedRequest({ requestId, delivered, title: "Slack sends a signed event", detail, stepRecorder });
}

/** A signed request of Slack that belongs to the task, and how it was taken. */
export function recordSignedRequest({
  requestId,
  delivered,
  title,
  detail,
  stepRecorder,
}: {
  requestId: string;
  delivered: Promise<Delivery>;
  title: string;
  detail: object;
  stepRecorder: StepRecorder;
}): void {
  stepRecorder.add({ requestId, kind: "event", title, detail });
  void delivered.then(({ status, deliveries }) => {
    const answer = status === undefined ? "No answer to it" : `The ingress answers ${status}`;
    stepRecorder.add({ requestId, kind: "event", title: answer, detail: { status, deliveries } });
  });
}

/** By metadata, else by the message that the call is about, else by what was asked last in its thread. */
function requestIdOfCall({
  fakeSlack,
  args: { channel: named, channel_id, ts, timestamp, oldest, thread_ts, metadata },
}: Pick<FakeSlackCall, "args"> & { fakeSlack: FakeSlack }): string | undefined {
  const channel = named ?? channel_id ?? "";
  const posted = metadataSchema.parse(readJson(metadata));
  if (posted !== undefined) return posted.event_payload.request_id;
  const message = fakeSlack.messages().find((each) => each.channel === channel && each.ts === ts);
  const known = metadataSchema.parse(message?.metadata);
  if (known !== undefined) return known.event_payload.request_id;
  const asked = timestamp ?? oldest;
  if (asked !== undefined) return requestIdOf({ appId: workspace.app, channel, ts: asked });
  const threadTs = thread_ts ?? message?.threadTs;
  return threadTs === undefined ? undefined : requestIdOfThread({ fakeSlack, channel, threadTs });
}

/** Of the latest message of a person; the thread of a slash command begins with a post of ours. */
function requestIdOfThread({
  fakeSlack,
  channel,
  threadTs,
}: {
  fakeSlack: FakeSlack;
  channel: string;
  threadTs: string;
}): string | undefined {
  const thread = fakeSlack.thread({ channel, ts: threadTs });
  const asked = thread.findLast(({ user }) => findFakePerson(user) !== undefined);
  if (asked !== undefined) return requestIdOf({ appId: workspace.app, channel, ts: asked.ts });
  return metadataSchema.parse(thread[0]?.metadata)?.event_payload.request_id;
}
