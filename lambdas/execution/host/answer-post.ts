/** One POST of a JSON-RPC request: who is let in, what is read of it, and who answers it. */

import { operationOf } from "../../../contracts/a2a/operations.ts";
import type { Dialect } from "../../../contracts/dialects.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Metrics } from "../../shared/telemetry/metrics.ts";
import type { Spans } from "../../shared/telemetry/spans.ts";
import { parseTrace } from "../../shared/trace.ts";
import type { A2aEndpoint } from "./a2a/endpoint.ts";
import { askedVersion, dialectAsked } from "./a2a/version.ts";
import type { Authenticator } from "./authenticator/authenticator.ts";
import { causeKind } from "./cause-kind.ts";
import { type Dispatch, isMethodName } from "./dispatch.ts";
import type { Exchange, ExchangeResponse } from "./exchange.ts";
import { errorAnswer, json } from "./json-response.ts";
import type { Caller } from "./method.ts";
import { parseRequest } from "./parse-request.ts";
import { readBody } from "./read-body.ts";
import { failWith, serverSpan } from "./server-span.ts";
import type { TimeLimit } from "./time-limit.ts";

/** What is spoken at a path: the zone contract with errors in `zoneDialect`, A2A, or both, told apart by each request. */
export type Face =
  | { zoneDialect: Dialect; a2a?: A2aEndpoint | undefined }
  | { zoneDialect?: undefined; a2a: A2aEndpoint };

export type PostSettings = {
  dispatch: Dispatch;
  authenticator: Authenticator;
  maxRequestBytes: number;
  bodyTime: TimeLimit;
  now: () => number;
  metrics: Metrics;
  spans: Spans;
  log: Log;
};

type Asked = { exchange: Exchange; face: Face };

/** Never rejects. Nothing is read before the caller is known. */
export function createPost(settings: PostSettings): (asked: Asked) => Promise<ExchangeResponse> {
  const { dispatch, maxRequestBytes, bodyTime, now, metrics, spans, log } = settings;
  return async (asked) => {
    const { exchange, face } = asked;
    const { header } = exchange;
    const receivedAtMs = now();
    try {
      const trace = parseTrace({ traceparent: header("traceparent"), tracestate: header("tracestate") });
      const principal = await authenticate({ settings, exchange });
      if (!isJson({ contentType: header("content-type"), face })) throw new SekishoError("content_type_not_supported");
      const request = parseRequest(await readBody({ exchange, maxBytes: maxRequestBytes, withinTime: bodyTime }));
      const { id } = request;
      const a2a = a2aFor({ ...asked, method: request.method });
      // Of a request that was not let in, or is none, nothing is told: anybody could send many.
      return await spans.within(serverSpan({ request, trace }), async (span) => {
        const caller: Caller = { principal, trace: span.trace, receivedAtMs };
        if (a2a !== undefined) return a2a({ request, caller, exchange });
        const dispatched = await dispatch({ request, caller });
        if ("result" in dispatched) return json({ jsonrpc: "2.0", id, result: dispatched.result });
        const { error } = dispatched;
        const dialect = face.zoneDialect ?? "zone";
        failWith({ span, error, dialect });
        return errorAnswer({ error, id, dialect });
      });
    } catch (thrown) {
      const error = SekishoError.from(thrown);
      metrics.add("sekisho_requests_refused_total", { zone: "execution", reason: error.reason });
      logRefusal({ error, log });
      return errorAnswer({ error, id: null, dialect: dialectOfRefusal(asked) });
    }
  };
}

/** A name that nobody knows is an A2A client's where the request says its version. */
function a2aFor({ exchange, face, method }: Asked & { method: string }): A2aEndpoint | undefined {
  if (face.a2a === undefined || face.zoneDialect === undefined || operationOf(method) !== undefined) return face.a2a;
  return !isMethodName(method) && askedVersion(exchange) !== undefined ? face.a2a : undefined;
}

/** Before the method is known, where both are spoken, only a version says that A2A is. */
function dialectOfRefusal({ exchange, face }: Asked): Dialect {
  const asked = face.a2a && askedVersion(exchange);
  return face.zoneDialect !== undefined && asked === undefined ? face.zoneDialect : dialectAsked(asked);
}

/** What is no request at all is its sender's mistake; who is not let in may be more. */
function logRefusal({ error, log }: { error: SekishoError; log: Log }): void {
  const { reason, cause } = error;
  const isMistake = reason === "parse_error" || reason === "invalid_request";
  log[isMistake ? "info" : "warn"]("request_refused", {
    reason,
    ...(cause !== undefined && { cause_kind: causeKind(cause) }),
  });
}

/** Where it cannot be told who calls (tokens that cannot be read, keys that cannot be had), nobody is let in, and the caller may try again. */
async function authenticate({
  settings: { authenticator, log },
  exchange,
}: {
  settings: PostSettings;
  exchange: Exchange;
}): Promise<string> {
  const principal = await authenticator.authenticate(exchange).catch((error: unknown) => {
    if (error instanceof SekishoError) throw error;
    log.error("authenticator_failed", { cause_kind: causeKind(error) });
    throw new SekishoError("unavailable", { cause: error });
  });
  if (principal === undefined) throw new SekishoError("unauthenticated");
  return principal;
}

/** A body without a declared type is taken for JSON. A2A has a type of its own for it as well. */
function isJson({ contentType, face }: { contentType: string | undefined; face: Face }): boolean {
  if (contentType === undefined) return true;
  const [type = ""] = contentType.trim().toLowerCase().split(/ *;/, 1);
  return type === "application/json" || (type === "application/a2a+json" && face.a2a !== undefined);
}
