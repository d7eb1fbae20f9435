/** Copies the files of a message from Slack to a store from which the Execution zone can read them without the bot token. */
import { createHash } from "node:crypto";
import { parseRetryAfter } from "@sekisho/runtime/async/waiting.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { readResponseBody } from "@sekisho/runtime/http/read-body.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import { type SlackApi, SlackError } from "../slack/api/slack.ts";
import type { Share } from "../slots.ts";
import type { Installation, UserFile } from "../task/messages.ts";
import { toSlackDocument } from "../task/slack-documents.ts";
import { installationOf, type Task } from "../task/task.ts";
import { createConcurrencyLimit } from "./concurrency-limit.ts";
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

/** The URL of an attachment works this long, or until the task's deadline if that is later. */
const lifeMs = 3600_000;

type ImportOptions = {
  slack: Pick<SlackApi, "fileInfo" | "canvasContent">;
  download: Download;
  store: FileStore;
  token: (installation: Installation) => Promise<string>;
  newerToken: NewerToken;
  transfers: Share;
  maxBytes: number;
  maxCount: number;
  now: () => number;
  log: Log;
};

type FileImport = { task: Task; file: UserFile; token: string; signal: AbortSignal };

/** How long a task waits for files that it can do without: 20 seconds, or a quarter of the time until its deadline if that is less. */
const furtherTimeoutMs = 20_000;
const furtherShare = 0.25;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createImports(
  options: ImportOptions,
): Pick<Files, "importAttachments" | "importFurtherFiles"> {
  const { store, transfers, maxBytes, maxCount, now, log } = options;
  return { importAttachments, importFurtherFiles };

  /** Imports all files or none, several at once while transfers are free. The first failure aborts the other downloads. */
  async function importAttachments({
    task,
    signal,
  }: Parameters<Files["importAttachments"]>[0]): Promise<Attachment[]> {
    const { files = [] } = task.message;
    const [surplus] = files.slice(maxCount);
    if (surplus !== undefined) throw refusal(surplus, { why: "too_many", most: maxCount });
    if (files.length === 0) return [];
    const failure = new AbortController();
    const either = AbortSignal.any([signal, failure.signal]);
    // The caller holds a transfer for the first one.
    const further = files.slice(1).flatMap(() => transfers.tryTake() ?? []);
    const limit = createConcurrencyLimit({ max: 1 + further.length });
    try {
      const token = await options.token(installationOf(task));
      const work = (file: UserFile) => () => importFile({ task, file, token, signal: either });
      return await Promise.all(
        files.map((file) => limit.take({ signal: either, work: work(file) })),
      );
    } catch (error) {
      failure.abort();
      throw error instanceof FileRefused || error instanceof SlackError
        ? error
        : new SlackError("unavailable", { cause: error });
    } finally {
      for (const release of further) release();
    }
  }

  /** One after the other, so that they take no transfers from files that tasks need. */
  async function importFurtherFiles({
    task,
    files,
    signal,
  }: Parameters<Files["importFurtherFiles"]>[0]) {
    const attachments: Attachment[] = [];
    if (maxCount === 0) return { attachments, leftOut: [] };
    const leftOut: UserFile[] = [];
    const boundedSignal = AbortSignal.any([signal, AbortSignal.timeout(furtherTimeoutOf(task))]);
    const room = maxCount - (task.message.files ?? []).length;
    const token = await options.token(installationOf(task)).catch(() => undefined);
    for (const file of files) {
      const isPossible = token !== undefined && attachments.length < room && !boundedSignal.aborted;
      const work = isPossible
        ? importFile({ task, file, token, signal: boundedSignal })
        : undefined;
      const attachment = await work?.catch(() => undefined);
      signal.throwIfAborted();
      if (attachment === undefined) leftOut.push(file);
      else attachments.push(attachment);
    }
    return { attachments, leftOut };
  }

  function furtherTimeoutOf({ call }: Task): number {
    const timeToDeadlineMs = Math.max(0, (call?.deadlineAtMs ?? Number.POSITIVE_INFINITY) - now());
    return Math.floor(Math.min(furtherTimeoutMs, timeToDeadlineMs * furtherShare));
  }

  async function fetchAllowed(request: FileImport) {
    const { task, file } = request;
    // The id becomes part of a key in the store, so it may hold nothing but the characters of Slack's ids.
    const result: FetchedFile = fileIdPattern.test(file.id)
      ? await fetchDescribed(options, request)
      : { refused: "not_to_be_had" };
    if (!("refused" in result)) return { file, ...result };
    const { refused: why, detail } = result;
    log.info("file_refused", {
      request_id: task.id,
      trace_id: readTraceId(task.trace),
      reason: why,
    });
    const limit = why === "too_large" ? { most: maxBytes } : {};
    throw refusal(result.file ?? file, { why, ...limit, ...(detail && { detail }) });
  }

  async function importFile(request: FileImport) {
    const { task, signal } = request;
    const { file, bytes, mimetype } = await fetchAllowed(request);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const nowMs = now();
    const wantedMs = Math.min(
      Math.max(nowMs + lifeMs, task.call?.deadlineAtMs ?? 0),
      nowMs + fileLifeMs,
    );
    const key = `${task.id}/${file.id}`;
    const storedFile = store.put({ key, bytes, mimetype, sha256, expiresAtMs: wantedMs, signal });
    const { url, expiresAtMs } = await storedFile.catch((cause: unknown) => {
      const ids = { request_id: task.id, trace_id: readTraceId(task.trace) };
      if (!signal.aborted) log.warn("file_not_stored", { ...ids, cause_kind: errorKind(cause) });
      throw new SlackError("unavailable", { cause });
    });
    const size = bytes.byteLength;
    const expires_at = new Date(expiresAtMs).toISOString();
    return {
      id: file.id,
      name: safeFileName(file.name),
      mimetype,
      size,
      url,
      sha256,
      expires_at,
    } satisfies Attachment;
  }
}

