/** Uploads files in Slack's three steps (https://docs.slack.dev/messaging/working-with-files, "Uploading files"). */

import * as z from "zod";
import { isLoopbackHost } from "../../../../contracts/loopback.ts";
import { parseUrl } from "../../../shared/untrusted-input.ts";
import { boundedFetch, type RepeatCall, type SlackCall, toSlackError } from "./call.ts";
import { type SlackApi, SlackError } from "./slack.ts";

const ticketSchema = z.object({ file_id: z.string(), upload_url: z.string() });

/** `uploadTimeoutMs` is for the bytes, which take longer than a call. */
export function createFileCalls({
  call,
  repeating,
  apiUrl,
  uploadTimeoutMs,
}: {
  call: SlackCall;
  repeating: RepeatCall;
  apiUrl: string;
  uploadTimeoutMs: number;
}): Pick<SlackApi, "startUpload" | "sendUpload" | "shareUploads"> {
  return {
    async startUpload({ name, length, ...common }) {
      const args = { filename: name, length };
      // One that nothing is sent to is forgotten by Slack.
      const answer = await call({ method: "files.getUploadURLExternal", args, ...common, repeatable: true });
      const ticket = ticketSchema.safeParse(answer).data;
      if (ticket === undefined) throw new SlackError("ambiguous");
      return { fileId: ticket.file_id, url: ticket.upload_url };
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

/** Slack says `OK` and the number of bytes. */
const maxAnswerBytes = 64 * 1024;

/**
 * No token goes along: the address itself is the permission. Rejects with a SlackError; whatever kind it is of, a new address
 * may be asked for and all begun again, since an upload that nobody shares is seen by nobody.
 */
async function sendUpload({
  url,
  bytes,
  apiUrl,
  timeoutMs,
  signal,
}: {
  url: string;
  bytes: Uint8Array;
  apiUrl: string;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<void> {
  if (!isUploadUrl({ url, apiUrl })) throw new SlackError("refused");
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const send = boundedFetch({ signal: bounded, maxBytes: maxAnswerBytes });
  const { status, headers } = await send(url, {
    method: "POST",
    // A redirect would take the bytes to an address that nobody has looked at.
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

/** Slack's own host for files, or where the Web API is that is spoken to; in the clear on loopback only. */
export function isUploadUrl({ url, apiUrl }: { url: string; apiUrl: string }): boolean {
  const target = parseUrl(url);
  const api = parseUrl(apiUrl);
  if (target === null || api === null || target.username !== "" || target.password !== "") return false;
  if (target.protocol === "https:") return target.host === "files.slack.com" || target.host === api.host;
  return target.protocol === "http:" && isLoopbackHost(target.hostname) && target.host === api.host;
}
