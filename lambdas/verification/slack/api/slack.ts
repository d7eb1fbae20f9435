/** The interface to Slack: the Web API calls in use, and the kinds of their failures. */
import type { SlackErrorKind } from "../../task/events.ts";
import type { Installation, UserFile } from "../../task/messages.ts";
import type { PostKey } from "./post-keys.ts";

/** Finds the bot token of an installation. */
export type BotTokens = {
  /** Rejects with a SlackError `gone` if the app is not installed there, or with the read error if that is unknown. */
  tokenOf(installation: Installation): Promise<string>;
  /**
   * Returns another token after Slack rejected `tried`, or undefined. With `inDoubt`, the token may not have been the cause, so
   * only a token that has replaced `tried` is returned. Rejects like `tokenOf`.
   */
  readNewerToken(request: {
    installation: Installation;
    tried: string;
    inDoubt?: boolean | undefined;
  }): Promise<string | undefined>;
};

/** A block of Block Kit (https://docs.slack.dev/reference/block-kit/blocks). */
export type SlackBlock = Readonly<{ type: string } & Record<string, unknown>>;
/** A modal (https://docs.slack.dev/reference/views/modal-views). Without `submit` it has no inputs. */
export type ModalView = Readonly<
  { type: "modal"; blocks: readonly SlackBlock[] } & Record<"title" | "close", PlainText> & {
      submit?: PlainText;
      callback_id?: string;
      private_metadata?: string;
    }
>;
type PlainText = { type: "plain_text"; text: string };
/** `text` is mrkdwn. It is shown if there are no blocks, and in notifications. */
export type MessageContent = { text: string; blocks?: readonly SlackBlock[] | undefined };

/** `key` is set on our own posts only. `from` is `other_bot` for another app. */
export type PostedMessage = {
  ts: string;
  /** In mrkdwn, as Slack sends it. Empty for a notice of Slack. */
  text: string;
  /** All that people see of somebody else's message, in Markdown. Absent if that is `text`. */
  markdown?: string | undefined;
  key: PostKey | undefined;
  from: "self" | "person" | "other_bot";
  user: string | undefined;
  /** The name of another app, as Slack shows it. */
  name?: string | undefined;
  fileIds: readonly string[];
  /** The same files, of a message of somebody else. */
  files?: readonly UserFile[] | undefined;
  /** The files of messages that it forwards. */
  sharedFiles?: readonly UserFile[] | undefined;
  hasButtons?: true | undefined;
};

type Call = {
  installation: Installation;
  signal: AbortSignal /** For the log. */;
  requestId: string;
};
type InChannel = Call & { channel: string };
type InThread = InChannel & {
  oldestTs: string;
  appId: string;
  botUsers?: readonly string[] | undefined;
};

/** The facts about a channel that people see. `direct`: with the bot alone. `group`: a direct message of several people, whose name is technical. */
export type ChannelNotes = {
  kind: "public" | "private" | "direct" | "group";
  name: string | undefined;
  topic: string | undefined;
};

