/** `reactions.add`, `reactions.remove`. */
import { channelFor, failure, type Method } from "./reply.ts";
import type { StandInState } from "./state.ts";

export function reactionMethods({ messages }: StandInState): Record<string, Method> {
  function react(present: boolean): Method {
    return ({ channel, timestamp, name }, caller) => {
      if (channelFor(caller, channel) === undefined) return failure("channel_not_found");
      if (!name || !/^[a-z0-9_+'-]+$/.test(name)) return failure("invalid_name");
      const message = messages.find({ channel: channel ?? "", ts: timestamp ?? "" });
      if (message === undefined) return failure("message_not_found");
      if (message.reactions.includes(name) === present) return failure(present ? "already_reacted" : "no_reaction");
      const others = message.reactions.filter((reaction) => reaction !== name);
      messages.change(message, { reactions: present ? [...others, name] : others });
      return { ok: true };
    };
  }
  return { "reactions.add": react(true), "reactions.remove": react(false) };
}
