/** Plain HTTPS with kept connections: any Execution host behind a URL. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { urlToHttpOptions } from "node:url";
import { SekishoError } from "../../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../../contracts/methods.ts";
import { abortable } from "../abortable.ts";
import type { AddedHeaders, Authorizer } from "../authorizer/authorizer.ts";
import { defaultMaxResponseBytes } from "../read-capped.ts";
import { requestHeaders } from "../request-headers.ts";
import type { Transport, TransportRequest } from "../transport.ts";
import { sendOnce } from "./send-once.ts";

/** Kept connections are dropped before common peers drop them (node:http after 5 s), since a write into a closing one is ambiguous. */
const idleMs = 4000;

/**
 * Throws for a URL that is not https (http on loopback) or that holds credentials. `authorizer` is asked for each attempt;
 * a 401 lets it forget what it kept and repeats the request once, which is safe: a 401 says that nothing was processed.
 */
export function createHttpsTransport({
  url: address,
  authorizer,
  maxResponseBytes = defaultMaxResponseBytes,
  now = Date.now,
}: {
  url: string;
  authorizer: Authorizer;
  maxResponseBytes?: number;
  now?: () => number;
}): Transport {
  const url = checkedUrl(address);
  const agent = new (url.protocol === "https:" ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: idleMs });
  const target = { ...urlToHttpOptions(url), method: "POST", agent };

  async function attempt({ body, sessionId, signal, trace }: TransportRequest) {
    const headers = { ...requestHeaders({ sessionId, trace }), "accept-encoding": "identity" };
    const credentials = await authorize({ authorizer, request: { method: "POST", url, headers, body, signal } });
    return sendOnce({ target, headers: { ...headers, ...credentials }, body, signal, maxResponseBytes, nowMs: now() });
  }

  return {
    async send(request) {
      const response = await attempt(request);
      if (response.status !== 401 || authorizer.refresh === undefined) return response;
      authorizer.refresh();
      return attempt(request);
    },
    async close() {
      agent.destroy();
    },
  };
}

/** Nothing was sent yet: what fails here, or takes too long, is `unavailable` unless the authorizer says what it is. */
async function authorize({
  authorizer,
  request,
}: {
  authorizer: Authorizer;
  request: Parameters<Authorizer["authorize"]>[0];
}): Promise<AddedHeaders> {
  try {
    const headers = authorizer.authorize(request);
    return headers instanceof Promise ? await abortable({ promise: headers, signal: request.signal }) : headers;
  } catch (thrown) {
    throw thrown instanceof SekishoError ? thrown : new SekishoError("unavailable", { cause: thrown });
  }
}

function checkedUrl(address: string): URL {
  const url = new URL(address);
  const isAllowed = url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname));
  if (!isAllowed) throw new Error(`A destination's url must be https (http only on loopback), not ${url.protocol}//.`);
  if (url.username !== "" || url.password !== "") throw new Error("A destination's url must not hold credentials.");
  return url;
}
