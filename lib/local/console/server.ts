/** Where the operators' page is served: on a listener of its own, or beside the local page. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, startListening } from "../../../lambdas/shared/http/server.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { errorKind } from "../../../lambdas/shared/telemetry/error-kind.ts";
import type { Door } from "../web/door.ts";
import type { Site } from "../web/site.ts";
import { type LocalRun, openLocalSource } from "./open-source.ts";
import { createOperatorsPage, type OperatorsPage } from "./operators-page.ts";

const maxConnections = 256;

export type OperateServer = { url: string; close(): Promise<void> };

/**
 * Starts a listener for the page alone, so that a tunnel to the zone's port never leads to it. Rejects with a message for a person if
 * the port is taken.
 */
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
      // A browser that went away is not a failure, and there is nobody to answer.
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

/** Call `close` before the server's, so that open streams do not hold it up. */
export type PageBesideRun = Site & { close(): Promise<void> };

/** Opens the page for the server of the local page. The run must have created the `store`. */
export function openPageBesideRun({ door, log, ...run }: LocalRun & { door: Door; log: Log }): PageBesideRun {
  const stop = new AbortController();
  const source = openLocalSource({ ...run, signal: stop.signal });
  const { handle, close } = createOperatorsPage({ source, admission: door, log });
  return {
    handle,
    async close() {
      close();
      stop.abort();
      await source.close();
    },
  };
}
