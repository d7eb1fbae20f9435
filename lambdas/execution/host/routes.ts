/** The HTTP face of the host: which path does what, who is let in, and which status an answer has. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Log } from "../../shared/log.ts";
import { parseTrace } from "../../shared/trace.ts";
import type { Authenticator } from "./authenticator/authenticator.ts";
import { causeKind } from "./cause-kind.ts";
import { type Dispatch, errorResponse } from "./dispatch.ts";
import type { Exchange, ExchangeResponse } from "./exchange.ts";
import { openRpc } from "./open-rpc.ts";
import { readBody } from "./read-body.ts";
import type { TimeLimit } from "./time-limit.ts";

type Settings = {
  dispatch: Dispatch;
  authenticator: Authenticator;
  busy: () => boolean;
  maxRequestBytes: number;
  bodyTime: TimeLimit;
  now: () => number;
  log: Log;
};

/** Refusals before the dispatch that have a status of their own; every other JSON-RPC response is HTTP 200. */
const refusalStatus: Partial<Record<string, number>> = {
  unauthenticated: 401,
  permission_denied: 403,
  payload_too_large: 413,
};

/** Never rejects. `POST /invocations` always answers 200, because AgentCore replaces the body of any other status. */
export function createRoutes(settings: Settings): (exchange: Exchange) => Promise<ExchangeResponse> {
  const { busy } = settings;
  return async (exchange) => {
    const { method, path } = exchange;
    if (path === "/" || path === "/invocations") {
      if (method !== "POST") return empty({ status: 405, allow: "POST" });
      const response = await call({ settings, exchange });
      return path === "/invocations" ? { ...response, status: 200 } : response;
    }
    if (path !== "/ping" && path !== "/healthz" && path !== "/openrpc.json") return empty({ status: 404 });
    if (method !== "GET") return empty({ status: 405, allow: "GET" });
    if (path === "/ping") return json({ body: { status: busy() ? "HealthyBusy" : "Healthy" } });
    return json({ body: path === "/healthz" ? { status: "ok" } : openRpc() });
  };
}

async function call({ settings, exchange }: { settings: Settings; exchange: Exchange }): Promise<ExchangeResponse> {
  const receivedAtMs = settings.now();
  try {
    const principal = await authenticate({ settings, exchange });
    if (!isJson(exchange.header("content-type"))) throw new SekishoError("content_type_not_supported");
    const body = await readBody({ exchange, maxBytes: settings.maxRequestBytes, withinTime: settings.bodyTime });
    const { header } = exchange;
    const trace = parseTrace({ traceparent: header("traceparent"), tracestate: header("tracestate") });
    return json({ body: await settings.dispatch({ body, caller: { principal, trace, receivedAtMs } }) });
  } catch (thrown) {
    const error = SekishoError.from(thrown);
    const causeField = error.cause === undefined ? {} : { cause_kind: causeKind(error.cause) };
    settings.log.warn("request_refused", { reason: error.reason, ...causeField });
    const status = refusalStatus[error.reason] ?? 200;
    const response = json({ body: errorResponse({ id: null, error }), status });
    // RFC 9110, section 15.5.2: a 401 says how one would be let in.
    return status === 401 ? { ...response, headers: { ...response.headers, "www-authenticate": "Bearer" } } : response;
  }
}

/** Where it cannot be told who calls (tokens that cannot be read, keys that cannot be had), nobody is let in, and the caller may try again. */
async function authenticate({ settings, exchange }: { settings: Settings; exchange: Exchange }): Promise<string> {
  const { authenticator, log } = settings;
  const principal = await authenticator.authenticate(exchange).catch((error: unknown) => {
    if (error instanceof SekishoError) throw error;
    log.error("authenticator_failed", { cause_kind: causeKind(error) });
    throw new SekishoError("unavailable", { cause: error });
  });
  if (principal === undefined) throw new SekishoError("unauthenticated");
  return principal;
}

/** A body without a declared type is taken for JSON. */
function isJson(contentType: string | undefined): boolean {
  return contentType === undefined || /^application\/json *(;|$)/i.test(contentType.trim());
}

const headers = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

function json({ body, status = 200 }: { body: unknown; status?: number }): ExchangeResponse {
  return { status, headers, body: JSON.stringify(body) };
}

function empty({ status, allow }: { status: number; allow?: string }): ExchangeResponse {
  return { status, headers: { "cache-control": "no-store", ...(allow && { allow }) }, body: "" };
}
