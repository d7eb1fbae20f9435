/** The routes of the host: maps each path to its protocols or its page, and adapts web-standard requests. */

import { agentCardPath } from "@sekisho/contracts/a2a/card.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { readWebBody } from "@sekisho/runtime/http/read-body.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { ProcessTelemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { ServedCards } from "../a2a/cards.ts";
import type { A2aEndpoint } from "../a2a/endpoint.ts";
import { readRequestedVersion } from "../a2a/version.ts";
import type { AdmitCaller } from "../authenticator/authenticator.ts";
import {
  createEmptyAnswer,
  createJsonAnswer,
  type Exchange,
  type ExchangeResponse,
} from "../exchange.ts";
import { openRpc } from "../methods/methods.ts";
import type { Activity } from "../runs/activity.ts";
import { createPostHandler, type PathProtocols, type PostSettings } from "./answer-post.ts";
import { readQueryParameter } from "./function-url-event.ts";

type Settings = PostSettings & {
  /** Without it, the host serves no A2A. */
  a2a: { endpoint: A2aEndpoint; card: ServedCards["endpoint"] } | undefined;
  /** More paths that serve the zone contract, each with the dialect of its errors. */
  dialects: Readonly<Record<string, Dialect>>;
  hidesStatus: boolean;
  activity: () => Activity;
  exposition: Exposition;
};

/** The current path, and the path up to protocol version 0.2. */
const cardPaths: readonly string[] = [agentCardPath, "/.well-known/agent.json"];

/** Never rejects. `POST /invocations` always answers 200, because AgentCore replaces the body of any other status. With `hidesStatus`, every POST does. */
export function createRoutes(options: Settings): (exchange: Exchange) => Promise<ExchangeResponse> {
  const { a2a, dialects, hidesStatus, activity, exposition, ...settings } = options;
  const post = createPostHandler(settings);
  const a2aEndpoint = a2a?.endpoint;
  const faces = new Map<string, PathProtocols>([
    ...Object.entries(dialects).map(([path, dialect]): [string, PathProtocols] => [
      path,
      { zoneDialect: dialect },
    ]),
    ["/", { zoneDialect: "zone", a2a: a2aEndpoint }],
    ["/invocations", { zoneDialect: "zone", a2a: a2aEndpoint }],
  ]);
  const pages = new Map<
    string,
    (exchange: Exchange) => ExchangeResponse | Promise<ExchangeResponse>
  >([
    // Only a caller that the platform has authenticated learns whether an agent is running.
    [
      "/ping",
      ({ platformPrincipal: principal }) =>
        createJsonAnswer(principal === undefined ? { status: "Healthy" } : toPing(activity())),
    ],
    ["/healthz", () => createJsonAnswer({ status: "ok" })],
    ["/openrpc.json", () => createJsonAnswer(openRpc())],
    ["/metrics", createMetricsPage({ ...settings, exposition })],
  ]);
  if (a2a !== undefined) {
    // Some clients add a slash when they join URLs.
    for (const path of ["/a2a", "/a2a/"]) faces.set(path, { a2a: a2a.endpoint });
    const card = (exchange: Exchange) =>
      a2a.card({ version: readRequestedVersion(exchange), header: exchange.header });
    for (const path of cardPaths) pages.set(path, card);
  }

  async function servePage(exchange: Exchange): Promise<ExchangeResponse> {
    const { method, path } = exchange;
    const page = pages.get(path);
    if (page === undefined) return createEmptyAnswer({ status: 404 });
    // A response to HEAD has the headers of GET; the server leaves out the body (RFC 9110, section 9.3.2).
    return method === "GET" || method === "HEAD"
      ? page(exchange)
      : createEmptyAnswer({ status: 405, allow: "GET, HEAD" });
  }

  return (exchange) => {
    const { method, path } = exchange;
    const face = faces.get(path);
    if (face === undefined) return servePage(exchange);
    if (method !== "POST")
      return Promise.resolve(createEmptyAnswer({ status: 405, allow: "POST" }));
    const answer = post({ exchange, face });
    return hidesStatus || path === "/invocations"
      ? answer.then((response) => ({ ...response, status: 200 }))
      : answer;
  };
}

/**
 * AgentCore ends a session that answers `HealthyBusy` without `time_of_last_update`, and never ends one in which that time moves with each
 * ping: https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/runtime-http-protocol-contract.html
 */
function toPing({ isBusy, sinceMs }: Activity) {
  return {
    status: isBusy ? "HealthyBusy" : "Healthy",
    time_of_last_update: Math.floor(sinceMs / 1000),
  };
}

/** Adapts the routes to web-standard servers. */
export function createWebHandler(
  exchange: (exchange: Exchange) => Promise<ExchangeResponse>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const abort = new AbortController();
    const { status, headers, body } = await exchange({
      method: request.method,
      path: pathname,
      query: (name) => readQueryParameter({ search, name }),
      header: (name) => request.headers.get(name) ?? undefined,
      readBody: (limits) => readWebBody({ body: request.body, ...limits }),
      canStream: true,
      openSignal: () => AbortSignal.any([request.signal, abort.signal]),
    });
    return new Response(toWebBody({ status, body, abort }), { status, headers });
  };
}

function toWebBody({
  status,
  body,
  abort,
}: Pick<ExchangeResponse, "status" | "body"> & { abort: AbortController }) {
  if (typeof body !== "string") return toWebStream({ pieces: body[Symbol.asyncIterator](), abort });
  // A Response with status 304 must not have a body, not even an empty one.
  return status === 304 ? null : body;
}

/** Reads a piece on demand, and none after the stream is canceled. */
function toWebStream(request: {
  pieces: AsyncIterator<string>;
  abort: AbortController;
}): ReadableStream<Uint8Array> {
  const { pieces, abort } = request;
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        abort.abort();
        await pieces.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Undefined in a process that ends between requests, such as a Lambda function. */
export type Exposition = ProcessTelemetry["exposition"] | undefined;

const statuses: { readonly [reason: string]: number | undefined } = {
  unauthenticated: 401,
  permission_denied: 403,
};

/**
 * Serves the metrics to callers that the authenticator admits. Answers 404 if metrics are off, and 503 if the caller cannot be checked now.
 * Never rejects.
 */
function createMetricsPage(options: {
  exposition: Exposition;
  admit: AdmitCaller;
  log: Log;
}): (exchange: Exchange) => Promise<ExchangeResponse> {
  const { exposition = async () => undefined, admit, log } = options;
  return async (exchange) => {
    try {
      await admit(exchange);
      const metricsText = await exposition();
      if (metricsText === undefined) return createEmptyAnswer({ status: 404 });
      const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
      return {
        status: 200,
        headers: { ...headers, "content-type": metricsText.contentType },
        body: metricsText.body,
      };
    } catch (error) {
      const status = error instanceof SekishoError ? statuses[error.reason] : undefined;
      if (status === undefined) log.error("metrics_failed", { cause_kind: errorKind(error) });
      const refusal = createEmptyAnswer({ status: status ?? 503 });
      return status === 401
        ? { ...refusal, headers: { ...refusal.headers, "www-authenticate": "Bearer" } }
        : refusal;
    }
  };
}
