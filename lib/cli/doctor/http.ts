/** The HTTP requests of the checks. Each resolves to undefined where nothing, or something else, answers. */
import { readResponseBody } from "../../../lambdas/shared/http/read-body.ts";
import { signedHeaders } from "../../local/signed-events.ts";

const timeoutMs = 10_000;
const maxAnswerBytes = 1024 * 1024;

type Answer = {
  status: number;
  body: string;
  /** The time by which this machine's clock is ahead of the server's. Undefined if the answer has no date. */
  skewMs: number | undefined;
};

type Request = RequestInit & { url: string | URL; signal: AbortSignal; now?: () => number };

/** Follows no redirect, because a redirect could carry a token elsewhere. */
async function request({
  url,
  signal,
  now = Date.now,
  ...init
}: Request): Promise<Answer | undefined> {
  const sentAtMs = now();
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const response = await fetch(url, { ...init, redirect: "manual", signal: limit });
    const { status, headers } = response;
    const skewMs = readSkewMs(headers.get("date"), { sentAtMs, receivedAtMs: now() });
    const bytes = await readResponseBody({ response, maxBytes: maxAnswerBytes });
    return bytes === "too_large"
      ? undefined
      : { status, body: new TextDecoder().decode(bytes), skewMs };
  } catch {
    return undefined;
  }
}

/**
 * Returns how far this machine's clock is ahead of a server's, by the `Date` header of its answer (RFC 9110, section
 * 6.6.1). Negative means behind.
 */
export function readSkewMs(
  date: string | null,
  at: { sentAtMs: number; receivedAtMs: number },
): number | undefined {
  const serverMs = Date.parse(date ?? "");
  if (Number.isNaN(serverMs)) return undefined;
  // The server cut the date off to a whole second, at some time between sending and receiving.
  return Math.round((at.sentAtMs + at.receivedAtMs) / 2 - (serverMs + 500));
}

export async function measureSkew({
  url,
  signal,
}: {
  url: string;
  signal: AbortSignal;
}): Promise<number | undefined> {
  return (await request({ url, signal, method: "HEAD" }))?.skewMs;
}

type EntryRequest = {
  url: string;
  challenge: string;
  signingSecret?: string;
  signal: AbortSignal;
  now?: (() => number) | undefined;
};

/**
 * Sends the entry a request that makes no task: the entry itself answers url_verification with the challenge
 * (https://docs.slack.dev/reference/events/url_verification). Signed as Slack signs it where a secret is given.
 */
export function askEntry({ challenge, signingSecret, now = Date.now, ...rest }: EntryRequest) {
  const body = JSON.stringify({ type: "url_verification", challenge });
  const contentType = "application/json";
  const headers =
    signingSecret === undefined
      ? { "content-type": contentType }
      : signedHeaders({ signingSecret, body, contentType, now });
  return request({ ...rest, method: "POST", headers, body });
}
