/** The web-standard rim: Request in, Response out. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Exchange, ExchangeResponse } from "./exchange.ts";
import { queryParameter } from "./query.ts";

export function webHandler(
  exchange: (exchange: Exchange) => Promise<ExchangeResponse>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const abort = new AbortController();
    const { status, headers, body } = await exchange({
      method: request.method,
      path: pathname,
      query: (name) => queryParameter({ search, name }),
      header: (name) => request.headers.get(name) ?? undefined,
      readBody: ({ maxBytes }) => collect({ body: request.body ?? noBody(), maxBytes }),
      canStream: true,
      get signal() {
        return AbortSignal.any([request.signal, abort.signal]);
      },
    });
    return new Response(bodyOf({ status, body, abort }), { status, headers });
  };
}

function bodyOf({ status, body, abort }: Pick<ExchangeResponse, "status" | "body"> & { abort: AbortController }) {
  if (typeof body !== "string") return streamOf({ pieces: body[Symbol.asyncIterator](), abort });
  // A Response of this status takes no body, not even an empty one.
  return status === 304 ? null : body;
}

/** Reads a piece when one is wanted, and no more once the stream is canceled. */
function streamOf({
  pieces,
  abort,
}: {
  pieces: AsyncIterator<string>;
  abort: AbortController;
}): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        abort.abort();
        await pieces.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

async function collect({ body, maxBytes }: { body: AsyncIterable<Uint8Array>; maxBytes: number }): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new SekishoError("payload_too_large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

async function* noBody(): AsyncGenerator<Uint8Array> {}
