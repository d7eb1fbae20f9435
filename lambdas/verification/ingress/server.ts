/** The Verification zone's HTTP server on one machine: Slack's events, a health check, and a page where one is given. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { close, listen } from "../../shared/http-server.ts";
import { type Log, silentLog } from "../../shared/log.ts";
import type { HeaderPairs } from "./headers.ts";
import { defaultMaxBodyBytes, type Ingress } from "./ingress.ts";
import { readBody } from "./read-body.ts";

/** Answers the request and resolves to true, or leaves it untouched and resolves to false. */
export type Page = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

export type VerificationServer = { url: string; port: number; close(): Promise<void> };

/**
 * Serves `POST /slack/events`, `GET /healthz`, everything else to `page` or 404. Listens on loopback unless another `hostname`
 * is asked for; port 0 takes a free one. Rejects with a message for a person where the port is taken. A client gets `headersTimeoutMs` for its
 * headers and `requestTimeoutMs` for the whole request; then node:http answers 408 and closes.
 */
export async function startVerificationServer({
  ingress,
  page = () => false,
  hostname = "127.0.0.1",
  port,
  log = silentLog,
  maxBodyBytes = defaultMaxBodyBytes,
  headersTimeoutMs = 5000,
  requestTimeoutMs = 10_000,
}: {
  ingress: Ingress;
  page?: Page;
  hostname?: string;
  port: number;
  log?: Log;
  maxBodyBytes?: number;
  headersTimeoutMs?: number;
  requestTimeoutMs?: number;
}): Promise<VerificationServer> {
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split("?", 1)[0];
    if (path === "/slack/events") {
      if (request.method !== "POST") return respond(response, 405, { allow: "POST" });
      const body = await readBody({ request, maxBytes: maxBodyBytes });
      if (body === undefined) return respond(response, 413, { connection: "close" });
      const answered = await ingress({ headers: headerPairs(request.rawHeaders), body });
      return respond(response, answered.status, answered.headers, answered.body);
    }
    if (path === "/healthz") {
      if (request.method !== "GET") return respond(response, 405, { allow: "GET" });
      return respond(response, 200);
    }
    if (!(await page(request, response))) respond(response, 404);
  }

  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
  });
  server.on("request", (request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A caller that hung up while it sent is no fault of ours, and there is nobody to answer.
      if (request.destroyed && !request.complete) return;
      log.error("request_failed", { cause_kind: error instanceof Error ? error.name : typeof error });
      if (response.headersSent) response.destroy();
      else respond(response, 500);
    });
  });
  const bound = await listen({ server, hostname, port, portSetting: "SEKISHO_PORT or --port" });
  const url = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${bound}`;
  return { url, port: bound, close: () => close(server) };
}

function respond(response: ServerResponse, status: number, headers: Record<string, string> = {}, body = ""): void {
  response.writeHead(status, { "cache-control": "no-store", ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

function headerPairs(rawHeaders: readonly string[]): HeaderPairs {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) pairs.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return pairs;
}
