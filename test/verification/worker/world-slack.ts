/** Slack in memory: messages in channels and threads, streams, files, and what only one person sees. */

import { isSamePost } from "@sekisho/verification/slack/api/post-keys.ts";
import {
  type MessageContent,
  type ModalView,
  type PostedMessage,
  type SlackApi,
  type SlackBlock,
  SlackError,
} from "@sekisho/verification/slack/api/slack.ts";
import { readMessageText } from "@sekisho/verification/slack/context/message.ts";
import type { Alive, Operate } from "./world-fates.ts";

export type Post = PostedMessage & {
  channel: string;
  /** Undefined: in the channel itself. */
  threadTs: string | undefined;
  hasBlocks: boolean;
  /** When it began; undefined once it was stopped. */
  streamingSinceMs?: number | undefined;
};

/** A message of somebody else: outside of a thread in `channel`, or without it in whichever thread is read. */
export type Foreign = { ts: string; text: string; channel?: string } & Partial<
  Pick<PostedMessage, "from" | "user" | "fileIds" | "files" | "key">
>;

export type WorldSlack = {
  posts: Post[];
  api(alive: Alive): SlackApi;
  ephemeralMessages: {
    user: string;
    channel: string;
    threadTs: string | undefined;
    text: string;
  }[];
  statuses: string[];
  /** For whom each stream was started: the person and their workspace. */
  recipients: string[];
  /** The statuses of all sessions, and their new names, in order. */
  sessions: string[];
  prompts: string[];
  /** Each view of the App Home that was published. */
  homes: { user: string; blocks: readonly SlackBlock[] }[];
  /** The modals that were opened, with their triggers. */
  modals: { triggerId: string; view: ModalView }[];
  marks: Set<string>;
  /** How often a post was made although the thread showed that part already. */
  doubled(): number;
};

function toPosted(
  { channel: _channel, ...said }: Foreign,
  botUsers: readonly string[],
): PostedMessage {
  const markdown = readMessageText({ message: said, botUsers, maxLength: 40_000 });
  return { key: undefined, from: "person", user: "U1", fileIds: [], markdown, ...said };
}

/** Slack ends a stream by itself after that. */
const streamLifeMs = 300_000;
const errors = {
  refused: () => new SlackError("unavailable"),
  unknown: () => new SlackError("ambiguous"),
};

