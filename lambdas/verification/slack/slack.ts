/** The Slack seam: the few Web API calls that the product makes, and the closed kinds of their failures. */

/** Rides on every post (message metadata), so that a post whose answer was lost can be found again. */
export type PostKey = {
  requestId: string;
  /** 0 is the placeholder, 1 and up are the parts of the answer. */
  part: number;
};

export type PostedMessage = { ts: string; text: string; key: PostKey | undefined };

type InChannel = { channel: string; signal: AbortSignal };
/** The request id of the task that the call is made for; a post has it in its key. */
type ForTask = InChannel & { requestId: string };

/** Every method rejects with a SlackError. Timestamps are Slack's `ts` strings. */
export type SlackApi = {
  post(request: InChannel & { threadTs: string; text: string; key: PostKey }): Promise<{ ts: string }>;
  update(request: InChannel & { ts: string; text: string; key: PostKey }): Promise<void>;
  remove(request: ForTask & { ts: string }): Promise<void>;
  /** Adding a reaction that is there, or removing one that is not, is no error. */
  react(request: ForTask & { ts: string; name: string; present: boolean }): Promise<void>;
  /** All messages of the thread from `oldestTs` on (all pages), oldest first; `key` is that of posts of the app `appId` alone. */
  replies(request: ForTask & { threadTs: string; oldestTs: string; appId: string }): Promise<PostedMessage[]>;
};

/**
 * `gone`: nobody can post there any more (channel, permission, token): terminal.
 * `no_such_message`: that message cannot be edited or deleted (any more): post anew.
 * `refused`: Slack refuses the content or the call for good: terminal for this content.
 * `rate_limited` and `unavailable`: certainly not done; repeat later.
 * `ambiguous`: a time-out, a reset or a 5xx: it may have been done.
 */
export type SlackErrorKind = "gone" | "no_such_message" | "refused" | "rate_limited" | "unavailable" | "ambiguous";

export class SlackError extends Error {
  readonly kind: SlackErrorKind;
  /** Slack's own error name (`channel_not_found`), where there is one. */
  readonly slackError: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(kind: SlackErrorKind, options: { slackError?: string; retryAfterMs?: number; cause?: unknown } = {}) {
    super(`Slack call failed: ${kind}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "SlackError";
    this.kind = kind;
    this.slackError = options.slackError;
    this.retryAfterMs = options.retryAfterMs;
  }
}
