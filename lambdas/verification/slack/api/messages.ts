/** Reads the messages of a thread or a channel, page by page, a single message, and what kind of channel it is. */

import * as z from "zod";
import { readSharedFiles } from "../context/shared-files.ts";
import type { SlackCall } from "./call.ts";
import { metadataSchema, parseAnswer, readPostKey } from "./posts.ts";
import { type PostedMessage, type SlackApi, SlackError } from "./slack.ts";
import { readUserFiles, readUserText } from "./user-text.ts";

/**
 * Messages per page. A message can take half a megabyte, so a page that exceeds the size limit is read again with fewer messages.
 * Slack may return fewer than requested (15 to some apps).
 */
const pageSizes = [200, 50, 10, 1] as const;
/** Also stops a cursor that never ends. */
const maxCalls = 50;
const emptyPage = { messages: [] };
const tooLarge = Symbol("too large");

type PostsRequest = Parameters<SlackApi["posts"]>[0];

export function createMessageReads(call: SlackCall): Pick<SlackApi, "replies" | "posts" | "message" | "channelInfo"> {
  async function readAll(method: string, target: { ts?: string }, posts: PostsRequest): Promise<PostedMessage[]> {
    const { oldestTs, appId, channel, ...common } = posts;
    const args = { channel, ...target, oldest: oldestTs, inclusive: true, include_all_metadata: true };
    const found = new Map<string, PostedMessage>();
    let [size, ...smaller]: readonly (number | undefined)[] = pageSizes;
    let cursor = "";
    for (let calls = 0; calls < maxCalls && size !== undefined; calls++) {
      // A cursor stays valid if the limit changes.
      const page = { ...args, limit: size, ...(cursor === "" ? {} : { cursor }) };
      // A deleted thread counts as empty.
      const request = { method, args: page, ...common, repeatable: true, fine: ["thread_not_found"] };
      const answer = await call(request).catch(ignoreTooLarge);
      if (answer === tooLarge) {
        [size, ...smaller] = smaller;
        continue;
      }
      const { posts, nextCursor } = readMessagesPage({ page: answer ?? emptyPage, appId });
      // Slack repeats the first message of the thread on every page, even if it is older than `oldest`.
      for (const post of posts) if (!isBefore(post.ts, oldestTs)) found.set(post.ts, post);
      cursor = nextCursor;
      if (cursor === "") return [...found.values()].sort((a, b) => (isBefore(a.ts, b.ts) ? -1 : 1));
    }
    // A retry would hit the same limit.
    throw new SlackError("refused");
  }

  return {
    replies: ({ threadTs, ...request }) => readAll("conversations.replies", { ts: threadTs }, request),
    posts: (request) => readAll("conversations.history", {}, request),
    async message({ channel, ts, threadTs, ...common }) {
      // A message without replies is its own thread. Slack adds the first message of the thread to the page.
      const args = { channel, ts: threadTs ?? ts, oldest: ts, latest: ts, inclusive: true, limit: 2 };
      const request = { method: "conversations.replies", args, ...common, repeatable: true };
      const answer = await call({ ...request, fine: ["thread_not_found", "message_not_found"] });
      if (answer === undefined) return undefined;
      const found = parseAnswer(writtenPageSchema, answer).messages.find((message) => message.ts === ts);
      return found === undefined || found.subtype === "tombstone" ? undefined : toWritten(found);
    },
    async channelInfo({ channel, ...common }) {
      const answer = await call({ method: "conversations.info", args: { channel }, ...common, repeatable: true });
      const { is_member, is_im, is_ext_shared } = parseAnswer(channelSchema, answer).channel;
      // Slack shows an app only those direct messages that it is part of.
      return { hasBot: is_member === true || is_im === true, isShared: is_ext_shared === true };
    },
  };
}

function ignoreTooLarge(thrown: unknown): typeof tooLarge {
  if (thrown instanceof SlackError && thrown.tooLarge) return tooLarge;
  throw thrown;
}

/** Compares Slack's `ts` as numbers: seconds, then microseconds (a double does not hold both). */
function isBefore(a: string, b: string): boolean {
  const [aSeconds = 0, aMicros = 0] = a.split(".").map(Number);
  const [bSeconds = 0, bMicros = 0] = b.split(".").map(Number);
  return aSeconds === bSeconds ? aMicros < bMicros : aSeconds < bSeconds;
}

