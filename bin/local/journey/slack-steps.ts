/** What goes on between Slack and us, as steps of a task's way: the signed requests, and the calls that bring the answer. */
import { requestIdOf } from "../../../lambdas/verification/ingress/request-id.ts";
import { metadataSchema } from "../../../lambdas/verification/slack/metadata.ts";
import type { Delivery } from "../signed-events.ts";
import type { SlackStandIn } from "../slack-stand-in.ts";
import type { Asked } from "../stand-in/persons.ts";
import { jsonOf } from "../stand-in/reply.ts";
import type { StandInCall } from "../stand-in/web-api-server.ts";
import { personOf, workspace } from "../stand-in/workspace.ts";
import type { Journey } from "./journey.ts";

/** From now on the calls that the stand-in answers are steps. */
export function watchStandIn({ standIn, journey }: { standIn: SlackStandIn; journey: Journey }): void {
  standIn.onCall(({ method, args, reply }) => {
    const requestId = requestIdOfCall({ standIn, args });
    if (requestId === undefined) return;
    const { ok, ts, error, messages } = reply as { ok: boolean; ts?: string; error?: string; messages?: unknown[] };
    journey.add({
      requestId,
      kind: "delivery",
      title: ok ? method : `${method}: ${error}`,
      detail: { args, reply: { ok, ts, error, messages: messages?.length } },
    });
  });
}

/** The event of a message that was asked, and how it was taken. */
export function recordAsked({ asked, journey }: { asked: Asked; journey: Journey }): void {
  const { requestId, message, delivered } = asked;
  const { channel, user, ts, threadTs, files } = message;
  const detail = { channel, user, ts, thread_ts: threadTs, files: files?.map(({ id, size }) => ({ id, size })) };
  recordSigned({ requestId, delivered, title: "Slack sends a signed event", detail, journey });
}

/** A signed request of Slack that belongs to the task, and how it was taken. */
export function recordSigned({
  requestId,
  delivered,
  title,
  detail,
  journey,
}: {
  requestId: string;
  delivered: Promise<Delivery>;
  title: string;
  detail: object;
  journey: Journey;
}): void {
  journey.add({ requestId, kind: "event", title, detail });
  void delivered.then(({ status, deliveries }) => {
    const answer = status === undefined ? "No answer to it" : `The ingress answers ${status}`;
    journey.add({ requestId, kind: "event", title: answer, detail: { status, deliveries } });
  });
}

/** By metadata, else by the message that the call is about, else by what was asked last in its thread. */
function requestIdOfCall({
  standIn,
  args: { channel: named, channel_id, ts, timestamp, oldest, thread_ts, metadata },
}: Pick<StandInCall, "args"> & { standIn: SlackStandIn }): string | undefined {
  const channel = named ?? channel_id ?? "";
  const posted = metadataSchema.parse(metadata === undefined ? undefined : jsonOf(metadata));
  if (posted !== undefined) return posted.event_payload.request_id;
  const message = standIn.messages().find((each) => each.channel === channel && each.ts === ts);
  const known = metadataSchema.parse(message?.metadata);
  if (known !== undefined) return known.event_payload.request_id;
  const asked = timestamp ?? oldest;
  if (asked !== undefined) return requestIdOf({ appId: workspace.app, channel, ts: asked });
  const threadTs = thread_ts ?? message?.threadTs;
  return threadTs === undefined ? undefined : requestIdOfThread({ standIn, channel, threadTs });
}

/** Of the latest message of a person; the thread of a slash command begins with a post of ours. */
function requestIdOfThread({
  standIn,
  channel,
  threadTs,
}: {
  standIn: SlackStandIn;
  channel: string;
  threadTs: string;
}): string | undefined {
  const thread = standIn.thread({ channel, ts: threadTs });
  const asked = thread.findLast(({ user }) => personOf(user) !== undefined);
  if (asked !== undefined) return requestIdOf({ appId: workspace.app, channel, ts: asked.ts });
  return metadataSchema.parse(thread[0]?.metadata)?.event_payload.request_id;
}