/** Every method rejects with a SlackError. Timestamps are Slack's `ts` strings. */
export type SlackApi = {
  /** Posts to the channel itself if `threadTs` is undefined. */
  post(
    request: Omit<InChannel, "requestId"> & {
      threadTs: string | undefined;
      content: MessageContent;
      key: PostKey;
    },
  ): Promise<{ ts: string }>;
  update(
    request: Omit<InChannel, "requestId"> & { ts: string; content: MessageContent; key: PostKey },
  ): Promise<void>;
  remove(request: InChannel & { ts: string }): Promise<void>;
  /** Idempotent: adding an existing reaction or removing a missing one succeeds. */
  react(request: InChannel & { ts: string; name: string; present: boolean }): Promise<void>;
  /**
   * Reads all messages of the thread from `oldestTs` on, oldest first. Only posts of the app `appId` get a `key` and count as
   * `self`. Mentions of `botUsers` are left out of `markdown`. Rejects with `refused` if there is more than can be read.
   */
  replies(request: InThread & { threadTs: string }): Promise<PostedMessage[]>;
  /** Reads one message of anybody, as its writer's own words and files. Resolves to undefined if it is gone. */
  message(
    request: InChannel & { ts: string; threadTs: string | undefined },
  ): Promise<{ text: string; files: UserFile[]; sharedFiles?: UserFile[] } | undefined>;
  /** `isShared`: with other organizations (Slack Connect). Rejects with `gone` for a private one without the bot (`conversations.info`). */
  channelInfo(
    request: InChannel,
  ): Promise<{ hasBot: boolean; isShared: boolean } & Partial<ChannelNotes>>;
  /** Lists the users in the channel, of a very large channel some of them (`conversations.members`). */
  channelMembers(request: InChannel): Promise<string[]>;
  /** The same for the channel itself, without its threads (`conversations.history`). */
  posts(request: InThread): Promise<PostedMessage[]>;
  /** Only `user` sees the message, and only while they are online (`chat.postEphemeral`). */
  postEphemeral(
    request: InChannel & { threadTs: string | undefined; user: string; text: string },
  ): Promise<void>;
  /** The trigger is good for three seconds and for one modal (`views.open`). */
  openModal(request: Call & { triggerId: string; view: ModalView }): Promise<void>;
  /** Opens the direct messages with `user` (`conversations.open`). */
  openDirect(request: Call & { user: string }): Promise<{ channel: string }>;
  /** Replaces what `user` sees on the App Home (`views.publish`). */
  publishHome(request: Call & { user: string; blocks: readonly SlackBlock[] }): Promise<void>;
  /**
   * Reads a user (`users.info`). `isBot`: it is the user of an app. `locale` is Slack's notation, such as `ja-JP`. `workspaces` are the ids of the workspaces to which the
   * person belongs: one, or in an `organization` (Enterprise Grid) all that Slack names. `name` is the one that people see. `email` is present
   * only for a full member whose address is confirmed, with the scope `users:read.email`.
   */
  person(request: Call & { user: string }): Promise<{
    locale: string | undefined;
    workspaces: readonly string[];
    organization: string | undefined;
    isBot?: boolean | undefined;
    name?: string | undefined;
    email?: string | undefined;
  }>;
  /** Lists the users of a user group (`usergroups.users.list`). */
  groupMembers(request: Call & { group: string }): Promise<string[]>;
  /** Lists the handles of the workspace's user groups, by their ids (`usergroups.list`). */
  groupHandles(request: Call): Promise<ReadonlyMap<string, string>>;

  /**
   * Starts a native stream for a person of the workspace `team`. `markdown` is the first piece, at most 12,000 characters. Once a person
   * has stopped the stream, all three methods reject with `stopped_by_user`.
   */
  startStream(
    request: InChannel & { threadTs: string; user: string; team: string; markdown: string },
  ): Promise<{ ts: string }>;
  appendStream(request: InChannel & { ts: string; markdown: string }): Promise<void>;
  /** Idempotent. */
  stopStream(request: InChannel & { ts: string }): Promise<void>;

  /** Reads what Slack lets the bot know of a file (`files.info`). Undefined if Slack does not describe it. */
  fileInfo(request: Call & { file: string }): Promise<UserFile | undefined>;
  /** Reads the whole text of a canvas as Markdown (`canvases.getContent`, scope `canvases:read`). */
  canvasContent(request: Call & { canvas: string }): Promise<string>;
  /** The first step of an upload (`files.getUploadURLExternal`). `length` is in bytes. */
  startUpload(
    request: Call & { name: string; length: number },
  ): Promise<{ fileId: string; url: string }>;
  /** The second step: sends the bytes to the URL from the first. */
  sendUpload(request: Call & { url: string; bytes: Uint8Array }): Promise<void>;
  /** The last step (`files.completeUploadExternal`). The files appear in the thread as one message. */
  shareUploads(
    request: InChannel & { threadTs: string; files: readonly { fileId: string; title: string }[] },
  ): Promise<void>;

  /** Shows what the bot does in a thread, for two minutes. An empty status removes it (`assistant.threads.setStatus`). */
  setStatus(request: InChannel & { threadTs: string; status: string }): Promise<void>;
  /** Suggests messages in the direct messages with the bot (`assistant.threads.setSuggestedPrompts`). */
  suggestPrompts(
    request: InChannel & { prompts: readonly { title: string; message: string }[] },
  ): Promise<void>;
  /**
   * Sets the status of the thread's session, and creates the session with the title if there is none yet. Resolves to the session's title,
   * if Slack says it (`agents.sessions.setStatus`).
   */
  setSession(
    request: InChannel & {
      threadTs: string;
      status: SessionStatus;
      title?: string | undefined;
      user: string;
    },
  ): Promise<{ title: string | undefined }>;
  /** At most 200 characters (`agents.sessions.rename`). */
  renameSession(request: InChannel & { threadTs: string; title: string }): Promise<void>;
};

/** `processing` shows Slack's stop button, `suspended` that a person has to do something. */
export type SessionStatus = "processing" | "suspended" | "active";

export class SlackError extends Error {
  readonly kind: SlackErrorKind;
  /** Slack's own error name, such as `channel_not_found`. */
  readonly slackError: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Slack's answer exceeds the size limit. The same call would fail again. */
  readonly tooLarge: boolean;

  constructor(
    kind: SlackErrorKind,
    options: {
      slackError?: string;
      retryAfterMs?: number;
      tooLarge?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(
      `Slack call failed: ${kind}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "SlackError";
    this.kind = kind;
    this.slackError = options.slackError;
    this.retryAfterMs = options.retryAfterMs;
    this.tooLarge = options.tooLarge ?? false;
  }
}
