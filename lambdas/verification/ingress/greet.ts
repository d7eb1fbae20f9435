/** A conversation with the assistant that a person opened (https://docs.slack.dev/reference/events/assistant_thread_started). */
import * as z from "zod/mini";
import type { Greet } from "../task/messages.ts";
import { installationOfEvent } from "./installation.ts";
import { type EventCallback, slackId, slackTs } from "./payload.ts";
import { greetingIdOf } from "./request-id.ts";

const startedSchema = z.object({
  assistant_thread: z.object({ user_id: slackId, channel_id: slackId, thread_ts: slackTs }),
});

export function greetOf(callback: EventCallback): { message: Greet } | { drop: "unknown_payload" } {
  const { data } = startedSchema.safeParse(callback.event);
  if (data === undefined) return { drop: "unknown_payload" };
  const { user_id: user, channel_id: channel, thread_ts: threadTs } = data.assistant_thread;
  const requestId = greetingIdOf({ appId: callback.api_app_id, channel, threadTs });
  return { message: { type: "greet", requestId, ...installationOfEvent(callback), channel, threadTs, user } };
}
