/** A file of a Slack message, fetched with the bot token: only from Slack, and only so much of it. */

import { parseRetryAfter } from "../../shared/async/retry-delay.ts";
import { readResponseBody } from "../../shared/http/read-body.ts";
import { parseUrl } from "../../shared/parse-url.ts";
import { SlackError } from "../slack/api/slack.ts";
import { isSlackFileUrl } from "./files.ts";

/** `refused` is for good. `contentType` is what the answer's header says. */
export type Downloaded = { bytes: Uint8Array; contentType: string } | { refused: "too_large" | "not_to_be_had" };

export type Download = (request: {
  url: string;
  token: string;
  maxBytes: number;
  signal: AbortSignal;
}) => Promise<Downloaded>;

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
      const answer = await ask({ url: next, token, maxBytes, signal: bounded, nowMs: now() });
      if (!("location" in answer)) return answer;
      next = parseUrl(answer.location, next.href);
    }
    return { refused: "not_to_be_had" };
  };
}

async function ask({
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
}): Promise<Downloaded | { location: string }> {
  const headers = { authorization: `Bearer ${token}`, "accept-encoding": "identity" };
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal });
    if (response.status === 200) {
      const bytes = await readResponseBody({ response, maxBytes });
      if (bytes === "too_large") return { refused: "too_large" };
      return { bytes, contentType: response.headers.get("content-type") ?? "" };
    }
    await response.body?.cancel();
    return notOk({ response, nowMs });
  } catch (thrown) {
    if (thrown instanceof SlackError) throw thrown;
    throw new SlackError("unavailable", { cause: thrown });
  }
}

function notOk({ response: { status, headers }, nowMs }: { response: Response; nowMs: number }) {
  if (status === 429) {
    const retryAfterMs = parseRetryAfter({ header: headers.get("retry-after"), nowMs });
    throw new SlackError("rate_limited", retryAfterMs === undefined ? {} : { retryAfterMs });
  }
  if (status === 408 || status >= 500) throw new SlackError("unavailable");
  const location = status >= 300 && status < 400 ? headers.get("location") : null;
  return location === null ? { refused: "not_to_be_had" as const } : { location };
}
