/** The web-standard rim: Request in, Response out. */
import type { Exchange, ExchangeResponse } from "./exchange.ts";

export function webHandler(
  exchange: (exchange: Exchange) => Promise<ExchangeResponse>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, headers, body } = await exchange({
      method: request.method,
      path: new URL(request.url).pathname,
      header: (name) => request.headers.get(name) ?? undefined,
      body: request.body ?? noBody(),
    });
    return new Response(body, { status, headers });
  };
}

async function* noBody(): AsyncGenerator<Uint8Array> {}
