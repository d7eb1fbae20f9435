/** A listener for a page or for metrics, apart from the zone's own port. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { closeServer, startListening } from "@sekisho/runtime/http/server.ts";
import type { Log } from "@sekisho/runtime/log.ts";

type PageServerOptions = {
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  hostname: string;
  port: number;
  /** Names the setting of the port in the message for a person if the port is taken. */
  portSetting: string;
  maxConnections: number;
  log: Log;
};

/** A failed answer is logged, and ends as 500. */
export async function startPageServer(
  options: PageServerOptions,
): Promise<{ port: number; close(): Promise<void> }> {
  const { answer, maxConnections, log, ...listener } = options;
  const server = createServer({
    headersTimeout: 5000,
    requestTimeout: 10_000,
    connectionsCheckingInterval: 1000,
  });
  server.maxConnections = maxConnections;
  server.on("request", (request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A browser that went away is not a failure, and there is nobody to answer.
      if (request.destroyed && !request.complete) return;
      log.error("request_failed", { cause_kind: errorKind(error) });
      if (response.headersSent) response.destroy();
      else response.writeHead(500, { "cache-control": "no-store" }).end();
    });
  });
  return { port: await startListening({ server, ...listener }), close: () => closeServer(server) };
}
