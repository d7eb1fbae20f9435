/** Calls the Execution host of the same process as a function that takes a web-standard Request and returns a Response. */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import { abortable, parseRetryAfter } from "@sekisho/runtime/async/waiting.ts";
import { requestHeaders } from "../http/transport.ts";
import { defaultMaxResponseBytes, readShortened } from "../response-body.ts";
import type { Transport } from "../transport.ts";

/** Rejects with `ambiguous` if `handle` throws, or is not done when the signal aborts, because the request had arrived. */
export function createInProcessTransport(options: {
  handle: (request: Request) => Promise<Response>;
  maxResponseBytes?: number;
}): Transport {
  const { handle, maxResponseBytes = defaultMaxResponseBytes } = options;
  return {
    async send({ body, sessionId, signal, trace }) {
      if (signal.aborted)
        throw new SekishoError("unavailable", { cause: signal.reason, certainty: "undelivered" });
      try {
        // Copies the bytes, so that neither side sees what the other does to its buffer.
        const request = new Request("http://in-process/", {
          method: "POST",
          headers: requestHeaders({ sessionId, trace }),
          body: body.slice(),
          signal,
        });
        const response = await abortable({ promise: handle(request), signal });
        return {
          status: response.status,
          retryAfterMs: parseRetryAfter({
            header: response.headers.get("retry-after"),
            nowMs: Date.now(),
          }),
          ...(await readShortened(readStream(response, signal), maxResponseBytes)),
        };
      } catch (error) {
        throw error instanceof SekishoError
          ? error
          : new SekishoError("ambiguous", { cause: error });
      }
    },
  };
}

async function* readStream(response: Response, signal: AbortSignal): AsyncIterable<Uint8Array> {
  if (response.body !== null)
    yield* response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
}
