/** `assistant.threads.setStatus`, `assistant.threads.setSuggestedPrompts`. */
import * as z from "zod";
import { channelFor, failure, jsonOf, type Method, type MethodArgs } from "./reply.ts";
import type { FakeSlackState } from "./state.ts";

const promptsSchema = z
  .array(z.object({ title: z.string().min(1), message: z.string().min(1) }))
  .min(1)
  .max(4);

export function assistantMethods({ messages, ephemeral }: FakeSlackState): Record<string, Method> {
  function inThread(
    act: (place: { channel: string; threadTs: string }, args: MethodArgs) => ReturnType<Method>,
  ): Method {
    return (args, caller) => {
      const { channel_id: channel = "", thread_ts: threadTs = "" } = args;
      if (channelFor(caller, channel) === undefined) return failure("channel_not_found");
      if (messages.find({ channel, ts: threadTs }) === undefined) return failure("invalid_thread_ts");
      return act({ channel, threadTs }, args);
    };
  }

  return {
    "assistant.threads.setStatus": inThread((place, { status }) => {
      if (status === undefined) return failure("invalid_arguments");
      ephemeral.setStatus({ ...place, status });
      return { ok: true };
    }),
    "assistant.threads.setSuggestedPrompts": inThread((place, args) => {
      const prompts = promptsSchema.safeParse(jsonOf(args.prompts ?? "")).data;
      if (prompts === undefined) return failure("invalid_arguments");
      ephemeral.setPrompts({ ...place, prompts });
      return { ok: true };
    }),
  };
}

// `reactions.add`, `reactions.remove`.

export function reactionMethods({ messages }: FakeSlackState): Record<string, Method> {
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
