/** Brings the files of a message from Slack, with the bot token, to where the Execution zone can read them without it. */
import { createHash } from "node:crypto";
import { parseRetryAfter } from "../../shared/async/waiting.ts";
import { readResponseBody } from "../../shared/http/read-body.ts";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import { readTraceId } from "../../shared/telemetry/telemetry.ts";
import { parseUrl } from "../../shared/untrusted-input.ts";
import { SlackError } from "../slack/api/slack.ts";
import type { Installation, UserFile } from "../task/messages.ts";
import { installationOf, type Task } from "../task/task.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import {
  FileRefused,
  type FileStore,
  type Files,
  fileIdPattern,
  fileLifeMs,
  isSlackFileUrl,
  safeFileName,
} from "./files.ts";

type Attachment = Awaited<ReturnType<Files["importAttachments"]>>[number];

type ImportOptions = {
  download: Download;
  store: FileStore;
  token: (installation: Installation) => Promise<string>;
  newerToken: NewerToken;
  turns: ConcurrencyLimit;
  maxBytes: number;
  maxCount: number;
  lifeMs: number;
  now: () => number;
  log: Log;
};

/** All of them, or none: the first that cannot be had ends the work on the others. */
export function createImportAttachments(options: ImportOptions): Files["importAttachments"] {
  const { download, store, newerToken, turns, maxBytes, maxCount, lifeMs, now, log } = options;

  return async ({ task, signal }) => {
    const { files = [] } = task.message;
    const [surplus] = files.slice(maxCount);
    if (surplus !== undefined) throw refusal(surplus, { why: "too_many", most: maxCount });
    if (files.length === 0) return [];
    const token = await tokenFor(task);
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const bring = (file: UserFile) =>
      turns.take({ signal: either, work: () => bringOne({ task, file, token, signal: either }) });
    try {
      return await Promise.all(files.map(bring));
    } catch (thrown) {
      failed.abort();
      throw thrown instanceof FileRefused || thrown instanceof SlackError
        ? thrown
        : new SlackError("unavailable", { cause: thrown });
    }
  };

  async function tokenFor(task: Task): Promise<string> {
    try {
      return await options.token(installationOf(task));
    } catch (thrown) {
      throw thrown instanceof SlackError ? thrown : new SlackError("unavailable", { cause: thrown });
    }
  }

  async function fetched({
    task,
    file,
    token,
    signal,
  }: {
    task: Task;
    file: UserFile;
    token: string;
    signal: AbortSignal;
  }) {
    const installation = installationOf(task);
    // The id becomes part of a name: Slack's own ids can.
    const got = fileIdPattern.test(file.id)
      ? await fetchFile({ file, installation, token, newerToken, download, maxBytes, signal })
      : { refused: "not_to_be_had" as const };
    if (!("refused" in got)) return got;
    log.info("file_refused", { request_id: task.id, trace_id: readTraceId(task.trace), reason: got.refused });
    throw refusal(file, { why: got.refused, ...(got.refused === "too_large" ? { most: maxBytes } : {}) });
  }

  async function bringOne(request: { task: Task; file: UserFile; token: string; signal: AbortSignal }) {
    const { task, file, signal } = request;
    const { bytes, mimetype } = await fetched(request);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const nowMs = now();
    const wantedMs = Math.min(Math.max(nowMs + lifeMs, task.call?.deadlineAtMs ?? 0), nowMs + fileLifeMs);
    const key = `${task.id}/${file.id}`;
    const kept = store.put({ key, bytes, mimetype, sha256, expiresAtMs: wantedMs, signal });
    const { url, expiresAtMs } = await kept.catch((cause: unknown) => {
      const kind = errorKind(cause);
      const ids = { request_id: task.id, trace_id: readTraceId(task.trace) };
      if (!signal.aborted) log.warn("file_not_stored", { ...ids, cause_kind: kind });
      throw new SlackError("unavailable", { cause });
    });
    const size = bytes.byteLength;
    const expires_at = new Date(expiresAtMs).toISOString();
    return { id: file.id, name: safeFileName(file.name), mimetype, size, url, sha256, expires_at } satisfies Attachment;
  }
}

