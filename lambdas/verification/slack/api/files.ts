/**
 * Describes files, reads canvases, and uploads files in three steps (https://docs.slack.dev/messaging/working-with-files, "Uploading files").
 */

import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { createDeadline } from "@sekisho/runtime/async/deadline.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";
import type { RepeatCall, SlackCall } from "./call.ts";
import { parseAnswer } from "./posts.ts";
import { type SlackApi, SlackError } from "./slack.ts";
import { readUserFiles } from "./user-text.ts";
import { post, toStatusError } from "./web-call.ts";

const infoSchema = z.object({ file: z.unknown() });
const canvasSchema = z.object({ content: z.string() });
const ticketSchema = z.object({ file_id: z.string(), upload_url: z.string() });

/** `uploadTimeoutMs` bounds the transfer of the bytes, which takes longer than a call. */
export function createFileCalls(options: {
  call: SlackCall;
  repeating: RepeatCall;
  apiUrl: string;
  uploadTimeoutMs: number;
}): Pick<SlackApi, "fileInfo" | "canvasContent" | "startUpload" | "sendUpload" | "shareUploads"> {
  const { call, repeating, apiUrl, uploadTimeoutMs } = options;
  return {
    async fileInfo({ file, ...common }) {
      const answer = await call({
        method: "files.info",
        args: { file },
        ...common,
        repeatable: true,
      });
      const { file: fileInfo } = parseAnswer(infoSchema, answer);
      return readUserFiles([fileInfo]).find(({ id }) => id === file);
    },
    async canvasContent({ canvas, ...common }) {
      const args = { canvas_id: canvas, content_type: "markdown" };
      const answer = await call({
        method: "canvases.getContent",
        args,
        ...common,
        repeatable: true,
      });
      return parseAnswer(canvasSchema, answer).content;
    },
    async startUpload({ name, length, ...common }) {
      const args = { filename: name, length };
      // Repeatable, because Slack discards an upload URL that is never used.
      const answer = await call({
        method: "files.getUploadURLExternal",
        args,
        ...common,
        repeatable: true,
      });
      const { file_id, upload_url } = parseAnswer(ticketSchema, answer);
      return { fileId: file_id, url: upload_url };
    },
    async sendUpload({ url, bytes, signal, requestId }) {
      const exchange = () => sendUpload({ url, bytes, apiUrl, timeoutMs: uploadTimeoutMs, signal });
      await repeating({ method: "upload", requestId, repeatable: false, signal, exchange });
    },
    async shareUploads({ channel, threadTs, files, ...common }) {
      const args = {
        channel_id: channel,
        thread_ts: threadTs,
        files: files.map(({ fileId: id, title }) => ({ id, title })),
      };
      await call({ method: "files.completeUploadExternal", args, ...common, repeatable: false });
    },
  };
}

/** Slack answers with `OK` and the number of bytes. */
const maxAnswerBytes = 64 * 1024;

/**
 * Sends the bytes without a token, because the URL itself grants access. Rejects with a SlackError. After any failure, the caller
 * may start again with a new URL, because nobody sees an upload that is not shared.
 */
async function sendUpload(request: {
  url: string;
  bytes: Uint8Array;
  apiUrl: string;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<void> {
  const { url, bytes, apiUrl, timeoutMs } = request;
  if (!isUploadUrl({ url, apiUrl })) throw new SlackError("refused");
  const { signal, end } = createDeadline({ timeoutMs, signal: request.signal });
  const headers = { "content-type": "application/octet-stream" };
  const upload = post({
    url: new URL(url),
    headers,
    body: bytes,
    maxBytes: maxAnswerBytes,
    signal,
  });
  const head = await upload.finally(end);
  if (head.status === 413) throw new SlackError("refused");
  // A redirect is not followed, because the bytes would go to a URL that was not checked.
  if (head.status !== 200) throw toStatusError(head);
}

/** Accepts Slack's file host and the host of the Web API. Plain HTTP is allowed on loopback only. */
export function isUploadUrl({ url, apiUrl }: { url: string; apiUrl: string }): boolean {
  const target = parseUrl(url);
  const api = parseUrl(apiUrl);
  if (target === null || api === null || target.username !== "" || target.password !== "")
    return false;
  if (target.protocol === "https:")
    return target.host === "files.slack.com" || target.host === api.host;
  return target.protocol === "http:" && isLoopbackHost(target.hostname) && target.host === api.host;
}
