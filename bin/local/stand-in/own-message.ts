/** The message that a call is about, if it is the bot's own; streams that Slack has ended are closed by looking. */
import type { StandInMessage } from "./messages.ts";
import { botUserOf, type Caller, channelFor, failure, type MethodArgs, type MethodReply } from "./reply.ts";
import type { StandInState } from "./state.ts";

export function ownMessage({
  state,
  args: { channel, ts },
  caller,
  refusal,
}: {
  state: StandInState;
  args: MethodArgs;
  caller: Caller;
  /** The error where the message is somebody else's. */
  refusal: string;
}): { message: StandInMessage } | { error: MethodReply } {
  if (channelFor(caller, channel) === undefined) return { error: failure("channel_not_found") };
  const message = state.messages.find({ channel: channel ?? "", ts: ts ?? "" });
  if (message === undefined) return { error: failure("message_not_found") };
  if (message.user !== botUserOf(caller)) return { error: failure(refusal) };
  return { message };
}

/** Whether it is being written to: not any more where Slack's time for it is over. */
export function isStreaming({ state, message }: { state: StandInState; message: StandInMessage }): boolean {
  if (message.stream?.state !== "open") return false;
  return state.now() - message.stream.startedAtMs < state.rules.streamLifeMs;
}