const idSchema = z.string().optional().catch(undefined);

/** Fields that apps control may have any form. The fields that Slack sets must be valid. The last page has no cursor. */
const messageSchema = z.object({
  ts: z.string(),
  text: z.string().catch(""),
  metadata: metadataSchema,
  user: idSchema,
  app_id: idSchema,
  bot_id: idSchema,
  subtype: idSchema,
  bot_profile: z.object({ app_id: idSchema }).optional().catch(undefined),
  files: z.array(z.unknown()).catch([]),
  attachments: z.unknown().optional(),
  blocks: z.array(z.object({ type: z.string() }).catch({ type: "" })).catch([]),
});
type Message = z.infer<typeof messageSchema>;

const flag = z.boolean().optional().catch(undefined);
const channelSchema = z.object({ channel: z.object({ is_member: flag, is_im: flag, is_ext_shared: flag }) });

const optionalText = z.string().optional().catch(undefined);
/** The texts of an attachment, which is where many integrations write. */
const attachmentSchema = z.looseObject({
  pretext: optionalText,
  title: optionalText,
  text: optionalText,
  fallback: optionalText,
});
const writtenSchema = z.object({
  ts: z.string(),
  subtype: idSchema,
  text: z.string().catch(""),
  files: z.array(z.unknown()).catch([]),
  attachments: z.array(attachmentSchema).catch([]),
});
const writtenPageSchema = z.object({ messages: z.array(writtenSchema) });

function toWritten({ text: posted, files, attachments }: z.infer<typeof writtenSchema>) {
  const attached = attachments.map(({ pretext, title, text: own, fallback }) =>
    [pretext, title, own ?? fallback].filter(Boolean).join("\n"),
  );
  const written = posted.trim() === "" ? attached.filter(Boolean).join("\n\n") : posted;
  const text = readUserText({ text: written, botUsers: [] });
  const sharedFiles = readSharedFiles(attachments);
  return { text, files: readUserFiles(files), ...(sharedFiles.length > 0 && { sharedFiles }) };
}

const pageSchema = z.object({
  messages: z.array(messageSchema),
  response_metadata: z.object({ next_cursor: z.string().default("") }).default({ next_cursor: "" }),
});

/**
 * Reads one page of a thread or a channel (https://docs.slack.dev/reference/methods/conversations.replies). Throws on an invalid
 * page: if it counted as empty, answers would be posted twice. Metadata counts only on posts of the app `appId`, because any other
 * app can forge it.
 */
export function readMessagesPage({ page, appId }: { page: unknown; appId: string }): {
  posts: PostedMessage[];
  nextCursor: string;
} {
  const data = parseAnswer(pageSchema, page);
  const posts = data.messages.map((message) => {
    const from = readWriter({ message, appId });
    const sharedFiles = readSharedFiles(message.attachments);
    return {
      ts: message.ts,
      // A deleted message that has replies keeps its place in the thread, with a text of Slack's own. Nobody wrote it.
      text: message.subtype === "tombstone" ? "" : message.text,
      key: from === "self" ? readPostKey(message.metadata) : undefined,
      from,
      user: message.user,
      fileIds: message.files.flatMap((file) => idSchema.parse(Object(file).id) ?? []),
      ...(from !== "self" && message.files.length > 0 && { files: readUserFiles(message.files) }),
      ...(from !== "self" && sharedFiles.length > 0 && { sharedFiles }),
      ...(message.blocks.some(({ type }) => type === "actions") && { hasButtons: true as const }),
    };
  });
  return { posts, nextCursor: data.response_metadata.next_cursor };
}

/** A person's message can also carry an app id, of the app that it was written with. Only bots have the other fields. */
function readWriter({ message, appId }: { message: Message; appId: string }): PostedMessage["from"] {
  const { app_id, bot_id, bot_profile, subtype } = message;
  if ((app_id ?? bot_profile?.app_id) === appId) return "self";
  return bot_id !== undefined || bot_profile !== undefined || subtype === "bot_message" ? "other_bot" : "person";
}