function refusal(file: UserFile, outcome: { why: "too_large" | "too_many" | "not_to_be_had"; most?: number }) {
  return new FileRefused({ ...outcome, name: safeFileName(file.name) });
}

/** `refused` is for good. */
type FetchedFile = { bytes: Uint8Array; mimetype: string } | { refused: "too_large" | "not_to_be_had" };

/** What has taken the place of `tried` as the installation's token; `inDoubt`, since Slack does not say why it gives no file. */
export type NewerToken = (request: {
  installation: Installation;
  tried: string;
  inDoubt: true;
}) => Promise<string | undefined>;

/** Rejects with a SlackError where it may work another time. */
async function fetchFile({
  file,
  installation,
  token,
  newerToken,
  download,
  maxBytes,
  signal,
}: {
  file: UserFile;
  installation: Installation;
  token: string;
  newerToken: NewerToken;
  download: Download;
  maxBytes: number;
  signal: AbortSignal;
}): Promise<FetchedFile> {
  const { url, name, mimetype: said } = file;
  if (url === undefined) return { refused: "not_to_be_had" };

  async function fetchWith(token: string): Promise<FetchedFile> {
    const got = await download({ url: url ?? "", token, maxBytes, signal });
    if ("refused" in got) return got;
    const { bytes, contentType } = got;
    if (isSignInPage({ bytes, contentType, said, name })) return { refused: "not_to_be_had" };
    return { bytes, mimetype: await detectMimetype({ bytes, said }) };
  }

  const first = await fetchWith(token);
  if (!("refused" in first) || first.refused !== "not_to_be_had") return first;
  // It may be the token that Slack does not take: the kept one may have been rotated.
  const newer = await newerToken({ installation, tried: token, inDoubt: true }).catch(() => undefined);
  return newer === undefined ? first : fetchWith(newer);
}

/** `refused` is for good. `contentType` is what the answer's header says. */
type DownloadResult = { bytes: Uint8Array; contentType: string } | { refused: "too_large" | "not_to_be_had" };

type Download = (request: {
  url: string;
  token: string;
  maxBytes: number;
  signal: AbortSignal;
}) => Promise<DownloadResult>;

const maxRedirects = 3;

/**
 * Redirects are followed among Slack's addresses for files alone: an organization's files are elsewhere than their URL says,
 * and want the token there too. Every other redirect, such as to the page to sign in, is "not to be had", and nobody there
 * is asked anything. Rejects with a SlackError where it may work another time.
 */
export function createDownload({
  apiUrl,
  timeoutMs = 30_000,
  now = Date.now,
}: {
  apiUrl: string;
  timeoutMs?: number;
  now?: () => number;
}): Download {
  return async ({ url, token, maxBytes, signal }) => {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    let next = parseUrl(url);
    for (let hops = 0; next !== null && hops <= maxRedirects; hops += 1) {
      if (!isSlackFileUrl({ url: next, apiUrl })) break;
      const answer = await requestFile({ url: next, token, maxBytes, signal: bounded, nowMs: now() });
      if (!("location" in answer)) return answer;
      next = parseUrl(answer.location, next.href);
    }
    return { refused: "not_to_be_had" };
  };
}

async function requestFile({
  url,
  token,
  maxBytes,
  signal,
  nowMs,
}: {
  url: URL;
  token: string;
  maxBytes: number;
  signal: AbortSignal;
  nowMs: number;
}): Promise<DownloadResult | { location: string }> {
  const headers = { authorization: `Bearer ${token}`, "accept-encoding": "identity" };
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal });
    if (response.status === 200) {
      const bytes = await readResponseBody({ response, maxBytes });
      if (bytes === "too_large") return { refused: "too_large" };
      return { bytes, contentType: response.headers.get("content-type") ?? "" };
    }
    await response.body?.cancel();
    return toDownloadError({ response, nowMs });
  } catch (thrown) {
    if (thrown instanceof SlackError) throw thrown;
    throw new SlackError("unavailable", { cause: thrown });
  }
}

