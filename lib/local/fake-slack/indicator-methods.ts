/** `assistant.threads.setStatus`, `assistant.threads.setSuggestedPrompts`. */
import * as z from "zod";
import { errorReply, type FakeSlackMethod, findVisibleChannel, type MethodArgs, readJson } from "./reply.ts";
import type { FakeSlackState } from "./state.ts";

const promptsSchema = z
  .array(z.object({ title: z.string().min(1), message: z.string().min(1) }))
  .min(1)
  .max(4);

export function assistantMethods({ messages, ephemeral }: FakeSlackState): Record<string, FakeSlackMethod> {
  function inThread(
    act: (place: { channel: string; threadTs: string }, args: MethodArgs) => ReturnType<FakeSlackMethod>,
  ): FakeSlackMethod {
    return (args, caller) => {
      const { channel_id: channel = "", thread_ts: threadTs = "" } = args;
      if (findVisibleChannel(caller, channel) === undefined) return errorReply("channel_not_found");
      if (messages.find({ channel, ts: threadTs }) === undefined) return errorReply("invalid_thread_ts");
      return act({ channel, threadTs }, args);
    };
  }

  return {
    "assistant.threads.setStatus": inThread((place, { status }) => {
      if (status === undefined) return errorReply("invalid_arguments");
      ephemeral.setStatus({ ...place, status });
      return { ok: true };
    }),
    "assistant.threads.setSuggestedPrompts": inThread((place, args) => {
      const prompts = promptsSchema.safeParse(readJson(args.prompts ?? "")).data;
      if (prompts === undefined) return errorReply("invalid_arguments");
      ephemeral.setPrompts({ ...place, prompts });
      return { ok: true };
    }),
  };
}

// `reactions.add`, `reactions.remove`.

export function reactionMethods({ messages }: FakeSlackState): Record<string, FakeSlackMethod> {
  function react(present: boolean): FakeSlackMethod {
    return ({ channel, timestamp, name }, caller) => {
      if (findVisibleChannel(caller, channel) === undefined) return errorReply("channel_not_found");
      if (!name || !/^[a-z0-9_+'-]+$/.test(name)) return errorReply("invalid_name");
      const message = messages.find({ channel: channel ?? "", ts: timestamp ?? "" });
      if (message === undefined) return errorReply("message_not_found");
      if (message.reactions.includes(name) === present) return errorReply(present ? "already_reacted" : "no_reaction");
      const others = message.reactions.filter((reaction) => reaction !== name);
      messages.change(message, { reactions: present ? [...others, name] : others });
      return { ok: true };
    };
  }
  return { "reactions.add": react(true), "reactions.remove": react(false) };
}
