/**
 * Sends HTTP requests with an authorizer's credentials over kept-alive connections. Every transport to a URL uses it. The transport
 * `https`, for any Execution host behind a URL, is here too.
 */

import { isUndelivered } from "@sekisho/contracts/certainty.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import {
  type AddedCredentials,
  type Authorizer,
  type OutgoingRequest,
  parseCheckedUrl,
} from "@sekisho/runtime/auth/authorizer.ts";
import { createHttpClient, isCertificateRefused } from "@sekisho/runtime/http/client.ts";
import { createTraceHeaders } from "@sekisho/runtime/telemetry/telemetry.ts";
import { defaultMaxResponseBytes } from "../response-body.ts";
import { type HttpResponse, type SendOnceRequest, sendOnce } from "../send-once.ts";
import type { Transport, TransportRequest } from "../transport.ts";

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
    async send({ body, sessionId, asker, signal, trace }) {
      const headers = requestHeaders({ sessionId, trace });
      const readLimits = { signal, maxResponseBytes, shortens: true };
      const { headers: _headers, ...response } = await http.send({
        method: "POST",
        url,
        headers,
        body,
        asker,
        ...readLimits,
      });
      return response;
    },
    async close() {
      http.close();
    },
  };
}

/** `url` must come from `parseCheckedUrl`. `refuse` decides which responses are not read (default: `checkResponseHead`). */
type AuthorizedRequest = OutgoingRequest &
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

  async function attempt({ headers: callerHeaders, ...request }: AuthorizedRequest) {
    const { method, url, body, asker, signal } = request;
    const headers = { ...callerHeaders, "accept-encoding": "identity" };
    const credentials = await authorize(authorizer, { method, url, headers, body, asker, signal });
    const response = await sendOnce({
      ...request,
      http,
      headers: { ...headers, ...credentials.headers },
      certificate: credentials.tls,
      nowMs: now(),
    }).catch((error) => {
      // A peer that refuses the certificate often closes the connection without a reason.
      const isRefused =
        error instanceof SekishoError &&
        (!isUndelivered(error) || isCertificateRefused(error.cause));
      if (credentials.tls !== undefined && isRefused && !signal.aborted)
        authorizer.refresh?.(credentials);
      throw error;
    });
    return { response, credentials };
  }

  return {
    async send(request) {
      const { response, credentials } = await attempt(request);
      if (response.status !== 401 && response.status !== 403) return response;
      authorizer.refresh?.(credentials);
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
  request: OutgoingRequest,
): Promise<AddedCredentials> {
  try {
    const credentials = authorizer.authorize(request);
    return credentials instanceof Promise
      ? await abortable({ promise: credentials, signal: request.signal })
      : credentials;
  } catch (error) {
    throw error instanceof SekishoError
      ? error
      : new SekishoError("unavailable", { cause: error, certainty: "undelivered" });
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
