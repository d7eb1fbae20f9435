/** `GET /metrics` of the Verification zone on one machine. Its own listener keeps it out of a tunnel to Slack's port. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { QueueDepth } from "@sekisho/runtime/engine/ports.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { ProcessTelemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import { isFromOwnPage, loopbackHosts } from "./web/guard.ts";
import { startPageServer } from "./web/page-server.ts";

/** Headers that proxies and tunnels add, even those that rewrite `Host` to this machine. */
const forwardHeaders = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

const maxConnections = 16;

type MetricsOptions = {
  telemetry: ProcessTelemetry | undefined;
  queueDepths?: (() => QueueDepth[]) | undefined;
  port: number;
  log: Log;
};

/**
 * Listens on loopback only; port 0 takes a free port. Answers 403 to web pages and to forwarded requests, and 404 if metrics
 * are off. Calls `queueDepths` at each read. Rejects with a message for the user if the port is taken.
 */
export async function startMetricsServer({
  telemetry,
  queueDepths = () => [],
  port,
  log,
}: MetricsOptions) {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isFromHere(request)) return respond(response, 403);
    if (request.url?.split("?", 1)[0] !== "/metrics") return respond(response, 404);
    if (request.method !== "GET" && request.method !== "HEAD")
      return respond(response, 405, { allow: "GET, HEAD" });
    for (const { queue, messages, oldestMs } of queueDepths()) {
      telemetry?.metrics.set("sekisho_queue_messages", { queue }, messages);
      telemetry?.metrics.set("sekisho_queue_oldest_seconds", { queue }, oldestMs / 1000);
    }
    const exposition = await telemetry?.exposition();
    if (exposition === undefined) return respond(response, 404);
    respond(
      response,
      200,
      { "content-type": exposition.contentType, "x-content-type-options": "nosniff" },
      exposition.body,
    );
  }

  const listener = {
    hostname: "127.0.0.1",
    port,
    portSetting: "SEKISHO_METRICS_PORT",
    maxConnections,
    log,
  };
  const { port: boundPort, close } = await startPageServer({ answer, ...listener });
  return { url: `http://${listener.hostname}:${boundPort}/metrics`, close };
}

function isFromHere({ headers, socket }: IncomingMessage): boolean {
  if (forwardHeaders.some((name) => headers[name] !== undefined)) return false;
  return isFromOwnPage({ method: "GET", headers, hosts: loopbackHosts(socket.localPort) });
}

function respond(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
  body = "",
): void {
  response.writeHead(status, {
    "cache-control": "no-store",
    ...headers,
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}