export function createWorldSlack({
  operate,
  now,
  newTs,
  inSlack,
  refuses,
}: {
  operate: Operate;
  now: () => number;
  newTs: () => string;
  inSlack: readonly Foreign[];
  refuses: (content: MessageContent) => boolean;
}): WorldSlack {
  const posts: Post[] = [];
  const ephemeralMessages: WorldSlack["ephemeralMessages"] = [];
  const statuses: string[] = [];
  const recipients: string[] = [];
  const sessions: string[] = [];
  const prompts: string[] = [];
  const homes: WorldSlack["homes"] = [];
  const modals: WorldSlack["modals"] = [];
  const marks = new Set<string>();
  let doubled = 0;

  function find(channel: string, ts: string): Post {
    const post = posts.find((candidate) => candidate.channel === channel && candidate.ts === ts);
    if (post === undefined) throw new SlackError("no_such_message");
    return post;
  }

  function take({ text, blocks = [] }: MessageContent) {
    if (refuses({ text, ...(blocks.length > 0 && { blocks }) })) throw new SlackError("refused");
    const hasButtons = blocks.some(({ type }) => type === "actions") ? (true as const) : undefined;
    return { text, hasBlocks: blocks.length > 0, hasButtons };
  }

  function add(post: Pick<Post, "channel" | "threadTs" | "text" | "key"> & Partial<Post>): {
    ts: string;
  } {
    const ts = newTs();
    posts.push({ ts, from: "self", user: "UBOT", fileIds: [], hasBlocks: false, ...post });
    return { ts };
  }

  function streamed(channel: string, ts: string): Post | undefined {
    const post = find(channel, ts);
    const { streamingSinceMs } = post;
    return streamingSinceMs !== undefined && now() - streamingSinceMs < streamLifeMs
      ? post
      : undefined;
  }

  function api(alive: Alive): SlackApi {
    const at = <T>(name: string, effect: () => T): Promise<T> =>
      operate({ alive, operation: { party: "slack", name }, errors, effect });
    return {
      post: ({ channel, threadTs, content, key }) =>
        at("post", () => {
          const same = posts.some(
            (post) => post.key?.requestId === key.requestId && isSamePost(post.key, key),
          );
          const taken = take(content);
          if (same) doubled += 1;
          return add({ channel, threadTs, ...taken, key });
        }),
      update: ({ channel, ts, content, key }) =>
        at("update", () => {
          if (streamed(channel, ts) !== undefined) throw new SlackError("unavailable");
          Object.assign(find(channel, ts), { ...take(content), key });
        }),
      remove: ({ channel, ts }) =>
        at("remove", () => void posts.splice(posts.indexOf(find(channel, ts)), 1)),
      react: ({ ts, name, present }) =>
        at(
          "react",
          () => void (present ? marks.add(`${ts} ${name}`) : marks.delete(`${ts} ${name}`)),
        ),
      replies: ({ channel, threadTs, oldestTs, botUsers = [] }) =>
        at("replies", () => {
          const foreign = inSlack
            .filter((said) => said.channel === undefined || said.ts === threadTs)
            .map((said) => toPosted(said, botUsers));
          const own = posts.filter(
            (post) => post.channel === channel && [post.threadTs, post.ts].includes(threadTs),
          );
          return structuredClone(
            [...foreign, ...own].filter(({ ts }) => Number(ts) >= Number(oldestTs)),
          );
        }),
      posts: ({ channel, oldestTs, botUsers = [] }) =>
        at("posts", () =>
          structuredClone([
            ...inSlack
              .filter((said) => said.channel === channel && Number(said.ts) >= Number(oldestTs))
              .map((said) => toPosted(said, botUsers)),
            ...posts.filter(
              (post) =>
                post.channel === channel &&
                post.threadTs === undefined &&
                Number(post.ts) >= Number(oldestTs),
            ),
          ]),
        ),
      message: ({ ts }) =>
        at("message", () => {
          const said = inSlack.find((each) => each.ts === ts);
          return said && { text: said.text, files: [...(said.files ?? [])] };
        }),
      // The bot is in every channel but one, and one is shared.
      channelInfo: ({ channel }) =>
        at("channelInfo", () => ({
          hasBot: channel !== "CWITHOUT",
          isShared: channel === "CSHARED",
        })),
      openModal: ({ triggerId, view }) =>
        at("openModal", () => {
          if (triggerId === "late")
            throw new SlackError("refused", { slackError: "expired_trigger_id" });
          if (modals.some((modal) => modal.triggerId === triggerId))
            throw new SlackError("refused", { slackError: "exchanged_trigger_id" });
          modals.push({ triggerId, view });
        }),
      postEphemeral: ({ user, channel, threadTs, text }) =>
        at("whisper", () => void ephemeralMessages.push({ user, channel, threadTs, text })),
      openDirect: ({ user }) => at("openDirect", () => ({ channel: `D${user}` })),
      publishHome: ({ user, blocks }) => at("publishHome", () => void homes.push({ user, blocks })),
      person: () =>
        at("person", () => ({ locale: undefined, workspaces: ["T1"], organization: undefined })),
      groupMembers: () => at("groupMembers", () => []),
      groupHandles: () => at("groupHandles", () => new Map()),
      channelMembers: () => at("channelMembers", () => []),
      startStream: ({ channel, threadTs, user, team, markdown }) =>
        at("startStream", () => {
          recipients.push(`${user} of ${team}`);
          return add({
            channel,
            threadTs,
            text: markdown,
            key: undefined,
            streamingSinceMs: now(),
          });
        }),
      appendStream: ({ channel, ts, markdown }) =>
        at("appendStream", () => {
          const post = streamed(channel, ts);
          if (post === undefined) throw new SlackError("no_such_message");
          post.text += markdown;
        }),
      stopStream: ({ channel, ts }) =>
        at(
          "stopStream",
          () => void Object.assign(find(channel, ts), { streamingSinceMs: undefined }),
        ),
      fileInfo: () => Promise.reject(new Error("not used: the files have a double of their own")),
      canvasContent: () =>
        Promise.reject(new Error("not used: the files have a double of their own")),
      startUpload: () =>
        Promise.reject(new Error("not used: the files have a double of their own")),
      sendUpload: () => Promise.reject(new Error("not used: the files have a double of their own")),
      shareUploads: ({ channel, threadTs, files }) =>
        at("shareUploads", () => {
          const fileIds = files.map(({ fileId }) => fileId);
          if (posts.some((post) => post.fileIds.some((id) => fileIds.includes(id)))) doubled += 1;
          add({
            channel,
            threadTs,
            text: files.map(({ title }) => title).join(","),
            key: undefined,
            fileIds,
          });
        }),
      setStatus: ({ status }) => at("setStatus", () => void statuses.push(status)),
      setSession: ({ status, title }) =>
        at("setSession", () => {
          sessions.push(status);
          return { title };
        }),
      renameSession: ({ title }) => at("renameSession", () => void sessions.push(`named ${title}`)),
      suggestPrompts: (given) =>
        at("suggestPrompts", () => void prompts.push(...given.prompts.map(({ title }) => title))),
    };
  }

  return {
    posts,
    api,
    ephemeralMessages,
    statuses,
    recipients,
    sessions,
    prompts,
    homes,
    modals,
    marks,
    doubled: () => doubled,
  };
}
