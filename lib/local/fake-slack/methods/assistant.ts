/** `agents.*`, `assistant.*` and `reactions.*`: sessions, the bot's status, its suggested prompts, and its reactions. */
import * as z from "zod";
import { readJson } from "../../read-json.ts";
import type { Methods } from "./table.ts";

const promptsSchema = z
  .array(z.object({ title: z.string().min(1), message: z.string().min(1) }))
  .min(1)
  .max(4);

const sessionStatusSchema = z.enum(["active", "processing", "suspended", "closed"]);
const titleSchema = z.string().min(1).max(200);

export const assistantMethods: Methods<"agents" | "assistant" | "reactions"> = {
  "agents.sessions.setStatus": ({ args, state: { ephemeral }, channel, threadTs }) => {
    const status = sessionStatusSchema.safeParse(args.status).data;
    const isTitleBroken = args.title !== undefined && !titleSchema.safeParse(args.title).success;
    const isInitiatorStrange =
      args.initiator_user_id !== undefined && !channel.people.includes(args.initiator_user_id);
    if (status === undefined || isTitleBroken || isInitiatorStrange)
      return { error: "invalid_arguments" };
    const { title = args.title ?? "" } = ephemeral.session({ channel: channel.id, threadTs }) ?? {};
    ephemeral.setSession({ channel: channel.id, threadTs, status, title });
    return { status, agent_status: status, title };
  },

  "agents.sessions.rename": ({ args, state: { ephemeral }, channel, threadTs }) => {
    const title = titleSchema.safeParse(args.title).data;
    const session = ephemeral.session({ channel: channel.id, threadTs });
    if (title === undefined || session === undefined) return { error: "invalid_arguments" };
    ephemeral.setSession({ ...session, title });
    return { title };
  },

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
    state.messages.change(message, {
      reactions: message.reactions.filter((reaction) => reaction !== name),
    });
    return {};
  },
};
