/** Posts, edits, removes and streams messages, opens modals, and sets reactions and the assistant's status. Each post carries its key as metadata. */
import * as z from "zod";
import type { SlackCall } from "./call.ts";
import { createMetadata, type PostKey } from "./post-keys.ts";
import { type MessageContent, type SlackApi, SlackError } from "./slack.ts";

type Posts = Pick<SlackApi, "post" | "update" | "remove" | "postEphemeral" | "react">;

const postedSchema = z.object({ ts: z.string() });

export function createPosts(call: SlackCall): Posts {
  return {
    async post({ installation, channel, threadTs, content, key, signal }) {
      const answer = await call({
        method: "chat.postMessage",
        args: {
          channel,
          ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
          ...createPostArgs({ content, key }),
        },
        installation,
        signal,
        repeatable: false,
        requestId: key.requestId,
      });
      return parseAnswer(postedSchema, answer);
    },
    async update({ installation, channel, ts, content, key, signal }) {
      // Slack's documentation contradicts itself on whether an edit without blocks keeps the old ones, so send an empty list.
      const args = { channel, ts, blocks: [], ...createPostArgs({ content, key }) };
      const { requestId } = key;
      await call({
        method: "chat.update",
        args,
        installation,
        signal,
        repeatable: true,
        requestId,
      });
    },
    async remove({ channel, ts, ...common }) {
      await call({ method: "chat.delete", args: { channel, ts }, ...common, repeatable: true });
    },
    async postEphemeral({ channel, threadTs, user, text, ...common }) {
      const args = {
        channel,
        user,
        text,
        link_names: false,
        ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
      };
      await call({ method: "chat.postEphemeral", args, ...common, repeatable: false });
    },
    async react({ channel, ts, name, present, ...common }) {
      await call({
        method: present ? "reactions.add" : "reactions.remove",
        args: { channel, timestamp: ts, name },
        ...common,
        repeatable: true,
        fine: [present ? "already_reacted" : "no_reaction"],
      });
    },
  };
}

/** Names such as `@channel` stay text, and links get no preview. With blocks, the text is used by notifications and screen readers. */
function createPostArgs({
  content: { text, blocks },
  key,
}: {
  content: MessageContent;
  key: PostKey;
}) {
  return {
    text,
    ...(blocks === undefined ? {} : { blocks }),
    link_names: false,
    ...noUnfurling,
    metadata: createMetadata(key),
  };
}

/** These errors count as `refused` for streams, because ordinary posts may still work. */
const streamRefusals = [
  "access_denied",
  "cannot_reply_to_message",
  "channel_type_not_supported",
  "missing_scope",
  "not_allowed_token_type",
  "restricted_action",
];
/** Slack has closed the stream by itself after some minutes. */
const streamEndedErrors = ["message_not_in_streaming_state"];

/** Native streams show a message while it is written (https://docs.slack.dev/reference/methods/chat.startStream). */
export function createStreams(
  call: SlackCall,
): Pick<SlackApi, "startStream" | "appendStream" | "stopStream"> {
  return {
    async startStream({ channel, threadTs, user, team, markdown, ...common }) {
      const answer = await call({
        method: "chat.startStream",
        args: {
          channel,
          thread_ts: threadTs,
          markdown_text: markdown,
          ...noUnfurling,
          recipient_user_id: user,
          recipient_team_id: team,
        },
        ...common,
        repeatable: false,
        refusals: streamRefusals,
      });
      return parseAnswer(postedSchema, answer);
    },
    async appendStream({ channel, ts, markdown, ...common }) {
      const args = { channel, ts, markdown_text: markdown, ...noUnfurling };
      await call({
        method: "chat.appendStream",
        args,
        ...common,
        repeatable: false,
        refusals: streamRefusals,
      });
    },
    async stopStream({ channel, ts, ...common }) {
      await call({
        method: "chat.stopStream",
        args: { channel, ts, ...noUnfurling },
        ...common,
        repeatable: true,
        fine: streamEndedErrors,
      });
    },
  };
}

const sessionSchema = z.object({ title: z.string().optional().catch(undefined) });

/**
 * Shows that the bot is at work, and what it can do: the status in a thread, suggested prompts
 * (https://docs.slack.dev/ai/developing-ai-apps) and sessions (https://docs.slack.dev/ai/agent-sessions).
 */
export function createAssistant(
  call: SlackCall,
): Pick<SlackApi, "setStatus" | "suggestPrompts" | "setSession" | "renameSession"> {
  return {
    async setStatus({ channel, threadTs, status, ...common }) {
      const args = { channel_id: channel, thread_ts: threadTs, status };
      await call({ method: "assistant.threads.setStatus", args, ...common, repeatable: true });
    },
    async suggestPrompts({ channel, prompts, ...common }) {
      const args = { channel_id: channel, prompts };
      await call({
        method: "assistant.threads.setSuggestedPrompts",
        args,
        ...common,
        repeatable: true,
      });
    },
    async setSession({ channel, threadTs, status, title, user, ...common }) {
      const session = title === undefined ? {} : { title, initiator_user_id: user };
      const args = { channel_id: channel, thread_ts: threadTs, status, ...session };
      const answer = await call({
        method: "agents.sessions.setStatus",
        args,
        ...common,
        repeatable: true,
      });
      return { title: parseAnswer(sessionSchema, answer).title };
    },
    async renameSession({ channel, threadTs, title, ...common }) {
      const args = { channel_id: channel, thread_ts: threadTs, title };
      await call({ method: "agents.sessions.rename", args, ...common, repeatable: true });
    },
  };
}

export function createViews(call: SlackCall): Pick<SlackApi, "openModal" | "publishHome"> {
  return {
    async publishHome({ user, blocks, ...common }) {
      const args = { user_id: user, view: { type: "home", blocks } };
      await call({ method: "views.publish", args, ...common, repeatable: true });
    },
    async openModal({ triggerId, view, ...common }) {
      // A second call with the same trigger is refused.
      await call({
        method: "views.open",
        args: { trigger_id: triggerId, view },
        ...common,
        repeatable: false,
      });
    },
  };
}

/** Documented for posts only. Slack ignores unknown arguments of other methods. */
const noUnfurling = { unfurl_links: false, unfurl_media: false } as const;

/** Checks Slack's answer. An answer without the expected fields does not show whether the call worked. */
export function parseAnswer<T>(schema: z.ZodType<T>, answer: unknown): T {
  const { data } = schema.safeParse(answer);
  if (data === undefined) throw new SlackError("ambiguous");
  return data;
}
