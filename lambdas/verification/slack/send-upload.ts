/** The bytes of a file, sent to the address that Slack gave for them. */
import { isLoopbackHost } from "../../../contracts/methods.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { SlackError } from "./slack.ts";
import { toSlackError } from "./to-slack-error.ts";

/** Slack says `OK` and the number of bytes. */
const maxAnswerBytes = 64 * 1024;

/**
 * No token goes along: the address itself is the permission. Rejects with a SlackError; whatever kind it is of, a new address
 * may be asked for and all begun again, since an upload that nobody shares is seen by nobody.
 */
export async function sendUpload({
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
  const target = URL.parse(url);
  const api = URL.parse(apiUrl);
  if (target === null || api === null || target.username !== "" || target.password !== "") return false;
  if (target.protocol === "https:") return target.host === "files.slack.com" || target.host === api.host;
  return target.protocol === "http:" && isLoopbackHost(target.hostname) && target.host === api.host;
}
