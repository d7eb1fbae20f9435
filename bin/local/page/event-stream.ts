/** What the page shows, as a stream of server-sent events: all that there is, then each change. */
import type { ServerResponse } from "node:http";
import { requestIdOf } from "../../../lambdas/verification/ingress/request-id.ts";
import { metadataSchema } from "../../../lambdas/verification/slack/metadata.ts";
import type { Journey, Step } from "../journey/journey.ts";
import type { SlackStandIn, StandInChange } from "../slack-stand-in.ts";
import type { StandInMessage } from "../stand-in/messages.ts";
import { workspace } from "../stand-in/workspace.ts";

/** `streams` are the open ones; ending them lets a server close. */
export type EventStream = { open(response: ServerResponse): void; close(): void };

export function createEventStream({ standIn, journey }: { standIn: SlackStandIn; journey: Journey }): EventStream {
  const streams = new Set<ServerResponse>();
  const unsubscribe = [
    standIn.onChange((change) => broadcast(fromChange(change))),
    journey.onStep((step) => broadcast(fromStep(step))),
  ];

  function broadcast(data: object): void {
    for (const stream of streams) stream.write(format(data));
  }

  return {
    open(response) {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      response.write(format({ type: "reset", workspace }));
      for (const message of standIn.messages()) response.write(format(fromChange({ type: "message", message })));
      for (const step of journey.steps()) response.write(format(fromStep(step)));
      streams.add(response);
      response.on("close", () => streams.delete(response));
    },
    close() {
      for (const stop of unsubscribe) stop();
      for (const stream of streams) stream.end();
    },
  };
}

function fromChange(change: StandInChange): object {
  if (change.type !== "message") return change;
  const { message } = change;
  return { type: "message", message: { ...message, metadata: undefined, requestId: requestIdOfMessage(message) } };
}

/** A person's message is a task's own; the bot's say which task they belong to. */
function requestIdOfMessage({ user, channel, ts, metadata }: StandInMessage): string | undefined {
  if (user !== workspace.botUser) return requestIdOf({ appId: workspace.app, channel, ts });
  return metadataSchema.parse(metadata)?.event_payload.request_id;
}

function fromStep(step: Step): object {
  return { type: "step", step };
}

/** JSON has no line ends of its own, so one `data` line holds it. */
function format(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}