function toDownloadError({ response: { status, headers }, nowMs }: { response: Response; nowMs: number }) {
  if (status === 429) {
    const retryAfterMs = parseRetryAfter({ header: headers.get("retry-after"), nowMs });
    throw new SlackError("rate_limited", retryAfterMs === undefined ? {} : { retryAfterMs });
  }
  if (status === 408 || status >= 500) throw new SlackError("unavailable");
  const location = status >= 300 && status < 400 ? headers.get("location") : null;
  return location === null ? { refused: "not_to_be_had" as const } : { location };
}

const unknownType = "application/octet-stream";
/** So much of a file tells whether it is text. */
const sampleBytes = 64 * 1024;
/** Tab, line feed, form feed, carriage return, and the escape by which ISO-2022-JP begins. */
const textControls: readonly number[] = [0x09, 0x0a, 0x0c, 0x0d, 0x1b];
const mimetypePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** What the bytes tell is no more than the wrapping of these: what was said of the content may stand. */
const wrappings: Record<string, RegExp> = {
  "application/xml": /^(text\/xml|text\/html|[^;]+\+xml)$/,
  "application/zip": /^(application\/(vnd\.|x-|java-archive$).*|[^;]+\+zip)$/,
  "application/x-cfb": /^application\/(msword|vnd\.).*$/,
};

/**
 * The mimetype: of what has a signature by that. What has none by its nature, such as a table of values or a program, is what
 * it was said to be where that can be; what should have one and has not is text, or unknown.
 */
export async function detectMimetype({ bytes, said }: { bytes: Uint8Array; said: string }): Promise<string> {
  // Loaded with the first file: most messages have none.
  const { fileTypeFromBuffer, supportedMimeTypes } = await import("file-type");
  // What cannot be made out because it is broken is as good as unknown.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  const claim = mimetypePattern.test(said.toLowerCase()) ? said.toLowerCase() : unknownType;
  if (found !== undefined) return wrappings[found.mime]?.test(claim) ? claim : found.mime;
  const hasSignature = supportedMimeTypes.has(claim);
  if (isText(bytes)) return isTextual(claim) || (isProgram(claim) && !hasSignature) ? claim : "text/plain";
  return hasSignature || claim.startsWith("text/") ? unknownType : claim;
}

function isTextual(mimetype: string): boolean {
  return /^text\/|\+(json|xml|yaml)$|^application\/xml$/.test(mimetype);
}

/** What is text although its type does not begin so: JSON, SQL, shell scripts. Documents of office programs are none. */
function isProgram(mimetype: string): boolean {
  return mimetype !== unknownType && /^application\/(?!vnd\.|msword)/.test(mimetype);
}

/** Slack answers with a page to sign in, and 200, where the token may not read the file. */
export function isSignInPage({
  bytes,
  contentType,
  said,
  name,
}: {
  bytes: Uint8Array;
  contentType: string;
  said: string;
  name: string;
}): boolean {
  if (/html/i.test(said) || /\.x?html?$/i.test(name)) return false;
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType)) return true;
  // A text may well begin like a page; a picture does not.
  return !/^text\//i.test(said) && isHtmlStart(bytes);
}

function isHtmlStart(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString("utf8");
  return /^\ufeff?\s*(<!--[\s\S]*?-->\s*)*<(!doctype\s+html|html)\b/i.test(start);
}

/** Without the bytes that no text has, in whatever encoding of Europe or Japan it is; or marked as UTF-16. */
function isText(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return !bytes.subarray(0, sampleBytes).some((byte) => byte < 0x20 && !textControls.includes(byte));
}