function refusal(file: UserFile, outcome: Omit<FileRefused["outcome"], "type" | "name">) {
  return new FileRefused({ ...outcome, name: safeFileName(file.name) });
}

/** `refused` is permanent. `file` is what Slack has told of it meanwhile. */
type FetchedFile = { file?: UserFile } & (
  | { bytes: Uint8Array; mimetype: string }
  | { refused: "too_large" | "not_to_be_had"; detail?: FileRefused["outcome"]["detail"] }
);

/** Fetches a file of which the message may say no more than the id. Rejects with a SlackError if a later try may succeed. */
async function fetchDescribed(options: ImportOptions, request: FileImport): Promise<FetchedFile> {
  const { task, file: eventFile, signal } = request;
  const call = { installation: installationOf(task), requestId: task.id, signal };
  const file = eventFile.isStub
    ? await catchRefusal(options.slack.fileInfo({ ...call, file: eventFile.id }))
    : eventFile;
  if (file === undefined || "refusedBy" in file)
    return { refused: "not_to_be_had", detail: "hidden" };
  const document = toSlackDocument(file.mimetype);
  if (document === "list") return { file, refused: "not_to_be_had", detail: document };
  const fetch = document === "canvas" ? fetchCanvas : fetchFile;
  return { file, ...(await fetch(options, { ...request, file })) };
}

/** Slack's errors for an app that may read no canvases at all. */
const noCanvasErrors: readonly (string | undefined)[] = [
  "missing_scope",
  "not_allowed_token_type",
  "unknown_method",
];

async function fetchCanvas(
  options: ImportOptions,
  { task, file, signal }: FileImport,
): Promise<FetchedFile> {
  const call = { installation: installationOf(task), requestId: task.id, signal };
  const content = await catchRefusal(options.slack.canvasContent({ ...call, canvas: file.id }));
  if (typeof content === "object") {
    return {
      refused: "not_to_be_had",
      detail: noCanvasErrors.includes(content.refusedBy) ? "canvas" : "hidden",
    };
  }
  const bytes = Buffer.from(content);
  if (bytes.byteLength > options.maxBytes) return { refused: "too_large" };
  const name = /\.md$/i.test(file.name) ? file.name : `${file.name}.md`;
  return { file: { ...file, name }, bytes, mimetype: "text/markdown" };
}

