/**
 * Sends HTTP requests with an authorizer's credentials over kept-alive connections. Every transport to a URL uses it. The transport
 * `https`, for any Execution host behind a URL, is here too.
 */

import { SekishoError } from "../../../../contracts/errors.ts";
import { abortable, parseRetryAfter } from "../../../shared/async/waiting.ts";
import {
  createHttpClient,
  type HttpClient,
  HttpError,
  type HttpHead,
  isCertificateRefused,
} from "../../../shared/http/client.ts";
import type { ClientCertificate } from "../../../shared/http/connections.ts";
import { createTraceHeaders } from "../../../shared/telemetry/telemetry.ts";
import { parseJson } from "../../../shared/untrusted-input.ts";
import {
  type AddedCredentials,
  type AuthorizableRequest,
  type Authorizer,
  parseCheckedUrl,
} from "../authorizer/authorizer.ts";
import { createEventCollector } from "../read-events.ts";
import {
  type CheckResponseHead,
  checkResponseHead,
  createResponseCollector,
  defaultMaxResponseBytes,
  isEventStream,
  maxShortening,
} from "../read-response.ts";
import type { Transport, TransportRequest, TransportResponse } from "../transport.ts";

/** Throws for a URL that is not https (http on loopback) or that holds credentials. */
export function createHttpsTransport(options: {
  url: string;
  authorizer: Authorizer;
  maxResponseBytes?: number;
  connectTimeoutMs?: number;
}): Transport {
  const {
    url: address,
    authorizer,
    maxResponseBytes = defaultMaxResponseBytes,
    connectTimeoutMs,
  } = options;
  const url = parseCheckedUrl(address);
  const http = createAuthorizedSend({ authorizer, connectTimeoutMs, now: Date.now });
  return {
    async send({ body, sessionId, signal, trace }) {
      const headers = requestHeaders({ sessionId, trace });
      const reading = { signal, maxResponseBytes, shortens: true };
      const { headers: _headers, ...response } = await http.send({
        method: "POST",
        url,
        headers,
        body,
        ...reading,
      });
      return response;
    },
    async close() {
      http.close();
    },
  };
}

type SendOnceRequest = AuthorizableRequest & {
  http: HttpClient;
  certificate?: ClientCertificate | undefined;
  maxResponseBytes: number;
  /** Cuts the long strings of a larger response instead of refusing it. */
  shortens?: boolean | undefined;
  /** Also reads a stream of events, up to its first JSON-RPC response. */
  readsEvents?: boolean | undefined;
  nowMs: number;
  /** Decides which responses are not read. Default: `checkResponseHead`. */
  refuse?: CheckResponseHead | undefined;
};

export type HttpResponse = TransportResponse & HttpHead;

/**
 * Rejects with `unavailable` if nothing of the request was written: no address, no connection, no TLS, or the signal aborted first.
 * Once it is written into an open connection, every failure is `ambiguous`, because the peer may have read the request. The exception
 * is a peer that refuses the client certificate, which has read nothing. A response that is not HTTP is `invalid_response`. A failure
 * status counts even if the body cannot be read. A successful response that ends with its connection, and is not whole JSON, may have been
 * cut off, so it is `ambiguous` too.
 */
export async function sendOnce(options: SendOnceRequest): Promise<HttpResponse> {
  const {
    http,
    maxResponseBytes: maxBytes,
    shortens = false,
    readsEvents = false,
    nowMs,
    ...others
  } = options;
  const { refuse = checkResponseHead, ...request } = others;
  let head: HttpHead | undefined;
  const collect = (received: HttpHead) => {
    head = received;
    const limit = shortens ? maxBytes * maxShortening : maxBytes;
    const refusal = refuse({ ...received, maxBytes: limit, readsEvents, sent: request });
    if (refusal !== undefined) throw refusal;
    const isStream = readsEvents && isEventStream(received.headers["content-type"]);
    return isStream
      ? createEventCollector({ maxBytes })
      : createResponseCollector({ maxBytes, shortens });
  };
  const { body, ...received } = await http
    .send({ ...request, collect })
    .catch((thrown: unknown) => {
      if (head !== undefined && head.status >= 400)
        return { ...head, body: { body: new Uint8Array() } };
      throw toSekishoError(thrown);
    });
  if (request.method === "POST" && mayBeCutOff({ ...received, body: body.body }))
    throw new SekishoError("ambiguous");
  const retryAfterMs = parseRetryAfter({ header: received.headers["retry-after"], nowMs });
  return { ...received, retryAfterMs, ...body };
}

