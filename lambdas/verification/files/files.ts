/** The interfaces for the files of messages and answers and for the file store, with the checks on file names and URLs. */
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import type { ExecuteTaskParams } from "@sekisho/contracts/methods.ts";
import { sanitizeLine, truncate } from "@sekisho/runtime/untrusted-input.ts";
import type { Share } from "../slots.ts";
import type { UserFile } from "../task/messages.ts";
import type { Task, TaskOutcome } from "../task/task.ts";

/** A file cannot be transferred, and no retry will help. `outcome` says why. */
export class FileRefused extends Error {
  readonly outcome: Extract<TaskOutcome, { type: "file_refused" }>;

  constructor(
    outcome: Omit<Extract<TaskOutcome, { type: "file_refused" }>, "type">,
    options?: { cause?: unknown },
  ) {
    super("A file cannot be transferred.", options);
    this.name = "FileRefused";
    this.outcome = { type: "file_refused", ...outcome };
  }
}

/** The address of a file did not respond in time. A later try may succeed. */
export class FetchTimedOut extends Error {
  constructor(options?: { cause?: unknown }) {
    super("An address did not respond in time.", options);
    this.name = "FetchTimedOut";
  }
}

export type Files = {
  /** The process's limit for transfers, which hold whole files in memory. */
  transfers: Share;
  /**
   * Copies the message's files to where the Execution zone can read them without Slack's token. A repeated call yields the same
   * bytes. The caller holds a transfer. Rejects with a FileRefused, or with a SlackError if a later try may succeed.
   */
  importAttachments(request: {
    task: Task;
    signal: AbortSignal;
  }): Promise<NonNullable<ExecuteTaskParams["attachments"]>>;
  /**
   * Copies files that the task can do without, in the order of their importance: those of forwarded and of earlier messages. What fits beside
   * the message's own files and can be read is attached; the rest is `leftOut`. Rejects only if `signal` aborts.
   */
  importFurtherFiles(request: {
    task: Task;
    files: readonly UserFile[];
    signal: AbortSignal;
  }): Promise<{ attachments: NonNullable<ExecuteTaskParams["attachments"]>; leftOut: UserFile[] }>;
  /** True if `upload` must fetch the file, for which its caller must hold a transfer. `index` is as for `upload`. */
  isFetched(request: { task: Task; index: number }): boolean;
  /**
   * Uploads one file of the answer, by its index in `createOutgoingFiles`. It stays invisible until it is shared. Rejects with
   * a FileRefused, or with a FetchTimedOut or a SlackError if a later try may succeed.
   */
  upload(request: { task: Task; index: number; signal: AbortSignal }): Promise<{ fileId: string }>;
};

/** The limit of the contract, in UTF-16 units. */
const maxLength = 255;
/** A longer ending is not a file extension. */
const maxExtensionLength = 16;

/** Returns the last part of a path without control and bidirectional characters. Never empty. */
export function safeFileName(name: string): string {
  const base = name.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const visible = sanitizeLine(base).trim();
  return /^\.*$/.test(visible) ? "file" : cut(visible);
}

/** Shortens a name before its extension, which shows the type of the file. */
function cut(name: string): string {
  if (name.length <= maxLength) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= maxExtensionLength ? name.slice(dot) : "";
  return truncate(name, maxLength - extension.length) + extension;
}

const domains = ["slack.com", "slack-gov.com"];
/** Below this path, slack.com serves files. Its other paths lead to pages that require a sign-in. */
const filesPath = "/files-pri/";

/**
 * Checks that a URL may receive the bot token. Slack's file URLs are on `files.slack.com` or below `slack.com/files-pri/`
 * (https://docs.slack.dev/reference/objects/file-object). In an organization, they redirect to `files-origin.slack.com`. If
 * `apiUrl`, the URL of the Web API, is on loopback, a fake Slack serves the files from the same origin.
 */
export function isSlackFileUrl({ url, apiUrl }: { url: URL; apiUrl: string }): boolean {
  if (url.username !== "" || url.password !== "") return false;
  const api = new URL(apiUrl);
  if (isLoopbackHost(api.hostname)) return url.origin === api.origin;
  if (url.protocol !== "https:" || url.port !== "") return false;
  const { hostname, pathname } = url;
  if (hostname === "slack-files.com" || hostname.endsWith(".slack-files.com")) return true;
  return domains.some(
    (domain) =>
      hostname === `files.${domain}` ||
      hostname === `files-origin.${domain}` ||
      (hostname === domain && pathname.startsWith(filesPath)),
  );
}

/**
 * Stores files where the Execution zone can read them by URL. Writing a key again replaces its bytes. The returned `expiresAtMs` is when
 * the URL really expires: no later than requested, and no later than in a day. Rejects if a later try may succeed.
 */
export type FileStore = {
  put(request: {
    /** Two names of `[A-Za-z0-9_-]`, separated by a slash. */
    key: string;
    bytes: Uint8Array;
    mimetype: string;
    /** In hexadecimal. */
    sha256: string;
    expiresAtMs: number;
    signal: AbortSignal;
  }): Promise<{ url: string; expiresAtMs: number }>;
};

/** The store keeps a file at least this long. */
export const fileLifeMs = 24 * 3600_000;

/** Matches Slack's file ids. The id becomes the second part of a key. */
export const fileIdPattern = /^[A-Za-z0-9_-]{1,128}$/;
