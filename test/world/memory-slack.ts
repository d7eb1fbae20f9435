/** Slack in memory, behind the interface of its client: messages in channels and threads, streams, files, modals, and what only one person sees. */

import { isSamePost } from "@sekisho/verification/slack/api/post-keys.ts";
import {
  type MessageContent,
  type ModalView,
  type PostedMessage,
  type SessionStatus,
  type SlackApi,
  type SlackBlock,
  SlackError,
} from "@sekisho/verification/slack/api/slack.ts";
import { refusal, requireContent, requirePiece } from "./slack-limits.ts";

type MethodName = keyof SlackApi;
type Request<M extends MethodName> = Parameters<SlackApi[M]>[0];
type Result<M extends MethodName> = Awaited<ReturnType<SlackApi[M]>>;
type Effects = { [M in MethodName]: (request: Request<M>) => Result<M> };

/** One call. `effect` does what Slack does for it, and throws what Slack refuses. */
export type SlackCall<M extends MethodName = MethodName> = {
  method: M;
  request: Request<M>;
  effect: () => Result<M>;
};
/** Decides whether, when and how often a call has its effect, and what its caller hears. */
export type OperateSlack = <M extends MethodName>(call: SlackCall<M>) => Promise<Result<M>>;

export type Post = PostedMessage & {
  channel: string;
  /** Undefined: in the channel itself. */
  threadTs: string | undefined;
  blocks: readonly SlackBlock[];
  /** A native stream that nobody has stopped. */
  streams: boolean;
  /** A person has stopped the stream by Slack's own button. */
  isStopped?: boolean;
  atMs: number;
  /** It was done after its caller gave up. */
  isLate: boolean;
};
export type NewPost = Pick<Post, "channel" | "threadTs"> & Partial<Post>;

/** A message of somebody else. Without a channel it is in whichever thread is read. */
export type ForeignMessage = PostedMessage & {
  channel?: string | undefined;
  threadTs?: string | undefined;
};

/** Slack ends a stream by itself after that. */
const streamLifeMs = 300_000;
const triggerLifeMs = 3000;

function hasButtons(blocks: readonly SlackBlock[]): true | undefined {
  return blocks.some(({ type }) => type === "actions") ? true : undefined;
}

function toPosted(message: PostedMessage): PostedMessage {
  const { ts, text, markdown, key, from, user, name, fileIds, files, sharedFiles, hasButtons } =
    message;
  return { ts, text, markdown, key, from, user, name, fileIds, files, sharedFiles, hasButtons };
}

export type MemorySlack = ReturnType<typeof createMemorySlack>;

