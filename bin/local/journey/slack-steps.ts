/** What goes on between Slack and us, as steps of a task's way: the signed event, and the calls that bring the answer. */
import { requestIdOf } from "../../../lambdas/verification/ingress/request-id.ts";
import { metadataSchema } from "../../../lambdas/verification/slack/metadata.ts";
import type { Asked, SlackStandIn } from "../slack-stand-in.ts";
import type { StandInCall } from "../stand-in/web-api-server.ts";
import { workspace } from "../stand-in/workspace.ts";
import type { Journey } from "./journey.ts";

/** From now on the calls that the stand-in answers are steps. */
export function watchStandIn({ standIn, journey }: { standIn: SlackStandIn; journey: Journey }): void {
  standIn.onCall(({ method, args, reply }) => {
    const requestId = requestIdOfCall({ standIn, args, reply });
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
  journey.add({
    requestId,
    kind: "event",
    title: "Slack sends a signed event",
    detail: { channel: message.channel, user: message.user, ts: message.ts, thread_ts: message.threadTs },
  });
  void delivered.then(({ status, deliveries }) => {
    const title = status === undefined ? "No answer to the event" : `The ingress answers ${status}`;
    journey.add({ requestId, kind: "event", title, detail: { status, deliveries } });
  });
}

/** By metadata, else by the message that the call is about. */
function requestIdOfCall({
  standIn,
  args: { channel = "", ts, timestamp, oldest, metadata },
}: Pick<StandInCall, "args" | "reply"> & { standIn: SlackStandIn }): string | undefined {
  const posted = metadataSchema.parse(metadata === undefined ? undefined : JSON.parse(metadata));
  if (posted !== undefined) return posted.event_payload.request_id;
  const stored = standIn.messages().find((message) => message.channel === channel && message.ts === ts)?.metadata;
  const known = metadataSchema.parse(stored);
  if (known !== undefined) return known.event_payload.request_id;
  const asked = timestamp ?? oldest;
  return asked === undefined ? undefined : requestIdOf({ appId: workspace.app, channel, ts: asked });
}