/** Resolves to Slack's error if it refuses the call for good. Any other failure may pass. */
async function catchRefusal<T>(call: Promise<T>): Promise<T | { refusedBy: string | undefined }> {
  return call.catch((error: unknown) => {
    const isRefusal =
      error instanceof SlackError && (error.kind === "gone" || error.kind === "refused");
    if (!isRefusal) throw error;
    return { refusedBy: error.slackError };
  });
}

/** Finds the token that has replaced `tried`. `inDoubt` is true because Slack does not say why it withholds a file. */
export type NewerToken = (request: {
  installation: Installation;
  tried: string;
  inDoubt: true;
}) => Promise<string | undefined>;

/** Rejects with a SlackError if a later try may succeed. */
async function fetchFile(
  options: ImportOptions,
  { task, file, token, signal }: FileImport,
): Promise<FetchedFile> {
  const { newerToken, download, maxBytes } = options;
  const { url, name, mimetype: claimedMimetype } = file;
  if (url === undefined) return { refused: "not_to_be_had" };

  async function fetchWith(token: string): Promise<FetchedFile> {
    const result = await download({ url: url ?? "", token, maxBytes, signal });
    if ("refused" in result) return result;
    const { bytes, contentType } = result;
    if (isSignInPage({ bytes, contentType, claimedMimetype, name }))
      return { refused: "not_to_be_had" };
    return { bytes, mimetype: await detectMimetype({ bytes, claimedMimetype }) };
  }

  const first = await fetchWith(token);
  if (!("refused" in first) || first.refused !== "not_to_be_had") return first;
  // The cached token may have been rotated, so a newer one may succeed.
  const newer = await newerToken({
    installation: installationOf(task),
    tried: token,
    inDoubt: true,
  }).catch(() => undefined);
  return newer === undefined ? first : fetchWith(newer);
}

/** `refused` is permanent. `contentType` is the response header. */
type DownloadResult =
  | { bytes: Uint8Array; contentType: string }
  | { refused: "too_large" | "not_to_be_had" };

type Download = (request: {
  url: string;
  token: string;
  maxBytes: number;
  signal: AbortSignal;
}) => Promise<DownloadResult>;

const maxRedirects = 3;

/**
 * Follows redirects only between Slack's file addresses. The files of an organization are behind such a redirect, and need the
 * token at the second address too. Any other redirect, such as to the sign-in page, counts as `not_to_be_had` and is not
 * followed, so that the token never leaves Slack. Rejects with a SlackError if a later try may succeed.
 */
export function createDownload(options: {
  apiUrl: string;
  timeoutMs?: number;
  now?: () => number;
}): Download {
  const { apiUrl, timeoutMs = 30_000, now = Date.now } = options;
  return async ({ url, token, maxBytes, signal }) => {
    const boundedSignal = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    let next = parseUrl(url);
    for (let hops = 0; next !== null && hops <= maxRedirects; hops += 1) {
      if (!isSlackFileUrl({ url: next, apiUrl })) break;
      const answer = await requestFile({
        url: next,
        token,
        maxBytes,
        signal: boundedSignal,
        nowMs: now(),
      });
      if (!("location" in answer)) return answer;
      next = parseUrl(answer.location, next.href);
    }
    return { refused: "not_to_be_had" };
  };
}

async function requestFile(request: {
  url: URL;
  token: string;
  maxBytes: number;
  signal: AbortSignal;
  nowMs: number;
}): Promise<DownloadResult | { location: string }> {
  const { url, token, maxBytes, signal, nowMs } = request;
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
  } catch (error) {
    if (error instanceof SlackError) throw error;
    throw new SlackError("unavailable", { cause: error });
  }
}

function toDownloadError({
  response: { status, headers },
  nowMs,
}: {
  response: Response;
  nowMs: number;
}) {
  if (status === 429) {
    const retryAfterMs = parseRetryAfter({ header: headers.get("retry-after"), nowMs });
    throw new SlackError("rate_limited", retryAfterMs === undefined ? {} : { retryAfterMs });
  }
  if (status === 408 || status >= 500) throw new SlackError("unavailable");
  const location = status >= 300 && status < 400 ? headers.get("location") : null;
  return location === null ? { refused: "not_to_be_had" as const } : { location };
}

