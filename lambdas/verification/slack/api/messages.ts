/** Reads the messages of a thread or a channel, page by page, and a single message. */

import { cutText, maxNameLength, maxTextLength } from "@sekisho/contracts/limits.ts";
import * as z from "zod";
import { isFromApp, isWritten, readMessageText } from "../context/message.ts";
import { cleanName } from "../context/names.ts";
import { fieldsOf } from "../context/values.ts";
import type { SlackCall } from "./call.ts";
import { metadataSchema, readPostKey } from "./post-keys.ts";
import { parseAnswer } from "./posts.ts";
import { readSharedFiles, removeForwards } from "./shared-files.ts";
import { type PostedMessage, type SlackApi, SlackError } from "./slack.ts";
import { readUserFiles } from "./user-text.ts";

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

export function createMessageReads(
  call: SlackCall,
): Pick<SlackApi, "replies" | "posts" | "message"> {
  async function readAll(
    method: string,
    target: { ts?: string },
    posts: PostsRequest,
  ): Promise<PostedMessage[]> {
    const { oldestTs, appId, botUsers = [], channel, ...common } = posts;
    const args = {
      channel,
      ...target,
      oldest: oldestTs,
      inclusive: true,
      include_all_metadata: true,
    };
    const foundPosts = new Map<string, PostedMessage>();
    let [size, ...smaller]: readonly (number | undefined)[] = pageSizes;
    let cursor = "";
    for (let calls = 0; calls < maxCalls && size !== undefined; calls++) {
      // A cursor stays valid if the limit changes.
      const page = { ...args, limit: size, ...(cursor === "" ? {} : { cursor }) };
      // A deleted thread counts as empty.
      const request = {
        method,
        args: page,
        ...common,
        repeatable: true,
        fine: ["thread_not_found"],
      };
      const answer = await call(request).catch(ignoreTooLarge);
      if (answer === tooLarge) {
        [size, ...smaller] = smaller;
        continue;
      }
      const { posts, nextCursor } = readMessagesPage({
        page: answer ?? emptyPage,
        appId,
        botUsers,
      });
      // Slack repeats the first message of the thread on every page, even if it is older than `oldest`.
      for (const post of posts) if (!isBefore(post.ts, oldestTs)) foundPosts.set(post.ts, post);
      cursor = nextCursor;
      if (cursor === "")
        return [...foundPosts.values()].sort((a, b) => (isBefore(a.ts, b.ts) ? -1 : 1));
    }
    // A retry would hit the same limit.
    throw new SlackError("refused");
  }

  return {
    replies: ({ threadTs, ...request }) =>
      readAll("conversations.replies", { ts: threadTs }, request),
    posts: (request) => readAll("conversations.history", {}, request),
    async message({ channel, ts, threadTs, ...common }) {
      // A message without replies is its own thread. Slack adds the first message of the thread to the page.
      const args = {
        channel,
        ts: threadTs ?? ts,
        oldest: ts,
        latest: ts,
        inclusive: true,
        limit: 2,
      };
      const request = { method: "conversations.replies", args, ...common, repeatable: true };
      const answer = await call({ ...request, fine: ["thread_not_found", "message_not_found"] });
      if (answer === undefined) return undefined;
      const { messages } = parseAnswer(writtenPageSchema, answer);
      const message = messages.find((candidate) => candidate.ts === ts);
      return message === undefined || message.subtype === "tombstone"
        ? undefined
        : toWritten(message);
    },
  };
}

/** Wraps a call so that the messages that it returns have no forwarded messages. */
export function removeForwardsOfAnswers(call: SlackCall): SlackCall {
  return async (request) => {
    const answer = await call(request);
    const { messages } = fieldsOf(answer);
    return Array.isArray(messages)
      ? { ...fieldsOf(answer), messages: messages.map(removeForwards) }
      : answer;
  };
}

function ignoreTooLarge(error: unknown): typeof tooLarge {
  if (error instanceof SlackError && error.tooLarge) return tooLarge;
  throw error;
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
  bot_profile: z.object({ app_id: idSchema, name: idSchema }).optional().catch(undefined),
  username: idSchema,
  files: z.array(z.unknown()).catch([]),
  blocks: z.array(z.unknown()).catch([]),
  attachments: z.unknown().optional(),
});
type Message = z.infer<typeof messageSchema>;

const writtenSchema = z.object({
  ts: z.string(),
  subtype: idSchema,
  text: z.string().catch(""),
  files: z.array(z.unknown()).catch([]),
  blocks: z.unknown().optional(),
  attachments: z.unknown().optional(),
  bot_id: idSchema,
});
const writtenPageSchema = z.object({ messages: z.array(writtenSchema) });

/** Cuts a text that is too long. A person asks about this message, and a part of it is better than nothing. */
function toWritten(message: z.infer<typeof writtenSchema>) {
  const text = readMessageText({ message, botUsers: [], maxLength: maxTextLength });
  const sharedFiles = readSharedFiles(message);
  return {
    text: cutText(text, maxTextLength),
    files: readUserFiles(message.files),
    ...(sharedFiles.length > 0 && { sharedFiles }),
  };
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
export function readMessagesPage(request: {
  page: unknown;
  appId: string;
  botUsers?: readonly string[];
}): {
  posts: PostedMessage[];
  nextCursor: string;
} {
  const { page, appId, botUsers = [] } = request;
  const data = parseAnswer(pageSchema, page);
  const posts = data.messages.map((message) => {
    const from = readWriter({ message, appId });
    const sharedFiles = readSharedFiles(message);
    return {
      ts: message.ts,
      // A deleted message that has replies keeps its place in the thread, with a text of Slack's own. Nobody wrote it.
      text: isWritten(message) ? message.text : "",
      ...(from !== "self" && isWritten(message) && readShownMarkdown(message, botUsers)),
      key: from === "self" ? readPostKey(message.metadata) : undefined,
      from,
      user: message.user,
      ...(from === "other_bot" && readBotName(message)),
      fileIds: message.files.flatMap((file) => idSchema.parse(Object(file).id) ?? []),
      ...(from !== "self" && message.files.length > 0 && { files: readUserFiles(message.files) }),
      ...(from !== "self" && sharedFiles.length > 0 && { sharedFiles }),
      ...(message.blocks.some((block) => Object(block).type === "actions") && {
        hasButtons: true as const,
      }),
    };
  });
  return { posts, nextCursor: data.response_metadata.next_cursor };
}

function readWriter({
  message,
  appId,
}: {
  message: Message;
  appId: string;
}): PostedMessage["from"] {
  const { app_id, bot_profile } = message;
  if ((app_id ?? bot_profile?.app_id) === appId) return "self";
  return isFromApp(message) ? "other_bot" : "person";
}

function readShownMarkdown(message: Message, botUsers: readonly string[]): { markdown?: string } {
  const markdown = readMessageText({ message, botUsers, maxLength: maxTextLength });
  return markdown === message.text ? {} : { markdown };
}

/** Slack shows a name of the message itself before that of the app. */
function readBotName({ username, bot_profile }: Message): { name?: string } {
  const name = cleanName(username || bot_profile?.name || "", maxNameLength);
  return name === "" ? {} : { name };
}
