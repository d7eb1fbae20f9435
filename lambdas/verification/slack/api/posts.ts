/**
 * Posts, edits and removes messages, streams them, and sets reactions and the assistant's status. Each post carries metadata that says
 * which part of which task it is (https://docs.slack.dev/messaging/message-metadata).
 */
import * as z from "zod";
import type { SlackCall } from "./call.ts";
import { type MessageContent, type PostKey, type SlackApi, SlackError } from "./slack.ts";

const eventType = "sekisho_message";

/** Anything else, of whatever app, is no metadata of ours. */
export const metadataSchema = z
  .object({
    event_type: z.literal(eventType),
    event_payload: z.object({ request_id: z.string(), part: z.int().min(0) }),
  })
  .optional()
  .catch(undefined);

export function createMetadata({ requestId, part }: PostKey) {
  return { event_type: eventType, event_payload: { request_id: requestId, part } };
}

export function readPostKey(metadata: z.infer<typeof metadataSchema>): PostKey | undefined {
  if (metadata === undefined) return undefined;
  const { request_id, part } = metadata.event_payload;
  return { requestId: request_id, part };
}

type Posts = Pick<SlackApi, "post" | "update" | "remove" | "postEphemeral" | "react">;

const postedSchema = z.object({ ts: z.string() });

/** Messages of our own: posted, edited, removed, whispered, and the reactions on those of others. */
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
      const posted = postedSchema.safeParse(answer).data;
      if (posted === undefined) throw new SlackError("ambiguous");
      return { ts: posted.ts };
    },
    async update({ installation, channel, ts, content, key, signal }) {
      // What becomes of blocks that are not mentioned depends on which of Slack's descriptions one reads.
      const args = { channel, ts, blocks: [], ...createPostArgs({ content, key }) };
      await call({
        method: "chat.update",
        args,
        installation,
        signal,
        repeatable: true,
        requestId: key.requestId,
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

/** Names in the text (`@channel`) stay text, and no address brings a preview along. With blocks the text is what notifications and screen readers say. */
function createPostArgs({ content: { text, blocks }, key }: { content: MessageContent; key: PostKey }) {
  return {
    text,
    ...(blocks === undefined ? {} : { blocks }),
    link_names: false,
    ...noUnfurling,
    metadata: createMetadata(key),
  };
}

const startedSchema = z.object({ ts: z.string() });

/** That there is no stream says nothing of posts: edits of a message still do. */
const noStreams = [
  "access_denied",
  "cannot_reply_to_message",
  "channel_type_not_supported",
  "missing_scope",
  "not_allowed_token_type",
  "restricted_action",
];
/** Slack has closed it after some minutes, or the person whom it is for has. */
const stopped = ["message_not_in_streaming_state", "stopped_by_user"];

/** Native streams (https://docs.slack.dev/reference/methods/chat.startStream): a message that is shown as it is written. */
export function createStreams(call: SlackCall): Pick<SlackApi, "startStream" | "appendStream" | "stopStream"> {
  return {
    async startStream({ channel, threadTs, user, markdown, ...common }) {
      const answer = await call({
        method: "chat.startStream",
        args: {
          channel,
          thread_ts: threadTs,
          markdown_text: markdown,
          ...noUnfurling,
          recipient_user_id: user,
          recipient_team_id: common.installation.team,
        },
        ...common,
        repeatable: false,
        refusals: noStreams,
      });
      const started = startedSchema.safeParse(answer).data;
      if (started === undefined) throw new SlackError("ambiguous");
      return { ts: started.ts };
    },
    async appendStream({ channel, ts, markdown, ...common }) {
      const args = { channel, ts, markdown_text: markdown, ...noUnfurling };
      await call({ method: "chat.appendStream", args, ...common, repeatable: false, refusals: noStreams });
    },
    async stopStream({ channel, ts, ...common }) {
      await call({
        method: "chat.stopStream",
        args: { channel, ts, ...noUnfurling },
        ...common,
        repeatable: true,
        fine: stopped,
      });
    },
  };
}

/** The assistant's own conversation (https://docs.slack.dev/ai/developing-ai-apps): what it is at, and what one could ask. */
export function createAssistant(call: SlackCall): Pick<SlackApi, "setStatus" | "suggestPrompts"> {
  return {
    async setStatus({ channel, threadTs, status, ...common }) {
      const args = { channel_id: channel, thread_ts: threadTs, status };
      await call({ method: "assistant.threads.setStatus", args, ...common, repeatable: true });
    },
    async suggestPrompts({ channel, threadTs, prompts, ...common }) {
      const args = { channel_id: channel, thread_ts: threadTs, prompts };
      await call({ method: "assistant.threads.setSuggestedPrompts", args, ...common, repeatable: true });
    },
  };
}

/** Slack describes these for posts alone, and takes no notice of an argument that a method does not have. */
const noUnfurling = { unfurl_links: false, unfurl_media: false } as const;
