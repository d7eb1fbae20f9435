/** The Slack seam: the few Web API calls that the product makes, and the closed kinds of their failures. */
import type { SlackErrorKind } from "../../task/events.ts";
import type { Installation } from "../../task/messages.ts";

/** Gives the bot token that is used for an installation. */
export type BotTokens = {
  /** Rejects with a SlackError `gone` where the app is not installed there; otherwise as the reads do, and nothing is known. */
  tokenOf(installation: Installation): Promise<string>;
  /**
   * After Slack did not take `tried`: another token, where there is one. `inDoubt`: perhaps it was not for the token's sake, so
   * that only what has taken its place counts. Rejects as `tokenOf`.
   */
  newerThan(request: {
    installation: Installation;
    tried: string;
    inDoubt?: boolean | undefined;
  }): Promise<string | undefined>;
};

/** Rides on every post (message metadata), so that a post whose answer was lost can be found again. */
export type PostKey = {
  requestId: string;
  /** 0 is the placeholder, 1 and up are the parts of the answer; `blocks.ts` names the others. */
  part: number;
};

/** A block of Block Kit (https://docs.slack.dev/reference/block-kit/blocks). */
export type SlackBlock = Readonly<{ type: string } & Record<string, unknown>>;
/** `text` is mrkdwn: what is shown without blocks, and what notifications say with them. */
export type MessageContent = { text: string; blocks?: readonly SlackBlock[] | undefined };

/** `key` only of our own posts. `from`: who wrote it; another app is `other_bot`. */
export type PostedMessage = {
  ts: string;
  text: string;
  key: PostKey | undefined;
  from: "self" | "person" | "other_bot";
  user: string | undefined;
  fileIds: readonly string[];
  /** It has buttons that people can press. */
  hasButtons?: true | undefined;
};

type Call = { installation: Installation; signal: AbortSignal /** For the log. */; requestId: string };
type InChannel = Call & { channel: string };

/** Every method rejects with a SlackError. Timestamps are Slack's `ts` strings. */
export type SlackApi = {
  /** Without `threadTs` in the channel itself. */
  post(
    request: Omit<InChannel, "requestId"> & { threadTs: string | undefined; content: MessageContent; key: PostKey },
  ): Promise<{ ts: string }>;
  update(request: Omit<InChannel, "requestId"> & { ts: string; content: MessageContent; key: PostKey }): Promise<void>;
  remove(request: InChannel & { ts: string }): Promise<void>;
  /** Adding a reaction that is there, or removing one that is not, is no error. */
  react(request: InChannel & { ts: string; name: string; present: boolean }): Promise<void>;
  /**
   * All messages of the thread from `oldestTs` on (all pages), oldest first; `key` and `self` are of posts of the app `appId` alone.
   * `refused` where there are more, or larger ones, than can be read.
   */
  replies(request: InChannel & { threadTs: string; oldestTs: string; appId: string }): Promise<PostedMessage[]>;
  /** The same of the channel itself (`conversations.history`): not what is in its threads. */
  posts(request: InChannel & { oldestTs: string; appId: string }): Promise<PostedMessage[]>;
  /** Only `user` sees it, and only while they are there (`chat.postEphemeral`). */
  postEphemeral(request: InChannel & { threadTs: string | undefined; user: string; text: string }): Promise<void>;
  /** The direct messages with `user` (`conversations.open`). */
  openDirect(request: Call & { user: string }): Promise<{ channel: string }>;
  /** `locale` as Slack writes it, such as `ja-JP` (`users.info`). */
  person(request: Call & { user: string }): Promise<{ locale: string | undefined }>;
  /** The users of a user group (`usergroups.users.list`). */
  groupMembers(request: Call & { group: string }): Promise<string[]>;

  /** A native stream: `markdown` is the first or next piece, at most 12,000 characters. */
  startStream(request: InChannel & { threadTs: string; user: string; markdown: string }): Promise<{ ts: string }>;
  appendStream(request: InChannel & { ts: string; markdown: string }): Promise<void>;
  /** A stream that is stopped already is no error. */
  stopStream(request: InChannel & { ts: string }): Promise<void>;

  /** First step of an upload (`files.getUploadURLExternal`); `length` in bytes. */
  startUpload(request: Call & { name: string; length: number }): Promise<{ fileId: string; url: string }>;
  /** Second step: the bytes, to the address of the first. */
  sendUpload(request: Call & { url: string; bytes: Uint8Array }): Promise<void>;
  /** Last step (`files.completeUploadExternal`): the files appear in the thread, as one message. */
  shareUploads(
    request: InChannel & { threadTs: string; files: readonly { fileId: string; title: string }[] },
  ): Promise<void>;

  /** The assistant's status in its thread; an empty one removes it (`assistant.threads.setStatus`). */
  setStatus(request: InChannel & { threadTs: string; status: string }): Promise<void>;
  suggestPrompts(
    request: InChannel & { threadTs: string; prompts: readonly { title: string; message: string }[] },
  ): Promise<void>;
};

export class SlackError extends Error {
  readonly kind: SlackErrorKind;
  /** Slack's own error name (`channel_not_found`), where there is one. */
  readonly slackError: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Slack's answer has more bytes than are read; the same call would get the same answer. */
  readonly tooLarge: boolean;

  constructor(
    kind: SlackErrorKind,
    options: { slackError?: string; retryAfterMs?: number; tooLarge?: boolean; cause?: unknown } = {},
  ) {
    super(`Slack call failed: ${kind}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "SlackError";
    this.kind = kind;
    this.slackError = options.slackError;
    this.retryAfterMs = options.retryAfterMs;
    this.tooLarge = options.tooLarge ?? false;
  }
}