const unknownType = "application/octet-stream";
/** How much of a file is read to decide its type. An archive of many entries would hold the process if it were read to its end. */
const sampleBytes = 64 * 1024;
/** Tab, line feed, form feed, carriage return, and the escape character of ISO-2022-JP. */
const textControls: readonly number[] = [0x09, 0x0a, 0x0c, 0x0d, 0x1b];
const mimetypePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** Container formats. The bytes show only the container, so a claimed type that matches here is more precise and is used. */
const containers: Record<string, RegExp> = {
  "application/xml": /^(text\/xml|text\/html|[^;]+\+xml)$/,
  "application/zip": /^(application\/(vnd\.|x-|java-archive$).*|[^;]+\+zip)$/,
  "application/x-cfb": /^application\/(msword|vnd\.).*$/,
};

/**
 * Decides the mimetype by the signature in the first bytes. Formats without a signature, such as CSV or source code, keep the claimed
 * type if the bytes allow it. A claimed format whose signature is missing becomes text or unknown. An Office document whose kind shows only
 * later is an archive at first, so a claimed Office type is kept.
 */
export async function detectMimetype({
  bytes,
  claimedMimetype,
}: {
  bytes: Uint8Array;
  claimedMimetype: string;
}): Promise<string> {
  // Loaded on first use, because most messages have no file.
  const { fileTypeFromBuffer, supportedMimeTypes } = await import("file-type");
  // The detector throws on some broken files.
  const sample = bytes.subarray(0, sampleBytes);
  const detectedType = await fileTypeFromBuffer(isTiff(bytes) ? bytes : sample).catch(
    () => undefined,
  );
  const validClaim = mimetypePattern.test(claimedMimetype.toLowerCase())
    ? claimedMimetype.toLowerCase()
    : unknownType;
  if (detectedType !== undefined)
    return containers[detectedType.mime]?.test(validClaim) ? validClaim : detectedType.mime;
  const hasSignature = supportedMimeTypes.has(validClaim);
  if (isText(sample))
    return isTextual(validClaim) || (isProgram(validClaim) && !hasSignature)
      ? validClaim
      : "text/plain";
  return hasSignature || validClaim.startsWith("text/") ? unknownType : validClaim;
}

/** The directory of a TIFF is often at its end. The detector goes there without reading what is before it. */
function isTiff(bytes: Uint8Array): boolean {
  return /^(II\*\0|MM\0\*)/.test(Buffer.from(bytes.subarray(0, 4)).toString("latin1"));
}

function isTextual(mimetype: string): boolean {
  return /^text\/|\+(json|xml|yaml)$|^application\/xml$/.test(mimetype);
}

/** Text formats below `application/`, such as JSON, SQL and shell scripts. Office documents are excluded. */
function isProgram(mimetype: string): boolean {
  return mimetype !== unknownType && /^application\/(?!vnd\.|msword)/.test(mimetype);
}

/** Slack answers with status 200 and a sign-in page if the token may not read the file. */
export function isSignInPage(request: {
  bytes: Uint8Array;
  contentType: string;
  claimedMimetype: string;
  name: string;
}): boolean {
  const { bytes, contentType, claimedMimetype, name } = request;
  if (/html/i.test(claimedMimetype) || /\.x?html?$/i.test(name)) return false;
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType)) return true;
  // A text file may start with HTML, but a picture never does.
  return !/^text\//i.test(claimedMimetype) && isHtmlStart(bytes);
}

function isHtmlStart(bytes: Uint8Array): boolean {
  let start = Buffer.from(bytes.subarray(0, 1024)).toString("utf8").trimStart();
  while (start.startsWith("<!--")) {
    const end = start.indexOf("-->", "<!--".length);
    if (end === -1) return false;
    start = start.slice(end + "-->".length).trimStart();
  }
  return /^<(?:!doctype\s+html|html)\b/i.test(start);
}

/** True for bytes without control characters, as in all common European and Japanese encodings, or with a UTF-16 mark. */
function isText(sample: Uint8Array): boolean {
  const [first, second] = sample;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return !sample.some((byte) => byte < 0x20 && !textControls.includes(byte));
}
