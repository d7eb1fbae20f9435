/** Plain HTTPS with kept connections: any Execution host behind a URL. */
import type { Authorizer } from "../authorizer/authorizer.ts";
import { checkedUrl } from "../authorizer/authorizer.ts";
import { createAuthorizedSend, requestHeaders } from "../http/send.ts";
import { defaultMaxResponseBytes } from "../read-response.ts";
import type { Transport } from "../transport.ts";

/** Throws for a URL that is not https (http on loopback) or that holds credentials. What a 401 or a 403 leads to is said at `createAuthorizedSend`. */
export function createHttpsTransport({
  url: address,
  authorizer,
  maxResponseBytes = defaultMaxResponseBytes,
  connectTimeoutMs,
  now = Date.now,
}: {
  url: string;
  authorizer: Authorizer;
  maxResponseBytes?: number;
  connectTimeoutMs?: number;
  now?: () => number;
}): Transport {
  const url = checkedUrl(address);
  const http = createAuthorizedSend({ authorizer, connectTimeoutMs, now });
  return {
    async send({ body, sessionId, signal, trace }) {
      const headers = requestHeaders({ sessionId, trace });
      const reading = { signal, maxResponseBytes, shortens: true };
      const { headers: _headers, ...response } = await http.send({ method: "POST", url, headers, body, ...reading });
      return response;
    },
    async close() {
      http.close();
    },
  };
}
