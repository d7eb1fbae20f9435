/** A server on a free port of loopback. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Route = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Resolves to the address, below which each route has its path. */
export async function listen(routes: Readonly<Record<string, Route>>): Promise<string> {
  const server = createServer((request, response) => {
    const route = routes[request.url ?? ""];
    if (route === undefined) response.writeHead(404).end();
    else
      route(request, response).catch((error: unknown) => {
        console.error(error);
        response.destroy();
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
