/**
 * Sends HTTP requests with an authorizer's credentials over kept-alive connections. Every transport to a URL uses it. The transport
 * `https`, for any Execution host behind a URL, is here too.
 */

import {
  type Agent,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from "node:https";
import { urlToHttpOptions } from "node:url";
import { SekishoError } from "../../../../contracts/errors.ts";
import { abortable, parseRetryAfter } from "../../../shared/async/waiting.ts";
import { createTraceHeaders } from "../../../shared/telemetry/telemetry.ts";
import {
  type AddedCredentials,
  type AuthorizableRequest,
  type Authorizer,
  parseCheckedUrl,
} from "../authorizer/authorizer.ts";
import {
  type CappedBody,
  type CheckResponseHead,
  checkResponseHead,
  createResponseCollector,
  defaultMaxResponseBytes,
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
  const { url: address, authorizer, maxResponseBytes = defaultMaxResponseBytes, connectTimeoutMs } = options;
  const url = parseCheckedUrl(address);
  const http = createAuthorizedSend({ authorizer, connectTimeoutMs, now: Date.now });
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

/** The request options that node:http derives from the URL, and the client certificate. */
type SendTarget = RequestOptions & { agent: Agent };

type SendOnceRequest = {
  target: SendTarget;
  headers: Readonly<Record<string, string>>;
  /** Empty for a GET. */
  body: Uint8Array;
  signal: AbortSignal;
  maxResponseBytes: number;
  /** Cuts the long strings of a larger response instead of refusing it. */
  shortens?: boolean | undefined;
  nowMs: number;
  /** The limit for DNS, the connection and TLS together. */
  connectTimeoutMs?: number | undefined;
  refuse?: CheckResponseHead | undefined;
};

export type HttpResponse = TransportResponse & { status: number; headers: IncomingHttpHeaders };

/** TLS alerts about the client's certificate, as OpenSSL names them. */
const certificateRefusal = /^ERR_SSL_.+_ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)$/;

/**
 * Rejects with `unavailable` if nothing of the request was written: no address, no connection, no TLS, or the signal aborted first.
 * Once connected, every failure is `ambiguous`, because the peer may have read the request; that includes a kept-alive connection that
 * the peer closes at that moment. The exception is a peer that refuses the client certificate: it says so only after the request may be
 * written (RFC 8446, section 4.4.2.4), but it has read nothing. A response that is not HTTP is `invalid_response`.
 */
export async function sendOnce(options: SendOnceRequest): Promise<HttpResponse> {
  const { target, headers, body, signal, maxResponseBytes, shortens = false, nowMs, connectTimeoutMs = 5000 } = options;
  const { refuse = checkResponseHead } = options;
  if (signal.aborted) throw new SekishoError("unavailable", { cause: signal.reason, undelivered: true });
  const send = target.protocol === "https:" ? httpsRequest : httpRequest;
  const length = target.method === "GET" ? {} : { "content-length": body.byteLength };
  const request = send({ ...target, headers: { ...headers, ...length } });
  const abort = () => request.destroy(new Error("aborted"));
  signal.addEventListener("abort", abort);

  let written = false;
  const timer = setTimeout(() => request.destroy(new Error("not connected")), connectTimeoutMs);
  const responded = Promise.withResolvers<IncomingMessage>();
  request.once("socket", (socket) => {
    const markWritten = () => {
      written = true;
      clearTimeout(timer);
    };
    if (request.reusedSocket) markWritten();
    else socket.once("encrypted" in socket ? "secureConnect" : "connect", markWritten);
  });
  request.once("response", responded.resolve);
  request.on("error", responded.reject);
  // A peer that switches protocols without being asked (101) ends the request without a response and without an error.
  request.once("close", () => responded.reject(new Error("closed")));
  request.end(body);

  try {
    return await read(await responded.promise, { maxBytes: maxResponseBytes, shortens, nowMs, refuse });
  } catch (thrown) {
    request.destroy();
    if (thrown instanceof SekishoError) throw thrown;
    const code = codeOf(thrown);
    if (code.startsWith("HPE_")) throw new SekishoError("invalid_response", { cause: thrown });
    const undelivered = !written || isCertificateRefused(thrown);
    throw new SekishoError(undelivered ? "unavailable" : "ambiguous", { cause: thrown, undelivered });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

function isCertificateRefused(thrown: unknown): boolean {
  return certificateRefusal.test(codeOf(thrown));
}

type ReadLimits = { maxBytes: number; shortens: boolean };

/** Reads the response. A failure status counts even if the body cannot be read. */
async function read(
  response: IncomingMessage,
  { nowMs, refuse, ...limits }: ReadLimits & { nowMs: number; refuse: CheckResponseHead },
): Promise<HttpResponse> {
  const { maxBytes, shortens } = limits;
  const { statusCode: status = 0, headers } = response;
  const retryAfterMs = parseRetryAfter({ header: headers["retry-after"], nowMs });
  try {
    const refusal = refuse({ status, headers, maxBytes: shortens ? maxBytes * maxShortening : maxBytes });
    if (refusal !== undefined) throw refusal;
    return { status, headers, retryAfterMs, ...(await readBody(response, limits)) };
  } catch (thrown) {
    response.destroy();
    if (status < 400) throw thrown;
    return { status, headers, retryAfterMs, body: new Uint8Array() };
  }
}

/** Uses events because they are faster than an async iterable, and every call goes through here. */
function readBody(response: IncomingMessage, limits: ReadLimits): Promise<CappedBody> {
  const { promise, resolve, reject } = Promise.withResolvers<CappedBody>();
  const collector = createResponseCollector(limits);
  response.on("data", (chunk: Uint8Array) => {
    try {
      collector.add(chunk);
    } catch (thrown) {
      reject(thrown);
      response.destroy();
    }
  });
  response.on("end", () => resolve(collector.end()));
  response.on("error", reject);
  return promise;
}

function codeOf(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null && "code" in thrown ? String(thrown.code) : "";
}

/** Shorter than the idle time of common peers (node:http: 5 s), because a write into a closing connection is ambiguous. */
const idleMs = 4000;

/** `url` must come from `parseCheckedUrl`. `refuse` decides which responses are not read (default: `checkResponseHead`). */
type AuthorizedRequest = AuthorizableRequest & Pick<SendOnceRequest, "maxResponseBytes" | "shortens" | "refuse">;

export type AuthorizedSend = {
  send(request: AuthorizedRequest): Promise<HttpResponse>;
  /** Closes idle connections. */
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
  const kept = { keepAlive: true, timeout: idleMs };
  const agents = { http: new HttpAgent(kept), https: new HttpsAgent(kept) };

  async function attempt({ method, url, headers: given, body, signal, refuse, ...reading }: AuthorizedRequest) {
    const headers = { ...given, "accept-encoding": "identity" };
    const added = await authorize(authorizer, { method, url, headers, body, signal });
    const agent = url.protocol === "https:" ? agents.https : agents.http;
    const response = await sendOnce({
      target: { ...urlToHttpOptions(url), method, agent, ...added.tls },
      headers: { ...headers, ...added.headers },
      body,
      signal,
      ...reading,
      nowMs: now(),
      connectTimeoutMs,
      refuse,
    }).catch((thrown) => {
      // A peer that refuses the certificate often closes the connection without a reason.
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
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Gets the credentials. A failure is `unavailable`, because nothing was sent yet, unless the authorizer rejects with another reason. */
async function authorize(authorizer: Authorizer, request: AuthorizableRequest): Promise<AddedCredentials> {
  try {
    const added = authorizer.authorize(request);
    return added instanceof Promise ? await abortable({ promise: added, signal: request.signal }) : added;
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
export function requestHeaders(request: Pick<TransportRequest, "sessionId" | "trace">): Record<string, string> {
  const { sessionId, trace } = request;
  return {
    "content-type": "application/json",
    accept: "application/json",
    [sessionHeader]: sessionId,
    ...createTraceHeaders(trace),
  };
}
