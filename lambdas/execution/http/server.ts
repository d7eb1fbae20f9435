/** The Execution zone's HTTP server, for a machine, a container or AgentCore. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { readBoundedMessage } from "@sekisho/runtime/http/read-body.ts";
import { closeServer, startListening } from "@sekisho/runtime/http/server.ts";
import { createConnectionLimit } from "@sekisho/runtime/http/server-limits.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import type { Authenticator } from "../authenticator/authenticator.ts";
import type { Exchange, ExchangeResponse } from "../exchange.ts";
import { readQueryParameter } from "./function-url-event.ts";

/** The part of the host that a server uses. */
export type ServedHost = {
  exchange(exchange: Exchange): Promise<ExchangeResponse>;
  /** How callers are authenticated. A server that listens beyond loopback refuses "none". */
  authenticatorKind: Authenticator["kind"];
};

export type ExecutionServer = { url: string; port: number; close(): Promise<void> };

/** The limits for a client's headers and its whole request. The host limits the body to less than this. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Longer than clients keep connections, so that the client closes them first. A race would break requests. */
const keepAliveTimeoutMs = 65_000;
/** After an early answer, the rest of the request is read and dropped for this long. */
const lingerMs = 1000;
/** A client that reads nothing of its stream for this long is disconnected. */
const defaultStallMs = 60_000;
/** Enough for the runs and open calls of two callers at their limits. */
const defaultMaxConnections = 4096;
/** For connections without an admitted request: idle ones, and those of clients that are not known yet. */
const defaultMaxWaitingConnections = 1024;

/**
 * Listens on loopback by default; another `hostname` needs an authenticator that identifies callers. Port 0 selects a free port. Rejects
 * with a message for a person. A client that disconnects does not cancel its task. `close` ends streams and lets other answers finish.
 *
 * There are at most `maxConnections`, of which `maxWaitingConnections` may have no whole request of an admitted caller. Above that, the
 * one that has waited longest is closed, or the new one if none waits.
 */
export async function startExecutionServer(options: {
  host: ServedHost;
  hostname?: string;
  port: number;
  /** How to choose another port, for the message when this one is in use. */
  portSetting?: string;
  /** The principal of all callers, if a platform in front of this server authenticates them. */
  platformPrincipal?: string;
  stallMs?: number;
  maxConnections?: number;
  maxWaitingConnections?: number;
  /** Answers a request for people and returns true, or does nothing and returns false. */
  page?: (request: IncomingMessage, response: ServerResponse) => boolean;
  log?: Log;
}): Promise<ExecutionServer> {
  const {
    host,
    hostname = "127.0.0.1",
    port,
    portSetting = "SEKISHO_EXECUTION_PORT or --port",
  } = options;
  const { platformPrincipal, stallMs, page = () => false, log = silentLog } = options;
  const {
    maxConnections = defaultMaxConnections,
    maxWaitingConnections = defaultMaxWaitingConnections,
  } = options;
  const urlHost = hostname.includes(":") ? `[${hostname}]` : hostname;
  const { authenticatorKind } = host;
  const isKnown =
    authenticatorKind === "platform"
      ? platformPrincipal !== undefined
      : authenticatorKind !== "none";
  if (!isKnown && !isLoopbackHost(urlHost)) {
    const safeKinds =
      '"bearer", "jwt" or "web-identity" (or "platform" if the platform authenticates every caller)';
    const remedy = `Set execution.authenticator to ${safeKinds}, or listen on 127.0.0.1.`;
    throw new Error(
      `Anyone could run tasks on ${hostname}: the authenticator is "${authenticatorKind}". ${remedy}`,
    );
  }
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: 1000,
    maxHeaderSize: 16 * 1024,
  });
  const closeController = new AbortController();
  const connections = createConnectionLimit({
    max: maxConnections,
    maxWaiting: maxWaitingConnections,
  });
  server.on("connection", connections.add);
  const listener = {
    host,
    platformPrincipal,
    stallMs,
    closeSignal: closeController.signal,
    connections,
    log,
  };
  const serveHost = createRequestListener(listener);
  server.on("request", (request, response) => {
    if (!page(request, response)) serveHost(request, response);
  });
  const boundPort = await startListening({ server, hostname, port, portSetting });
  return {
    url: `http://${urlHost}:${boundPort}`,
    port: boundPort,
    close() {
      closeController.abort();
      return closeServer(server);
    },
  };
}

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void;

type ListenerOptions = {
  host: Pick<ServedHost, "exchange">;
  platformPrincipal?: string | undefined;
  stallMs?: number | undefined;
  /** Ends streams. */
  closeSignal: AbortSignal;
  /** Keeps connections open while an admitted request is answered. Without it, the connections are the caller's business. */
  connections?: ConnectionProtection;
  log: Log;
};

