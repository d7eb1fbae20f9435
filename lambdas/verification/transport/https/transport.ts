/** Plain HTTPS with kept connections: any Execution host behind a URL. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { urlToHttpOptions } from "node:url";
import { SekishoError } from "../../../../contracts/errors.ts";
import { abortable } from "../abortable.ts";
import type { AddedCredentials, Authorizer } from "../authorizer/authorizer.ts";
import { defaultMaxResponseBytes } from "../read-capped.ts";
import { requestHeaders } from "../request-headers.ts";
import type { Transport, TransportRequest } from "../transport.ts";
import { checkedUrl } from "./checked-url.ts";
import { isCertificateRefused, sendOnce } from "./send-once.ts";

/** Kept connections are dropped before common peers drop them (node:http after 5 s), since a write into a closing one is ambiguous. */
const idleMs = 4000;

/**
 * Throws for a URL that is not https (http on loopback) or that holds credentials. `authorizer` is asked for each attempt;
 * a 401 lets it forget what it kept and repeats the request once, which is safe: a 401 says that nothing was processed. A 403
 * lets it forget as well, since AWS answers that for a session that has ended, and others for a certificate; the answer stands.
 */
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
  const agent = new (url.protocol === "https:" ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: idleMs });
  const target = { ...urlToHttpOptions(url), method: "POST", agent };

  async function attempt({ body, sessionId, signal, trace }: TransportRequest) {
    const headers = { ...requestHeaders({ sessionId, trace }), "accept-encoding": "identity" };
    const added = await authorize({ authorizer, request: { method: "POST", url, headers, body, signal } });
    const response = await sendOnce({
      target: { ...target, ...added.tls },
      headers: { ...headers, ...added.headers },
      body,
      signal,
      maxResponseBytes,
      nowMs: now(),
      connectTimeoutMs,
    }).catch((thrown) => {
      // A certificate that the peer does not take ends the connection that stood, often without a word about why.
      const isRefused = thrown instanceof SekishoError && (!thrown.undelivered || isCertificateRefused(thrown.cause));
      if (added.tls !== undefined && isRefused && !signal.aborted) authorizer.refresh?.(added);
      throw thrown;
    });
    return { response, added };
  }

  return {
    async send(request) {
      const { response, added } = await attempt(request);
      if (response.status !== 401 && response.status !== 403) return response;
      authorizer.refresh?.(added);
      if (response.status === 403 || authorizer.refresh === undefined) return response;
      return (await attempt(request)).response;
    },
    async close() {
      agent.destroy();
    },
  };
}

/** Nothing was sent yet: what fails here, or takes too long, is `unavailable` unless the authorizer says that it was refused. */
async function authorize({
  authorizer,
  request,
}: {
  authorizer: Authorizer;
  request: Parameters<Authorizer["authorize"]>[0];
}): Promise<AddedCredentials> {
  try {
    const added = authorizer.authorize(request);
    return added instanceof Promise ? await abortable({ promise: added, signal: request.signal }) : added;
  } catch (thrown) {
    throw thrown instanceof SekishoError
      ? thrown
      : new SekishoError("unavailable", { cause: thrown, undelivered: true });
  }
}
