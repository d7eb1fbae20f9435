/** Messages of our own: posted, edited, removed, whispered, and the reactions on those of others. */
import * as z from "zod";
import { metadataOf } from "./metadata.ts";
import { type Content, type PostKey, type SlackApi, SlackError } from "./slack.ts";
import type { SlackCall } from "./slack-call.ts";

type Posts = Pick<SlackApi, "post" | "update" | "remove" | "whisper" | "react">;

const postedSchema = z.object({ ts: z.string() });
const noUnfurling = { unfurl_links: false, unfurl_media: false };

export function createPosts(call: SlackCall): Posts {
  return {
    async post({ installation, channel, threadTs, content, key, signal }) {
      const answer = await call({
        method: "chat.postMessage",
        args: {
          channel,
          ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
          ...noUnfurling,
          ...argsOf({ content, key }),
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
      const args = { channel, ts, blocks: [], ...argsOf({ content, key }) };
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
    async whisper({ channel, threadTs, user, text, ...common }) {
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

/** Names in the text (`@channel`) stay text. With blocks the text is what notifications and screen readers say. */
function argsOf({ content: { text, blocks }, key }: { content: Content; key: PostKey }) {
  return { text, ...(blocks === undefined ? {} : { blocks }), link_names: false, metadata: metadataOf(key) };
}