type ConnectionProtection = Pick<ReturnType<typeof createConnectionLimit>, "protect">;
const noProtection: ConnectionProtection = { protect: () => () => {} };

/** Serves `request.url`. Nothing may have read the body before, such as the body parser of a framework. */
export function createRequestListener(options: ListenerOptions): RequestListener {
  const {
    host,
    platformPrincipal,
    stallMs = defaultStallMs,
    closeSignal,
    connections = noProtection,
    log,
  } = options;
  return (request, response) => {
    answer({ host, platformPrincipal, stallMs, closeSignal, connections, request, response }).catch(
      (error: unknown) => {
        log.error("request_failed", { cause_kind: errorKind(error) });
        response.destroy();
      },
    );
  };
}

type ServerRequest = {
  host: Pick<ServedHost, "exchange">;
  platformPrincipal: string | undefined;
  stallMs: number;
  closeSignal: AbortSignal;
  connections: ConnectionProtection;
  request: IncomingMessage;
  response: ServerResponse;
};

async function answer(serverRequest: ServerRequest): Promise<void> {
  const { connections, request } = serverRequest;
  let unprotect = () => {};
  const onBody = () => {
    unprotect = connections.protect(request.socket);
  };
  try {
    await respond({ ...serverRequest, onBody });
  } finally {
    unprotect();
  }
}

async function respond(serverRequest: ServerRequest & { onBody: () => void }): Promise<void> {
  const { host, stallMs, closeSignal, request, response } = serverRequest;
  const { status, headers, body } = await host.exchange(createExchange(serverRequest));
  if (typeof body === "string") {
    // The length beside a 304 would be that of the omitted body (RFC 9110, section 8.6).
    response.writeHead(
      status,
      status === 304 ? headers : { ...headers, "content-length": Buffer.byteLength(body) },
    );
    response.end(body);
  } else {
    response.writeHead(status, headers);
    await streamResponse({ response, pieces: body, stallMs });
    // An idle connection would delay the close.
    if (closeSignal.aborted) request.socket.end();
  }
  if (!request.complete) linger(request);
}

/** `onBody` is called when the whole body of an admitted caller has arrived. */
function createExchange(serverRequest: ServerRequest & { onBody: () => void }): Exchange {
  const { platformPrincipal, closeSignal, request, response, onBody } = serverRequest;
  const { method = "", url = "" } = request;
  const search = url.indexOf("?");
  return {
    method,
    path: search === -1 ? url : url.slice(0, search),
    query: (name) =>
      search === -1 ? undefined : readQueryParameter({ search: url.slice(search), name }),
    header: (name) => readHeader(request, name),
    platformPrincipal,
    sourceAddress: request.socket.remoteAddress,
    readBody(limits) {
      if (request.readableEnded) {
        const message = "The body was read before, perhaps by the body parser of a framework.";
        throw Object.assign(new Error(message), { code: "ERR_BODY_ALREADY_READ" });
      }
      return readBoundedMessage({ message: request, ...limits }).then((body) => {
        if (typeof body !== "string") onBody();
        return body;
      });
    },
    canStream: true,
    openSignal() {
      const disconnect = new AbortController();
      if (response.destroyed) disconnect.abort();
      else response.once("close", () => disconnect.abort());
      return AbortSignal.any([disconnect.signal, closeSignal]);
    },
  };
}

/** Closing the connection at once could reset it before the client has read the answer (RFC 9112, section 9.6). */
function linger(request: IncomingMessage): void {
  const { socket } = request;
  const timer = setTimeout(() => request.destroy(), lingerMs);
  // After the answer, the request emits no event when the connection ends, but its socket does.
  const endLingering = () => {
    clearTimeout(timer);
    socket.off("close", endLingering);
  };
  socket.once("close", endLingering);
  request.once("close", endLingering);
  request.resume();
}

function readHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/**
 * Resolves when all is written, when the client disconnects, or when it has read nothing for `stallMs` and is disconnected. In each case
 * `pieces` is read to its end or returned. Rejects as `pieces` does.
 */
async function streamResponse(request: {
  response: ServerResponse;
  pieces: AsyncIterable<string>;
  stallMs: number;
}): Promise<void> {
  const { response, pieces, stallMs } = request;
  for await (const piece of pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await waitForDrain({ response, stallMs });
  }
  response.end();
}

/** Resolves when more can be written or the connection is closed. */
async function waitForDrain({
  response,
  stallMs,
}: {
  response: ServerResponse;
  stallMs: number;
}): Promise<void> {
  const waitEnd = new AbortController();
  const { signal } = waitEnd;
  const stallTimer = setTimeout(() => response.destroy(), stallMs);
  try {
    await Promise.race([once(response, "drain", { signal }), once(response, "close", { signal })]);
  } finally {
    clearTimeout(stallTimer);
    waitEnd.abort();
  }
}
