/** What Slack sent and was proven to have sent, whichever way it came, as the one queue message that it is; pure. */
import type { Trace } from "../../shared/trace.ts";
import type { Ask, AskedMessage, Greet, Press } from "../task/messages.ts";
import { filterEvent } from "./filter.ts";
import { greetOf } from "./greet.ts";
import { eventCallbackSchema } from "./payload.ts";
import { pressOf } from "./press.ts";
import { requestIdOf } from "./request-id.ts";
import { slashCommandOf } from "./slash-command.ts";

/** By Socket Mode's names (https://docs.slack.dev/apis/events-api/using-socket-mode). Over HTTP: the signature fits. */
export type VerifiedPayload = { type: "events_api" | "slash_commands" | "interactive"; payload: unknown };

export type Understood = { message: Ask | Press | Greet } | { drop: string };

/** `unknown_payload` is what has not the form that Slack documents. */
export function understand({
  verified: { type, payload },
  nowMs,
  newTrace,
}: {
  verified: VerifiedPayload;
  nowMs: number;
  newTrace: () => Trace;
}): Understood {
  const ask = (requestId: string, message: AskedMessage): Understood => ({
    message: { type: "ask", requestId, receivedAtMs: nowMs, trace: newTrace(), message },
  });
  if (type === "interactive") return pressOf({ payload, nowMs });
  if (type === "slash_commands") {
    const command = slashCommandOf({ payload, nowMs });
    return "drop" in command ? command : ask(command.requestId, command.asked);
  }
  const { data: callback } = eventCallbackSchema.safeParse(payload);
  if (callback === undefined) return { drop: "unknown_payload" };
  if (callback.event.type === "assistant_thread_started") return greetOf(callback);
  const filtered = filterEvent(callback);
  return "drop" in filtered ? filtered : ask(requestIdOf(filtered.asked), filtered.asked);
}