export function createMemorySlack({
  now,
  newTs,
  botUser,
  posts = [],
  files: fileCount = 0,
  foreignMessages = () => [],
  teamOf,
  triggerAgeMs = () => 0,
  refuses = () => false,
  isLate = () => false,
  onPost = () => {},
}: {
  now: () => number;
  newTs: () => string;
  botUser: string;
  /** The app's own posts at the beginning. */
  posts?: Post[];
  /** How many files were uploaded before. */
  files?: number;
  foreignMessages?: (request: { botUsers: readonly string[] }) => readonly ForeignMessage[];
  /** The workspace of a person. */
  teamOf: (user: string) => string;
  triggerAgeMs?: (triggerId: string) => number;
  /** Further content that Slack does not take. */
  refuses?: (content: MessageContent) => boolean;
  isLate?: () => boolean;
  /** Sees each post before it is made, and the same post where the thread has it already. */
  onPost?: (request: Request<"post">, samePost: Post | undefined) => void;
}) {
  const ephemeralMessages: {
    user: string;
    channel: string;
    threadTs: string | undefined;
    text: string;
  }[] = [];
  const statuses: string[] = [];
  const recipients: string[] = [];
  const sessions: string[] = [];
  const prompts: string[] = [];
  const homes: { user: string; blocks: readonly SlackBlock[] }[] = [];
  const modals: { triggerId: string; view: ModalView }[] = [];
  const marks = new Set<string>();
  let doubled = 0;
  for (const post of posts) post.hasButtons = hasButtons(post.blocks);

  function find({ channel, ts }: { channel: string; ts: string }): Post {
    const post = posts.find((each) => each.channel === channel && each.ts === ts);
    if (post === undefined) throw new SlackError("no_such_message");
    return post;
  }

  function acceptContent(content: MessageContent): Pick<Post, "text" | "blocks" | "hasButtons"> {
    const { text, blocks = [] } = content;
    if (refuses(content)) throw refusal(blocks.length > 0 ? "invalid_blocks" : "msg_too_long");
    requireContent(content);
    return { text, blocks, hasButtons: hasButtons(blocks) };
  }

  function add(post: NewPost): { ts: string } {
    const ts = newTs();
    posts.push({
      ...{ from: "self", user: botUser, text: "", key: undefined, blocks: [], fileIds: [] },
      ...{ streams: false, isLate: isLate(), ...post, ts, atMs: now() },
    });
    return { ts };
  }

  /** Throws once a person has stopped the stream. */
  function isStreaming({ streams, isStopped, atMs }: Post): boolean {
    if (isStopped) throw refusal("stopped_by_user");
    return streams && now() - atMs < streamLifeMs;
  }

  /** What the bot reads, oldest first. */
  function list(
    { oldestTs, botUsers = [] }: Pick<Request<"posts">, "oldestTs" | "botUsers">,
    isThere: (message: ForeignMessage) => boolean,
  ): PostedMessage[] {
    return [...foreignMessages({ botUsers }), ...posts]
      .filter((message) => Number(message.ts) >= Number(oldestTs) && isThere(message))
      .sort((a, b) => Number(a.ts) - Number(b.ts))
      .map(toPosted);
  }

  const rejectUse = () => {
    throw new Error("not used: files on their way in have a double of their own");
  };

  const effects: Effects = {
    post(request) {
      const { channel, threadTs, content, key } = request;
      const accepted = acceptContent(content);
      const samePost = posts.find(
        (post) => post.key?.requestId === key.requestId && isSamePost(post.key, key),
      );
      if (samePost !== undefined) doubled += 1;
      onPost(request, samePost);
      return add({ channel, threadTs, key, ...accepted });
    },
    update({ content, key, ...where }) {
      const post = find(where);
      if (!post.isStopped && isStreaming(post)) throw new SlackError("unavailable");
      Object.assign(post, { ...acceptContent(content), key });
    },
    remove: (where) => void posts.splice(posts.indexOf(find(where)), 1),
    react({ ts, name, present }) {
      if (present) marks.add(`${ts} ${name}`);
      else marks.delete(`${ts} ${name}`);
    },
    replies: (request) =>
      list(request, ({ channel, threadTs, ts }) => {
        const isThere = channel === request.channel && (threadTs ?? ts) === request.threadTs;
        return channel === undefined || isThere;
      }),
    posts: (request) =>
      list(
        request,
        ({ channel, threadTs }) => channel === request.channel && threadTs === undefined,
      ),
    message({ channel, ts }) {
      const message = foreignMessages({ botUsers: [] }).find(
        (each) => each.ts === ts && (each.channel ?? channel) === channel,
      );
      return message && { text: message.text, files: [...(message.files ?? [])] };
    },
    // The bot is in every channel but one, and one is shared.
    channelInfo: ({ channel }) => ({
      hasBot: channel !== "CWITHOUT",
      isShared: channel === "CSHARED",
    }),
    channelMembers: () => [],
    openModal({ triggerId, view }) {
      if (modals.some((modal) => modal.triggerId === triggerId))
        throw refusal("exchanged_trigger_id");
      if (triggerAgeMs(triggerId) > triggerLifeMs) throw refusal("expired_trigger_id");
      modals.push({ triggerId, view });
    },
    postEphemeral: ({ user, channel, threadTs, text }) =>
      void ephemeralMessages.push({ user, channel, threadTs, text }),
    openDirect: ({ user }) => ({ channel: `D${user}` }),
    publishHome: ({ user, blocks }) => void homes.push({ user, blocks }),
    person: ({ user }) => ({
      locale: undefined,
      workspaces: [teamOf(user)],
      organization: undefined,
    }),
    groupMembers: () => [],
    groupHandles: () => new Map(),

    startStream({ channel, threadTs, user, team, markdown }) {
      requirePiece(markdown);
      recipients.push(`${user} of ${team}`);
      return add({ channel, threadTs, text: markdown, streams: true });
    },
    appendStream({ markdown, ...where }) {
      requirePiece(markdown);
      const post = find(where);
      if (!isStreaming(post)) throw refusal("message_not_in_streaming_state");
      post.text += markdown;
    },
    stopStream(where) {
      const post = find(where);
      isStreaming(post);
      post.streams = false;
    },

    fileInfo: rejectUse,
    canvasContent: rejectUse,
    startUpload() {
      fileCount += 1;
      return {
        fileId: `F${fileCount}`,
        url: `https://files.slack.com/upload/F${fileCount}`,
      };
    },
    sendUpload: () => {},
    shareUploads({ channel, threadTs, files }) {
      const fileIds = files.map(({ fileId }) => fileId);
      if (posts.some((post) => post.fileIds.some((id) => fileIds.includes(id)))) doubled += 1;
      add({ channel, threadTs, text: files.map(({ title }) => title).join(","), fileIds });
    },

    setStatus: ({ status }) => void statuses.push(status),
    suggestPrompts: (request) => void prompts.push(...request.prompts.map(({ title }) => title)),
    setSession({ status, title }) {
      sessions.push(status satisfies SessionStatus);
      return { title };
    },
    renameSession: ({ title }) => void sessions.push(`named ${title}`),
  };

  /** The client of one process, whose calls all go through `operate`. */
  function api(operate: OperateSlack): SlackApi {
    const call =
      <M extends MethodName>(method: M) =>
      (request: Request<M>) =>
        operate({ method, request, effect: () => effects[method](request) });
    const methods = Object.keys(effects) as MethodName[];
    // Each name has its own method, which the type of a mapped object does not show.
    return Object.fromEntries(methods.map((method) => [method, call(method)])) as SlackApi;
  }

  return {
    posts,
    api,
    ephemeralMessages,
    statuses,
    /** For whom each stream was started: the person and their workspace. */
    recipients,
    /** The statuses of all sessions, and their new names, in order. */
    sessions,
    prompts,
    /** Each view of the App Home that was published. */
    homes,
    /** The modals that were opened, with their triggers. */
    modals,
    /** The reactions that stand. */
    marks,
    /** How often a post was made although the thread showed that part already. */
    doubled: () => doubled,
  };
}
