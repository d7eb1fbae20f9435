/** Carries A2A over HTTPS: the card by GET, and each operation by POST to the address in the card. */
import { type Authorizer, parseCheckedUrl } from "@sekisho/runtime/auth/authorizer.ts";
import type { A2aCarrier } from "../carrier.ts";
import { createAuthorizedSend, requestHeaders } from "../http/transport.ts";
import { defaultMaxResponseBytes } from "../response-body.ts";
import { fetchCard } from "./card-source.ts";

/** The limit for the whole fetch of the card with its redirects. */
const cardTimeoutMs = 5000;

/** Throws for URLs that are not https (http on loopback) or that hold credentials. `url` replaces the address that the card names. */
export function createHttpsCarrier(options: {
  cardUrl: string;
  url?: string | undefined;
  authorizer: Authorizer;
  maxResponseBytes?: number | undefined;
  connectTimeoutMs?: number | undefined;
  now?: (() => number) | undefined;
}): A2aCarrier {
  const { authorizer, connectTimeoutMs, now = Date.now } = options;
  const { maxResponseBytes = defaultMaxResponseBytes } = options;
  const cardUrl = parseCheckedUrl(options.cardUrl);
  const url = options.url === undefined ? undefined : parseCheckedUrl(options.url);
  const http = createAuthorizedSend({ authorizer, connectTimeoutMs, now });
  return {
    cardUrl,
    url,
    cardTimeoutMs,
    send({ headers, sessionId, trace, ...request }) {
      return http.send({
        ...request,
        method: "POST",
        headers: { ...requestHeaders({ sessionId, trace }), ...headers },
        maxResponseBytes,
        shortens: true,
      });
    },
    readCard: ({ version, etag, signal }) => fetchCard({ cardUrl, version, etag, http, signal }),
    async close() {
      http.close();
    },
  };
}
