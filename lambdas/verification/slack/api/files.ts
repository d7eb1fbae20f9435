/** Uploads files in three steps (https://docs.slack.dev/messaging/working-with-files, "Uploading files"). */

import * as z from "zod";
import { isLoopbackHost } from "../../../../contracts/loopback.ts";
import { parseUrl } from "../../../shared/untrusted-input.ts";
import { boundedFetch, type RepeatCall, type SlackCall, toSlackError } from "./call.ts";
import { parseAnswer } from "./posts.ts";
import { type SlackApi, SlackError } from "./slack.ts";

const ticketSchema = z.object({ file_id: z.string(), upload_url: z.string() });

/** `uploadTimeoutMs` bounds the transfer of the bytes, which takes longer than a call. */
export function createFileCalls(options: {
  call: SlackCall;
  repeating: RepeatCall;
  apiUrl: string;
  uploadTimeoutMs: number;
}): Pick<SlackApi, "startUpload" | "sendUpload" | "shareUploads"> {
  const { call, repeating, apiUrl, uploadTimeoutMs } = options;
  return {
    async startUpload({ name, length, ...common }) {
      const args = { filename: name, length };
      // Repeatable, because Slack discards an upload URL that is never used.
      const answer = await call({ method: "files.getUploadURLExternal", args, ...common, repeatable: true });
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
  const { url, bytes, apiUrl, timeoutMs, signal } = request;
  if (!isUploadUrl({ url, apiUrl })) throw new SlackError("refused");
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const send = boundedFetch({ signal: bounded, maxBytes: maxAnswerBytes });
  const { status, headers } = await send(url, {
    method: "POST",
    // A redirect would send the bytes to a URL that was not checked.
    redirect: "manual",
    headers: { "content-type": "application/octet-stream" },
    body: bytes,
  }).catch((thrown: unknown) => {
    throw toSlackError(thrown);
  });
  if (status === 200) return;
  if (status === 413) throw new SlackError("refused");
  if (status === 429) throw new SlackError("rate_limited", { retryAfterMs: Number(headers.get("retry-after")) * 1000 });
  throw new SlackError(status < 500 ? "unavailable" : "ambiguous");
}

/** Accepts Slack's file host and the host of the Web API. Plain HTTP is allowed on loopback only. */
export function isUploadUrl({ url, apiUrl }: { url: string; apiUrl: string }): boolean {
  const target = parseUrl(url);
  const api = parseUrl(apiUrl);
  if (target === null || api === null || target.username !== "" || target.password !== "") return false;
  if (target.protocol === "https:") return target.host === "files.slack.com" || target.host === api.host;
  return target.protocol === "http:" && isLoopbackHost(target.hostname) && target.host === api.host;
}
