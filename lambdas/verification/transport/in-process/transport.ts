/** The Execution host of the same process, called as a function: web-standard Request in, Response out. */

import { SekishoError } from "../../../../contracts/errors.ts";
import { abortable, parseRetryAfter } from "../../../shared/async/waiting.ts";

import { requestHeaders } from "../http/transport.ts";
import { defaultMaxResponseBytes, readShortened } from "../read-response.ts";
import type { Transport } from "../transport.ts";

/** What the function throws, and what it has not answered when the signal aborts, is `ambiguous`: it had the request. */
export function createInProcessTransport({
  handle,
  path = "/",
  maxResponseBytes = defaultMaxResponseBytes,
  now = Date.now,
}: {
  handle: (request: Request) => Promise<Response>;
  path?: string;
  maxResponseBytes?: number;
  now?: () => number;
}): Transport {
  const url = new URL(path, "http://in-process");
  return {
    async send({ body, sessionId, signal, trace }) {
      if (signal.aborted) throw new SekishoError("unavailable", { cause: signal.reason, undelivered: true });
      try {
        // A copy, as over a wire: neither side sees what the other does to its bytes.
        const request = new Request(url, {
          method: "POST",
          headers: requestHeaders({ sessionId, trace }),
          body: body.slice(),
          signal,
        });
        const response = await abortable({ promise: handle(request), signal });
        return {
          status: response.status,
          retryAfterMs: parseRetryAfter({ header: response.headers.get("retry-after"), nowMs: now() }),
          ...(await readShortened({ stream: streamOf({ response, signal }), maxBytes: maxResponseBytes })),
        };
      } catch (thrown) {
        throw thrown instanceof SekishoError ? thrown : new SekishoError("ambiguous", { cause: thrown });
      }
    },
  };
}

async function* streamOf({ response, signal }: { response: Response; signal: AbortSignal }): AsyncIterable<Uint8Array> {
  if (response.body !== null)
    yield* response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal });
}
