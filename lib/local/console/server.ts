/** The operators' page on a listener of its own: a tunnel to the zone's port never leads to it. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, startListening } from "../../../lambdas/shared/http/server.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { errorKind } from "../../../lambdas/shared/telemetry/error-kind.ts";
import type { OperatorsPage } from "./operators-page.ts";

const maxConnections = 256;

export type OperateServer = { url: string; close(): Promise<void> };

/** Rejects with a message for a person where the port is taken. */
export async function startOperateServer({
  page,
  hostname,
  port,
  log,
}: {
  page: OperatorsPage;
  hostname: string;
  port: number;
  log: Log;
}): Promise<OperateServer> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (await page.handle(request, response)) return;
    response.writeHead(404).end();
  }

  const server = createServer({ headersTimeout: 5000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 });
  server.maxConnections = maxConnections;
  server.on("request", (request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A browser that left is no fault of ours, and there is nobody to answer.
      if (request.destroyed && !request.complete) return;
      log.error("request_failed", { cause_kind: errorKind(error) });
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
  const bound = await startListening({ server, hostname, port, portSetting: "--port" });
  return {
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${bound}`,
    async close() {
      page.close();
      await closeServer(server);
    },
  };
}
