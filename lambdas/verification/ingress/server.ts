/**
 * The Verification zone's HTTP server on one machine: Slack's events, a health check and an optional page, within limits on memory and
 * connections.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { type BodyRefusal, readRequestBody } from "@sekisho/runtime/http/read-body.ts";
import { closeServer, startListening } from "@sekisho/runtime/http/server.ts";
import {
  type BodyShare,
  createBodyBudget,
  createConnectionLimit,
  defaultMaxHeldBytes,
} from "@sekisho/runtime/http/server-limits.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import type { HeaderPairs } from "./authenticate.ts";
import { defaultMaxBodyBytes, type Ingress } from "./ingress.ts";

/** Answers the request and resolves to true, or does not touch it and resolves to false. */
export type Page = (
  request: IncomingMessage,
  response: ServerResponse,
) => boolean | Promise<boolean>;

const defaultMaxConnections = 256;

export type VerificationServer = { url: string; port: number; close(): Promise<void> };

/**
 * Serves `POST /slack/events` and `GET /healthz`, and passes everything else to `page`, or answers 404. Port 0 takes a free one. Rejects
 * with a message for the user if the port is taken. A client gets `headersTimeoutMs` for its headers and `requestTimeoutMs` for the whole
 * request. After that node:http answers 408 and closes. Request bodies hold at most `maxHeldBytes` together. Above that, or above
 * `maxConnections`, the oldest connection whose request is still incomplete is closed. If there is none, a new body gets 503 and a new
 * connection is closed.
 */
export async function startVerificationServer(options: {
  ingress: Ingress;
  page?: Page;
  hostname?: string;
  port: number;
  /** How to choose another port, for the message when this one is in use. */
  portSetting?: string;
  log?: Log;
  maxBodyBytes?: number;
  maxHeldBytes?: number;
  maxConnections?: number;
  headersTimeoutMs?: number;
  requestTimeoutMs?: number;
}): Promise<VerificationServer> {
  const { ingress, page = () => false, hostname = "127.0.0.1", port, log = silentLog } = options;
  const { portSetting = "SEKISHO_PORT or --port" } = options;
  const { maxBodyBytes = defaultMaxBodyBytes, maxHeldBytes = defaultMaxHeldBytes } = options;
  const {
    maxConnections = defaultMaxConnections,
    headersTimeoutMs = 5000,
    requestTimeoutMs = 10_000,
  } = options;
  const budget = createBodyBudget({ maxBytes: maxHeldBytes });
  const connections = createConnectionLimit({ max: maxConnections });

  async function answerEvent(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const share = budget.openShare({ owner: "slack", cutOff: () => request.destroy(new CutOff()) });
    let unprotect = () => {};
    try {
      const { status, headers, body } = await ingress({
        headers: headerPairs(request.rawHeaders),
        sourceAddress: request.socket.remoteAddress,
        async body() {
          const readResult = await readWithin(request, share, maxBodyBytes);
          if (typeof readResult !== "string") unprotect = connections.protect(request.socket);
          return readResult;
        },
      });
      if (request.errored instanceof CutOff) return;
      // Closes the connection, so that the rest of a refused body is not read.
      respond(
        response,
        status,
        request.complete ? headers : { ...headers, connection: "close" },
        body,
      );
    } finally {
      share.release();
      unprotect();
    }
  }

  /** Protects the connection of a GET, which has no body and whose response, such as a file, may take long. */
  async function showPage(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const unprotect = request.method === "GET" ? connections.protect(request.socket) : () => {};
    try {
      return await page(request, response);
    } finally {
      unprotect();
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split("?", 1)[0];
    if (path === "/slack/events") {
      if (request.method !== "POST") return respond(response, 405, { allow: "POST" });
      return answerEvent(request, response);
    }
    if (path === "/healthz") {
      if (request.method !== "GET") return respond(response, 405, { allow: "GET" });
      return respond(response, 200);
    }
    if (!(await showPage(request, response))) respond(response, 404);
  }

  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
  });
  server.on("connection", connections.add);
  server.on("request", (request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A caller that hung up while sending the request is not a failure of the server.
      if (request.destroyed && !request.complete) return;
      log.error("request_failed", { cause_kind: errorKind(error) });
      if (response.headersSent) response.destroy();
      else respond(response, 500);
    });
  });
  const boundPort = await startListening({ server, hostname, port, portSetting });
  const url = `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${boundPort}`;
  return { url, port: boundPort, close: () => closeServer(server) };
}

/** The error of a request that was cut off to make room for newer ones. */
class CutOff extends Error {}

async function readWithin(
  request: IncomingMessage,
  share: BodyShare,
  maxBytes: number,
): Promise<Uint8Array | BodyRefusal> {
  try {
    const body = await readRequestBody({ request, maxBytes, reserve: share.reserve });
    if (typeof body !== "string") share.complete();
    return body;
  } catch (error) {
    if (error instanceof CutOff) return "busy";
    throw error;
  }
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

function headerPairs(rawHeaders: readonly string[]): HeaderPairs {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    pairs.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return pairs;
}
