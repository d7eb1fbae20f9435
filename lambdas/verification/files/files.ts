/** The seams of files: those of a message on their way in, those of an answer on their way out, and the store between the zones. */
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import type { ExecuteTaskParams } from "../../../contracts/methods.ts";
import { sanitizeLine } from "../../shared/untrusted-input.ts";
import type { Task, TaskOutcome } from "../task/task.ts";

/** A file that cannot be taken along, for good; what it is about is in `outcome`. */
export class FileRefused extends Error {
  readonly outcome: Extract<TaskOutcome, { type: "file_refused" }>;

  constructor(outcome: Omit<Extract<TaskOutcome, { type: "file_refused" }>, "type">, options?: { cause?: unknown }) {
    super("A file cannot be taken along.", options);
    this.name = "FileRefused";
    this.outcome = { type: "file_refused", ...outcome };
  }
}

export type Files = {
  /**
   * Brings the message's files to where the Execution zone can read them without Slack's token. Repeated, it gives what leads to
   * the same bytes. Rejects with a FileRefused, or with a SlackError where it may work another time.
   */
  importAttachments(request: {
    task: Task;
    signal: AbortSignal;
  }): Promise<NonNullable<ExecuteTaskParams["attachments"]>>;
  /**
   * Uploads the answer's file of that index (`createOutgoingFiles`), so that Slack has it and nobody sees it yet. Rejects with a
   * FileRefused, or with a SlackError where it may work another time.
   */
  upload(request: { task: Task; index: number; signal: AbortSignal }): Promise<{ fileId: string }>;
};

/** The contract's bound, in UTF-16 units. */
const maxLength = 255;
/** An ending that is longer is none. */
const maxExtensionLength = 16;

/** The last part of a path, without control characters and those that turn the direction of the text; never empty. */
export function safeFileName(name: string): string {
  const base = name.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const visible = sanitizeLine(base).trim();
  return /^\.*$/.test(visible) ? "file" : cut(visible);
}

/** From the middle, so that the ending still tells what it is. */
function cut(name: string): string {
  if (name.length <= maxLength) return name;
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= maxExtensionLength ? name.slice(dot) : "";
  const kept = name.slice(0, maxLength - extension.length);
  // Half a character is none.
  return `${kept.isWellFormed() ? kept : kept.slice(0, -1)}${extension}`;
}

const domains = ["slack.com", "slack-gov.com"];
/** Where Slack shows a file, and not a page to sign in. */
const filesPath = "/files-pri/";

/**
 * Slack names `files.slack.com`, or `slack.com/files-pri/` (https://docs.slack.dev/reference/objects/file-object), and in an
 * organization it sends on to `files-origin.slack.com`. `apiUrl` is the configured one of the Web API: on loopback, where a
 * fake Slack is, files have its origin.
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
 * The same key again replaces the same bytes. `expiresAtMs` is until when the URL is wanted to work, and of the answer until
 * when it does: then or earlier, never later than a day. Rejects where it may work another time.
 */
export type FileStore = {
  put(request: {
    /** Two names with a slash between them, both of `[A-Za-z0-9_-]`. */
    key: string;
    bytes: Uint8Array;
    mimetype: string;
    /** In hexadecimal. */
    sha256: string;
    expiresAtMs: number;
    signal: AbortSignal;
  }): Promise<{ url: string; expiresAtMs: number }>;
};

/** How long a file is kept at the least; then it may be gone any time. */
export const fileLifeMs = 24 * 3600_000;

/** What the file is called after the request id: Slack's own ids are so. */
export const fileIdPattern = /^[A-Za-z0-9_-]{1,128}$/;
