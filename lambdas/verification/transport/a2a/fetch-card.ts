/** One GET of a card, with the redirects that stay at its origin: credentials go nowhere else. */

import type { A2aVersion } from "../../../../contracts/a2a/operations.ts";
import { parseUrl } from "../../../shared/parse-url.ts";
import { checkedUrl, isRedirection, type Refuse, refusalOf } from "../http/refusal.ts";
import type { AuthorizedSend, HttpResponse } from "../http/send.ts";
import { unusableCard } from "./interfaces.ts";

const maxCardBytes = 256 * 1024;
const maxRedirects = 3;
const noBody = new Uint8Array();

/** Resolves to any status but that of a redirect; 304 only where `etag` was sent. */
export async function fetchCard({
  cardUrl,
  version,
  etag,
  http,
  signal,
}: {
  cardUrl: URL;
  version: A2aVersion;
  etag: string | undefined;
  http: AuthorizedSend;
  signal: AbortSignal;
}): Promise<HttpResponse> {
  const headers = {
    accept: "application/json",
    "a2a-version": version,
    ...(etag === undefined ? {} : { "if-none-match": etag }),
  };
  let url = cardUrl;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const request = {
      method: "GET",
      url,
      headers,
      body: noBody,
      signal,
      maxResponseBytes: maxCardBytes,
      refuse,
    } as const;
    const response = await http.send(request);
    if (!isRedirection(response.status)) return response;
    if (response.status === 304 && etag !== undefined) return response;
    url = redirected({ from: url, location: response.headers.location });
  }
  throw unusableCard("the card's URL redirects too often");
}

const refuse: Refuse = (head) => (isRedirection(head.status) ? undefined : refusalOf(head));

function redirected({ from, location }: { from: URL; location: string | undefined }): URL {
  const to = location === undefined ? null : parseUrl(location, from.href);
  if (to === null) throw unusableCard("the card's URL redirects to nowhere");
  if (to.origin !== from.origin) throw unusableCard("the card's URL redirects to another origin");
  try {
    return checkedUrl(to.href);
  } catch {
    throw unusableCard("the card's URL redirects to one that holds credentials");
  }
}

// How long a card may be used without asking for it again (RFC 9111, section 5.2.2).

const shortestMs = 60_000;
const longestMs = 60 * 60_000;
const withoutWordMs = 5 * 60_000;

/** What `Cache-Control` says, within a minute and an hour; five minutes where it says nothing. */
export function freshnessMs(cacheControl: string | undefined): number {
  const words = (cacheControl ?? "").toLowerCase().split(/\s*,\s*/);
  if (words.includes("no-store") || words.includes("no-cache")) return shortestMs;
  const seconds = words.flatMap((word) => /^max-age="?(\d{1,10})"?$/.exec(word)?.[1] ?? [])[0];
  if (seconds === undefined) return withoutWordMs;
  return Math.min(Math.max(Number(seconds) * 1000, shortestMs), longestMs);
}
