/** The health check of a container against servers that are well, unwell, silent, or at a port that browsers avoid. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { checkHealth } from "@sekisho/execution/http/health.ts";

const hostname = "127.0.0.1";
let open: Server[] = [];
afterEach(async () => {
  for (const server of open) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  open = [];
});

/** Resolves to the first of the ports that is free. */
async function listen(
  answer: RequestListener,
  [port = 0, ...others]: number[] = [],
): Promise<number> {
  const server = createServer(answer).listen(port, hostname);
  const isListening = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (!isListening) return listen(answer, others);
  open.push(server);
  return (server.address() as AddressInfo).port;
}

const well: RequestListener = ({ url }, response) =>
  response.writeHead(url === "/healthz" ? 200 : 404).end("{}");

describe("the health check", () => {
  it("checks on loopback a server that listens on every interface", async () => {
    const port = await listen(well);
    await expect(checkHealth({ hostname: "0.0.0.0", port })).resolves.toBeUndefined();
  });

  it("checks also ports that browsers block", async () => {
    const port = await listen(
      well,
      [6000, 10080, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 5060, 5061, 4190],
    );
    await expect(fetch(`http://${hostname}:${port}/healthz`)).rejects.toMatchObject({
      cause: { message: "bad port" },
    });
    await expect(checkHealth({ hostname, port })).resolves.toBeUndefined();
  });

  it("does not wait for the end of the response", async () => {
    const port = await listen((_request, response) => response.writeHead(200).write("{"));
    await expect(checkHealth({ hostname, port })).resolves.toBeUndefined();
  });

  it.each([503, 302])("reports HTTP %d as unhealthy and follows no redirect", async (status) => {
    const port = await listen(({ url }, response) =>
      response.writeHead(url === "/healthz" ? status : 200, { location: "/" }).end(),
    );
    await expect(checkHealth({ hostname, port })).rejects.toThrow(
      `http://${hostname}:${port}/healthz answers ${status}.`,
    );
  });

  it.each<[string, RequestListener]>([
    ["sends nothing", () => {}],
    ["closes the connection", ({ socket }) => socket.destroy()],
  ])("reports a server that %s as not answering", async (_what, answer) => {
    const port = await listen(answer);
    await expect(checkHealth({ hostname, port, timeoutMs: 100 })).rejects.toThrow(
      /healthz does not answer\.$/,
    );
  });
});
