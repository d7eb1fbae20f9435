/** Calls the Execution host of the same process as a function that takes a web-standard Request and returns a Response. */

import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { abortable, parseRetryAfter } from "@sekisho/runtime/async/waiting.ts";
import { createWebRequest } from "@sekisho/runtime/http/web-request.ts";
import { type Carrier, maxCardBytes } from "../carrier.ts";
import { requestHeaders } from "../http/transport.ts";
import { readEventResponse, toTakeResponse } from "../read-events.ts";
import { type CappedBody, defaultMaxResponseBytes, readShortened } from "../response-body.ts";
import { isEventStream } from "../response-head.ts";

/** The function itself is the address, so the one in the card is not followed. */
const url = new URL("http://in-process/");
const cardUrl = new URL(agentCardPath, url);
const cardTimeoutMs = 5000;

/** Rejects with `ambiguous` if `handle` throws, or is not done when the signal aborts, because the request had arrived. */
export function createInProcessTransport(options: {
  handle: (request: Request) => Promise<Response>;
  maxResponseBytes?: number;
}): Carrier {
  const { handle, maxResponseBytes = defaultMaxResponseBytes } = options;

  async function exchange(request: {
    /** Copied, so that neither side sees what the other does to its buffer. */
    body?: Uint8Array;
    headers: Record<string, string>;
    signal: AbortSignal;
    read: (response: Response, stream: AsyncIterable<Uint8Array>) => Promise<CappedBody>;
  }) {
    const { body, headers, signal, read } = request;
    if (signal.aborted)
      throw new SekishoError("unavailable", { cause: signal.reason, certainty: "undelivered" });
    try {
      const webRequest =
        body === undefined
          ? createWebRequest(cardUrl, { headers, signal })
          : createWebRequest(url, { method: "POST", headers, body: body.slice(), signal });
      const response = await abortable({ promise: handle(webRequest), signal });
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        retryAfterMs: parseRetryAfter({
          header: response.headers.get("retry-after"),
          nowMs: Date.now(),
        }),
        ...(await read(response, readStream(response, signal))),
      };
    } catch (error) {
      throw error instanceof SekishoError ? error : new SekishoError("ambiguous", { cause: error });
    }
  }

  return {
    url,
    cardUrl,
    bindings: ["JSONRPC"],
    cardTimeoutMs,
    async send({ body, sessionId, signal, trace, headers: protocolHeaders, readsEvents }) {
      const { headers: _headers, ...response } = await exchange({
        body,
        headers: { ...requestHeaders({ sessionId, trace }), ...protocolHeaders },
        signal,
        read: ({ headers }, stream) =>
          readsEvents && isEventStream(headers.get("content-type"))
            ? readEventResponse(stream, {
                maxBytes: maxResponseBytes,
                takeResponse: toTakeResponse(readsEvents),
              })
            : readShortened(stream, maxResponseBytes),
      });
      return response;
    },
    readCard: ({ version, etag, signal }) =>
      exchange({
        headers: { "a2a-version": version, ...(etag && { "if-none-match": etag }) },
        signal,
        read: (_response, stream) => readShortened(stream, maxCardBytes),
      }),
  };
}

async function* readStream(response: Response, signal: AbortSignal): AsyncIterable<Uint8Array> {
  if (response.body !== null)
    yield* response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
}
