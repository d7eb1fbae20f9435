/**
 * HTTP with an authorizer's credentials over kept connections: what every transport to a URL has in common, and the transport `https`
 * itself, for any Execution host behind a URL.
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

/** Throws for a URL that is not https (http on loopback) or that holds credentials. `createAuthorizedSend` describes 401 and 403. */
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
  const url = parseCheckedUrl(address);
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

/** The request options that node:http makes of the URL, and the client certificate. */
type SendTarget = RequestOptions & { agent: Agent };

type SendOnceRequest = {
  target: SendTarget;
  headers: Readonly<Record<string, string>>;
  /** Empty where the method has none. */
  body: Uint8Array;
  signal: AbortSignal;
  maxResponseBytes: number;
  /** A larger response is read without its long strings. */
  shortens?: boolean | undefined;
  nowMs: number;
  /** The limit for DNS, the connection and TLS together. */
  connectTimeoutMs?: number | undefined;
  refuse?: CheckResponseHead | undefined;
};

export type HttpResponse = TransportResponse & { status: number; headers: IncomingHttpHeaders };

/** Alerts of TLS about the client's certificate, as OpenSSL names them. */
const certificateRefusal = /^ERR_SSL_.+_ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)$/;

/**
 * `unavailable` where nothing of the request was written: no address, no connection, no TLS, or the signal came first.
 * From the moment that a connection stands, every failure is `ambiguous`, also a kept connection that the peer closed
 * just then: nobody knows how much of the request it had read. Only a peer that says it did not take the certificate has
 * certainly read nothing, although it says so after we may write (RFC 8446, section 4.4.2.4). What is not HTTP is
 * `invalid_response`.
 */
export async function sendOnce({
  target,
  headers,
  body,
  signal,
  maxResponseBytes,
  shortens = false,
  nowMs,
  connectTimeoutMs = 5000,
  refuse = checkResponseHead,
}: SendOnceRequest): Promise<HttpResponse> {
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
  // A peer that switches protocols unasked (101) ends the request without a response and without an error.
  request.once("close", () => responded.reject(new Error("closed")));
  request.end(body);

  try {
    return await read({ response: await responded.promise, maxResponseBytes, shortens, nowMs, refuse });
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

/** Reads the response. Where the status is a failure, it decides even if the body cannot be read. */
async function read({
  response,
  maxResponseBytes: maxBytes,
  shortens,
  nowMs,
  refuse,
}: {
  response: IncomingMessage;
  maxResponseBytes: number;
  shortens: boolean;
  nowMs: number;
  refuse: CheckResponseHead;
}): Promise<HttpResponse> {
  const { statusCode: status = 0, headers } = response;
  const retryAfterMs = parseRetryAfter({ header: headers["retry-after"], nowMs });
  try {
    const refusal = refuse({ status, headers, maxBytes: shortens ? maxBytes * maxShortening : maxBytes });
    if (refusal !== undefined) throw refusal;
    return { status, headers, retryAfterMs, ...(await readBody({ response, maxBytes, shortens })) };
  } catch (thrown) {
    response.destroy();
    if (status < 400) throw thrown;
    return { status, headers, retryAfterMs, body: new Uint8Array() };
  }
}

/** Uses events, which are faster than an async iterable: this is the hot path. */
function readBody({
  response,
  ...limits
}: {
  response: IncomingMessage;
  maxBytes: number;
  shortens: boolean;
}): Promise<CappedBody> {
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

/** Kept connections are dropped before common peers drop them (node:http after 5 s), since a write into a closing one is ambiguous. */
const idleMs = 4000;

/** `url` must come from `parseCheckedUrl`. `refuse` says which responses are not read (`checkResponseHead` where absent). */
type AuthorizedRequest = AuthorizableRequest & {
  maxResponseBytes: number;
  /** A larger response is read without its long strings. */
  shortens?: boolean;
  refuse?: CheckResponseHead;
};

export type AuthorizedSend = {
  send(request: AuthorizedRequest): Promise<HttpResponse>;
  /** Closes idle connections. */
  close(): void;
};

/**
 * `send` rejects as `sendOnce` does. `authorizer` is asked for each attempt; a 401 lets it forget what it kept and repeats the
 * request once, which is safe: a 401 says that nothing was processed. A 403 lets it forget as well, since AWS answers that for
 * a session that has ended, and others for a certificate; the answer stands.
 */
export function createAuthorizedSend({
  authorizer,
  connectTimeoutMs,
  now,
}: {
  authorizer: Authorizer;
  connectTimeoutMs: number | undefined;
  now: () => number;
}): AuthorizedSend {
  const options = { keepAlive: true, timeout: idleMs };
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) };

  async function attempt({ method, url, headers: given, body, signal, refuse, ...reading }: AuthorizedRequest) {
    const headers = { ...given, "accept-encoding": "identity" };
    const added = await authorize({ authorizer, request: { method, url, headers, body, signal } });
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
      // A peer that refuses the certificate ends the established connection, often without saying why.
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

/** Gets the credentials. Nothing was sent yet, so a failure is `unavailable` unless the authorizer rejects with another reason. */
async function authorize({
  authorizer,
  request,
}: {
  authorizer: Authorizer;
  request: AuthorizableRequest;
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

const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";

/** The headers that every HTTP transport sends with a request. */
export function requestHeaders({
  sessionId,
  trace,
}: Pick<TransportRequest, "sessionId" | "trace">): Record<string, string> {
  return {
    "content-type": "application/json",
    accept: "application/json",
    [sessionHeader]: sessionId,
    ...createTraceHeaders(trace),
  };
}
