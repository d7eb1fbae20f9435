/** `GET /metrics` of the Verification zone on one machine: to whoever is on it, and to nobody who comes through a tunnel. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { QueueDepth } from "../../lambdas/shared/engine/ports.ts";
import type { ProcessTelemetry } from "../../lambdas/shared/telemetry/telemetry.ts";
import type { Page } from "../../lambdas/verification/ingress/server.ts";
import { refusalOf } from "../web/guard.ts";
import { one } from "../web/request.ts";

/** What proxies and tunnels add, even those that put the address of this machine in the place of their own. */
const forwarded = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

/** 403 to others, 404 where metrics are switched off. `queueDepths` is asked at each read. */
export function createMetricsPage({
  telemetry,
  queueDepths = () => [],
}: {
  telemetry: ProcessTelemetry | undefined;
  queueDepths?: (() => QueueDepth[]) | undefined;
}): Page {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isFromHere(request)) return respond(response, 403);
    if (request.method !== "GET" && request.method !== "HEAD") return respond(response, 405, { allow: "GET, HEAD" });
    for (const { queue, messages, oldestMs } of queueDepths()) {
      telemetry?.metrics.set("sekisho_queue_messages", { queue }, messages);
      telemetry?.metrics.set("sekisho_queue_oldest_seconds", { queue }, oldestMs / 1000);
    }
    const shown = await telemetry?.exposition();
    if (shown === undefined) return respond(response, 404);
    respond(response, 200, { "content-type": shown.contentType, "x-content-type-options": "nosniff" }, shown.body);
  }

  return async (request, response) => {
    if (request.url?.split("?", 1)[0] !== "/metrics") return false;
    await answer(request, response);
    return true;
  };
}

function isFromHere({ headers, socket }: IncomingMessage): boolean {
  if (forwarded.some((name) => headers[name] !== undefined)) return false;
  const { host, origin } = headers;
  const fetchSite = one(headers["sec-fetch-site"]);
  return refusalOf({ method: "GET", host, origin, fetchSite, port: socket.localPort }) === undefined;
}

function respond(response: ServerResponse, status: number, headers: Record<string, string> = {}, body = ""): void {
  response.writeHead(status, { "cache-control": "no-store", ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