/** True if only the end of the connection ended the body (RFC 9112, section 6.3), and the body is not whole JSON. */
function mayBeCutOff({ status, headers, body }: HttpHead & { body: Uint8Array }): boolean {
  if (status < 200 || status >= 300 || status === 204) return false;
  if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined)
    return false;
  return parseJson(new TextDecoder().decode(body)) === undefined;
}

const reasons = {
  unsent: "unavailable",
  ambiguous: "ambiguous",
  not_http: "invalid_response",
  too_large: "payload_too_large",
} as const;

function toSekishoError(thrown: unknown): unknown {
  if (!(thrown instanceof HttpError)) return thrown;
  const { kind, cause } = thrown;
  return new SekishoError(reasons[kind], { cause, undelivered: kind === "unsent" });
}

/** `url` must come from `parseCheckedUrl`. `refuse` decides which responses are not read (default: `checkResponseHead`). */
type AuthorizedRequest = AuthorizableRequest &
  Pick<SendOnceRequest, "maxResponseBytes" | "shortens" | "readsEvents" | "refuse">;

export type AuthorizedSend = {
  send(request: AuthorizedRequest): Promise<HttpResponse>;
  /** Closes all connections. */
  close(): void;
};

/**
 * `send` rejects like `sendOnce`. A 401 makes the authorizer drop its cached credentials and repeats the request once, which is safe
 * because a 401 means that nothing was processed. A 403 drops them too, because AWS returns it for an expired session and other peers for
 * a certificate, but the request is not repeated.
 */
export function createAuthorizedSend(options: {
  authorizer: Authorizer;
  connectTimeoutMs: number | undefined;
  now: () => number;
}): AuthorizedSend {
  const { authorizer, connectTimeoutMs, now } = options;
  const http = createHttpClient({ connectTimeoutMs });

  async function attempt({ headers: given, ...request }: AuthorizedRequest) {
    const { method, url, body, signal } = request;
    const headers = { ...given, "accept-encoding": "identity" };
    const added = await authorize(authorizer, { method, url, headers, body, signal });
    const response = await sendOnce({
      ...request,
      http,
      headers: { ...headers, ...added.headers },
      certificate: added.tls,
      nowMs: now(),
    }).catch((thrown) => {
      // A peer that refuses the certificate often closes the connection without a reason.
      const isRefused =
        thrown instanceof SekishoError &&
        (!thrown.undelivered || isCertificateRefused(thrown.cause));
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
    close() {
      http.close();
    },
  };
}

/** Gets the credentials. A failure is `unavailable`, because nothing was sent yet, unless the authorizer rejects with another reason. */
async function authorize(
  authorizer: Authorizer,
  request: AuthorizableRequest,
): Promise<AddedCredentials> {
  try {
    const added = authorizer.authorize(request);
    return added instanceof Promise
      ? await abortable({ promise: added, signal: request.signal })
      : added;
  } catch (thrown) {
    throw thrown instanceof SekishoError
      ? thrown
      : new SekishoError("unavailable", { cause: thrown, undelivered: true });
  }
}

/**
 * Every transport over HTTP names the session by AgentCore's own header, so that a destination that moves to AgentCore needs no other code.
 * (https://docs.aws.amazon.com/bedrock-agentcore/latest/APIReference/API_InvokeAgentRuntime.html)
 */
const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";

/** The headers that every HTTP transport sends. */
export function requestHeaders(
  request: Pick<TransportRequest, "sessionId" | "trace">,
): Record<string, string> {
  const { sessionId, trace } = request;
  return {
    "content-type": "application/json",
    accept: "application/json",
    [sessionHeader]: sessionId,
    ...createTraceHeaders(trace),
  };
}
