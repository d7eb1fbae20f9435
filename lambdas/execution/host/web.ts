/** The web-standard rim: Request in, Response out. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Exchange, ExchangeResponse } from "./exchange.ts";

export function webHandler(
  exchange: (exchange: Exchange) => Promise<ExchangeResponse>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, headers, body } = await exchange({
      method: request.method,
      path: new URL(request.url).pathname,
      header: (name) => request.headers.get(name) ?? undefined,
      readBody: ({ maxBytes }) => collect({ body: request.body ?? noBody(), maxBytes }),
    });
    return new Response(body, { status, headers });
  };
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
