/** Sends one HTTP request, reads its response within limits, and says whether the peer may have read the request. */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import { parseRetryAfter } from "@sekisho/runtime/async/waiting.ts";
import type { OutgoingRequest } from "@sekisho/runtime/auth/authorizer.ts";
import { type HttpClient, HttpError, type HttpHead } from "@sekisho/runtime/http/client.ts";
import type { ClientCertificate } from "@sekisho/runtime/http/connections.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { createResponseProblem } from "./peer-problem.ts";
import { createEventCollector, type TakeResponse, toTakeResponse } from "./read-events.ts";
import { createResponseCollector, maxShortening } from "./response-body.ts";
import { type CheckResponseHead, checkResponseHead, isEventStream } from "./response-head.ts";
import type { TransportResponse } from "./transport.ts";

export type SendOnceRequest = OutgoingRequest & {
  http: HttpClient;
  certificate?: ClientCertificate | undefined;
  maxResponseBytes: number;
  /** Cuts the long strings of a larger response instead of refusing it. */
  shortens?: boolean | undefined;
  /** Also reads a stream of events, up to its first JSON-RPC response, or as long as the function wants. */
  readsEvents?: boolean | TakeResponse | undefined;
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
  let isForeignStream = false;
  const collect = (receivedHead: HttpHead) => {
    head = receivedHead;
    const limit = shortens ? maxBytes * maxShortening : maxBytes;
    const mayStream = readsEvents !== false;
    const refusal = refuse({
      ...{ ...receivedHead, maxBytes: limit, sentRequest: request },
      readsEvents: mayStream,
    });
    const isStream = isEventStream(receivedHead.headers["content-type"]);
    // The first piece mostly says what protocol the stream is of.
    isForeignStream = refusal !== undefined && isStream && receivedHead.status < 300;
    if (isForeignStream) {
      const pieces: Uint8Array[] = [];
      const add = (chunk: Uint8Array) => void pieces.push(chunk);
      const end = () => ({ body: Buffer.concat(pieces) });
      return { add, isDone: () => pieces.length > 0, end };
    }
    if (refusal !== undefined) throw refusal;
    const takeResponse = toTakeResponse(readsEvents);
    return mayStream && isStream
      ? createEventCollector({ maxBytes, takeResponse })
      : createResponseCollector({ maxBytes, shortens });
  };
  const { body, ...responseHead } = await http
    .send({ ...request, collect })
    .catch((error: unknown) => {
      if (head !== undefined && head.status >= 400)
        return { ...head, body: { body: new Uint8Array() } };
      throw toSekishoError(error);
    });
  if (isForeignStream)
    throw new SekishoError("invalid_response", {
      cause: createResponseProblem({ ...responseHead, ...body }, "http"),
    });
  if (request.method === "POST" && mayBeCutOff({ ...responseHead, body: body.body }))
    throw new SekishoError("ambiguous");
  const retryAfterMs = parseRetryAfter({ header: responseHead.headers["retry-after"], nowMs });
  return { ...responseHead, retryAfterMs, ...body };
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

/** The error of a request that failed without a response. Other errors stay as they are. */
export function toSekishoError(error: unknown): unknown {
  if (!(error instanceof HttpError)) return error;
  const { kind, cause } = error;
  return new SekishoError(reasons[kind], {
    cause,
    certainty: kind === "unsent" ? "undelivered" : undefined,
  });
}
