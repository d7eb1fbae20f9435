/** What a test opens, closed when the test is over, the latest first. Importing this file installs the hook. */
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { afterEach } from "@jest/globals";
import { type Received, startWebServer } from "./web-server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

export function closeAfterTest<T extends { close?(): unknown }>(opened: T): T {
  closing.push(() => opened.close?.());
  return opened;
}

/** Lets a server listen on loopback. Resolves to its port. */
export async function listen(server: Server & { closeAllConnections?(): void }): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections?.();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A web server that keeps what it received. */
export async function serve(handle: (call: Received) => Response | Promise<Response>) {
  const requests: Received[] = [];
  const { url } = closeAfterTest(
    await startWebServer({
      async handle(request) {
        requests.push(request);
        return handle(request);
      },
    }),
  );
  return { url, received: requests };
}
