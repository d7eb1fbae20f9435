/** An HTTP server on loopback with a web-standard handler, which may also reset connections and break bodies off. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createWebRequest } from "@sekisho/runtime/http/web-request.ts";

/** `target` is the request line's path and query, not normalized. `body` is the whole body. */
export type Received = { request: Request; target: string; body: Uint8Array<ArrayBuffer> };
export type WebServer = { url: string; close(): Promise<void> };

/** A handler throws it to reset the connection after reading the request. */
export const connectionReset = Symbol("connection reset");

/** A response body that fails cuts the connection. A client that hangs up aborts `request.signal`. */
export async function startWebServer({
  handle,
}: {
  handle: (call: Received) => Promise<Response>;
}): Promise<WebServer> {
  const server = createServer((incoming, outgoing) => {
    answer({ incoming, outgoing, handle }).catch(() => incoming.socket.resetAndDestroy());
  });
  keepConnections(server);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closing = Promise.withResolvers<void>();
      server.close(() => closing.resolve());
      server.closeAllConnections();
      await closing.promise;
    },
  };
}

/**
 * Keeps idle connections. By default a server closes one after five seconds, and on a busy machine a client may write into it at that
 * very moment.
 */
export function keepConnections(server: Server): void {
  server.keepAliveTimeout = 0;
}

async function answer({
  incoming,
  outgoing,
  handle,
}: {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  handle: (call: Received) => Promise<Response>;
}): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const target = incoming.url ?? "/";
  const request = createWebRequest(new URL(target, `http://${incoming.headers.host}`), {
    method: incoming.method ?? "GET",
    headers: pairs(incoming.rawHeaders),
    signal: gone.signal,
    ...(body.byteLength === 0 ? {} : { body }),
  });
  const response = await handle({ request, target, body });
  // AWS clients correct their clocks by this header. Node's own ignores a `Date` that a test has moved.
  const date = response.headers.has("date") ? [] : ["date", new Date().toUTCString()];
  outgoing.writeHead(response.status, [...[...response.headers].flat(), ...date]);
  outgoing.flushHeaders();
  for await (const chunk of response.body ?? []) {
    // Returning cancels the stream after the client has hung up. A slow client applies back pressure.
    if (outgoing.destroyed) return;
    if (!outgoing.write(chunk)) await once(outgoing, "drain", { signal: gone.signal });
  }
  outgoing.end();
}

function pairs(rawHeaders: readonly string[]): [string, string][] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, index) => [
    rawHeaders[2 * index] ?? "",
    rawHeaders[2 * index + 1] ?? "",
  ]);
}
