/** `assistant.*` and `reactions.*`: the bot's status, its suggested prompts, and its reactions. */
import * as z from "zod";
import { readJson } from "../../read-json.ts";
import type { Methods } from "./table.ts";

const promptsSchema = z
  .array(z.object({ title: z.string().min(1), message: z.string().min(1) }))
  .min(1)
  .max(4);

export const assistantMethods: Methods<"assistant" | "reactions"> = {
  "assistant.threads.setStatus": ({ args: { status }, state, channel, threadTs }) => {
    if (status === undefined) return { error: "invalid_arguments" };
    state.ephemeral.setStatus({ channel: channel.id, threadTs, status });
    return {};
  },

  "assistant.threads.setSuggestedPrompts": ({ args, state, channel, threadTs }) => {
    const prompts = promptsSchema.safeParse(readJson(args.prompts)).data;
    if (prompts === undefined) return { error: "invalid_arguments" };
    state.ephemeral.setPrompts({ channel: channel.id, threadTs, prompts });
    return {};
  },

  "reactions.add": ({ state, message, name }) => {
    if (message.reactions.includes(name)) return { error: "already_reacted" };
    state.messages.change(message, { reactions: [...message.reactions, name] });
    return {};
  },

  "reactions.remove": ({ state, message, name }) => {
    if (!message.reactions.includes(name)) return { error: "no_reaction" };
    state.messages.change(message, { reactions: message.reactions.filter((reaction) => reaction !== name) });
    return {};
  },
};
