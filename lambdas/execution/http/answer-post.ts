/** Answers one POST: admits the caller, reads the request within limits, and passes it to its method or to A2A. */

import { toA2aOperation } from "@sekisho/contracts/a2a/operations.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import {
  type JsonRpcRequest,
  type RequestId,
  requestIdSchema,
  requestSchema,
} from "@sekisho/contracts/envelope.ts";
import { encodeError } from "@sekisho/contracts/error-data.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { TimeLimit } from "@sekisho/runtime/async/time-limit.ts";
import { compileWhenBusy } from "@sekisho/runtime/compiled-schema.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { isAnnouncedLarger } from "@sekisho/runtime/http/read-body.ts";
import type { BodyBudget, OpenBodyShare } from "@sekisho/runtime/http/server-limits.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { isAmbiguousOrTooDeep } from "@sekisho/runtime/repeated-keys.ts";
import {
  type Metrics,
  type OpenSpan,
  parseTrace,
  type SpanStart,
  type Spans,
  type Trace,
} from "@sekisho/runtime/telemetry/telemetry.ts";
import { repairHalfCharacters } from "@sekisho/runtime/untrusted-input.ts";
import type * as z from "zod";
import type { A2aEndpoint } from "../a2a/endpoint.ts";
import { readRequestedVersion, toDialect } from "../a2a/version.ts";
import { type AdmitCaller, isRefusedCaller } from "../authenticator/authenticator.ts";
import type { ReceiveAsker } from "../authenticator/receive-asker.ts";
import {
  type AuthenticatedCaller,
  createErrorAnswer,
  createJsonAnswer,
  type Exchange,
  type ExchangeResponse,
} from "../exchange.ts";
import { createTooManyCallsError } from "../limits.ts";
import { type Dispatch, isMethodName } from "../methods/methods.ts";
import { toLoggableId } from "../tasks/execution-task.ts";

/** The protocols at a path: the zone contract with errors in `zoneDialect`, A2A, or both. Each request shows which one it uses. */
export type PathProtocols =
  | { zoneDialect: Dialect; a2a?: A2aEndpoint | undefined }
  | { zoneDialect?: undefined; a2a: A2aEndpoint };

export type PostSettings = {
  dispatch: Dispatch;
  admit: AdmitCaller;
  /** Without it, nobody's token is verified. */
  receiveAsker?: ReceiveAsker | undefined;
  maxRequestBytes: number;
  bodyTime: TimeLimit;
  /** The bytes of all bodies that are being read. Each principal owns its own. */
  bodyBudget: BodyBudget;
  random: () => number;
  now: () => number;
  metrics: Metrics;
  spans: Spans;
  log: Log;
};

type PostRequest = { exchange: Exchange; face: PathProtocols };

/** Never rejects. Reads nothing before the caller is admitted. */
export function createPostHandler(
  settings: PostSettings,
): (post: PostRequest) => Promise<ExchangeResponse> {
  const {
    dispatch,
    admit,
    receiveAsker,
    maxRequestBytes,
    bodyTime,
    bodyBudget,
    now,
    random,
    metrics,
    spans,
    log,
  } = settings;
  return async (postRequest) => {
    const { exchange, face } = postRequest;
    const { header } = exchange;
    const receivedAtMs = now();
    let answeredId: unknown;
    let dialect = selectErrorDialect(postRequest);
    try {
      const trace = parseTrace({
        traceparent: header("traceparent"),
        tracestate: header("tracestate"),
      });
      const principal = await admit(exchange);
      if (!isJson({ contentType: header("content-type"), face }))
        throw new SekishoError("content_type_not_supported");
      const body = await readExchangeBody({
        ...{ exchange, maxBytes: maxRequestBytes, withinTime: bodyTime, random },
        openShare: (cutOff) => bodyBudget.openShare({ owner: principal, cutOff }),
      });
      const { text, json } = parseBody(body);
      const toCaller = (trace: Trace): AuthenticatedCaller =>
        receiveAsker === undefined
          ? { principal, trace, receivedAtMs }
          : { principal, trace, receivedAtMs, verifyAsker: receiveAsker({ header, body }) };
      const a2a = selectA2aEndpoint({ ...postRequest, json });
      if (a2a !== undefined) {
        answeredId = Object(json).id;
        dialect = toDialect(readRequestedVersion(exchange));
        const request = readRequest({ schema: a2aSchema, text, json });
        return await spans.within(serverSpan({ request, trace }), async (span) =>
          a2a({ request, caller: toCaller(span.trace), exchange }),
        );
      }
      const request = readRequest({ schema: busySchema, text, json });
      // Refused or malformed requests have no span, because anybody could send many.
      return await spans.within(serverSpan({ request, trace }), async (span) => {
        const caller = toCaller(span.trace);
        const { id } = request;
        const dispatchResult = await dispatch({ request, caller });
        if ("result" in dispatchResult)
          return createJsonAnswer({ jsonrpc: "2.0", id, result: dispatchResult.result });
        const { error } = dispatchResult;
        const zoneDialect = face.zoneDialect ?? "zone";
        failWith({ span, error, dialect: zoneDialect });
        return createErrorAnswer({ error, id, dialect: zoneDialect });
      });
    } catch (cause) {
      const error = SekishoError.from(cause);
      metrics.add("sekisho_requests_refused_total", { zone: "execution", reason: error.reason });
      if (!isRefusedCaller(error)) logRefusal({ error, log });
      return createErrorAnswer({
        error,
        id: requestIdSchema.safeParse(answeredId).data ?? null,
        dialect,
      });
    }
  };
}

/** At a path with both protocols, an unknown method belongs to A2A if the request names a version of A2A. */
function selectA2aEndpoint({
  exchange,
  face,
  json,
}: PostRequest & { json: unknown }): A2aEndpoint | undefined {
  const method = String(Object(json).method);
  if (
    face.a2a === undefined ||
    face.zoneDialect === undefined ||
    toA2aOperation(method) !== undefined
  )
    return face.a2a;
  return !isMethodName(method) && readRequestedVersion(exchange) !== undefined
    ? face.a2a
    : undefined;
}

/** The dialect of an error before the method is known: A2A's only if the request names a version of A2A. */
function selectErrorDialect({ exchange, face }: PostRequest): Dialect {
  const requestedVersion = face.a2a && readRequestedVersion(exchange);
  return face.zoneDialect !== undefined && requestedVersion === undefined
    ? face.zoneDialect
    : toDialect(requestedVersion);
}

/** Logs a malformed body at `info`, because it is its sender's mistake. */
function logRefusal({ error: { reason, cause }, log }: { error: SekishoError; log: Log }): void {
  const isMistake = reason === "parse_error" || reason === "invalid_request";
  log[isMistake ? "info" : "warn"]("request_refused", {
    reason,
    ...(cause !== undefined && { cause_kind: errorKind(cause) }),
  });
}

/** The second one is JSON-RPC's own, for transports over HTTP. */
const jsonTypes: ReadonlySet<string> = new Set(["application/json", "application/json-rpc"]);

/** A body without a content type counts as JSON. A2A has a JSON type of its own as well. */
function isJson({
  contentType,
  face,
}: {
  contentType: string | undefined;
  face: PathProtocols;
}): boolean {
  if (contentType === undefined || contentType === "application/json") return true;
  const [mediaType = ""] = contentType.split(";", 1);
  const type = mediaType.trim().toLowerCase();
  return jsonTypes.has(type) || (type === "application/a2a+json" && face.a2a !== undefined);
}

type Checking<T> = Pick<z.ZodType<T>, "safeParse">;
const busySchema = compileWhenBusy(requestSchema);
/** In A2A, a request without an id is answered with the id `null`, as the official SDK does. */
const a2aSchema = requestSchema.extend({ id: requestIdSchema.nullable().default(null) });
/** Keeps a byte order mark, so that it fails as JSON. */
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Throws `parse_error` for anything but JSON in UTF-8, and `invalid_request` for JSON that is not a Request, is nested too deeply or
 * repeats a key (RFC 7493, section 2.3).
 */
export function parseRequest(body: Uint8Array): JsonRpcRequest {
  return readRequest({ schema: busySchema, ...parseBody(body) });
}

type JsonBody = { text: string; json: unknown };

function readRequest<T>({ schema, text, json }: JsonBody & { schema: Checking<T> }): T {
  const parsedRequest = schema.safeParse(json);
  if (!parsedRequest.success || isAmbiguousOrTooDeep({ json: text, value: json }))
    throw new SekishoError("invalid_request");
  return parsedRequest.data;
}

/** Replaces halves of surrogate pairs, as the client does with a response. */
function parseBody(body: Uint8Array): JsonBody {
  try {
    const text = repairHalfCharacters(strictUtf8.decode(body));
    return { text, json: JSON.parse(text) };
  } catch (error) {
    throw new SekishoError("parse_error", { cause: error });
  }
}

/** The span of one POST, a child of its caller's, by OpenTelemetry's semantic conventions of JSON-RPC. */
function serverSpan({
  request,
  trace,
}: {
  request: Pick<JsonRpcRequest, "method"> & { id: RequestId | null };
  trace: Trace | undefined;
}): SpanStart {
  const method = toMetricMethod(request.method);
  const id = toLoggableId(request.id);
  return {
    name: method,
    kind: "server",
    trace,
    attributes: {
      "rpc.system.name": "jsonrpc",
      "rpc.method": method,
      "jsonrpc.protocol.version": "2.0",
      "jsonrpc.request.id": id,
      "sekisho.request_id": method === "execute_task" ? id : undefined,
    },
  };
}

function failWith({
  span,
  error,
  dialect,
}: {
  span: OpenSpan;
  error: SekishoError;
  dialect: Dialect;
}): void {
  span.set({ "rpc.response.status_code": String(encodeError({ error, dialect }).code) });
  span.fail(error.reason);
}

/** Replaces an unknown method name, which a caller chooses freely. */
function toMetricMethod(method: string): string {
  return isMethodName(method) || toA2aOperation(method) !== undefined ? method : "_OTHER";
}

/**
 * Rejects with `payload_too_large` as soon as more is announced or arrives, with `rate_limited` if there is no room for the body, and with
 * `unavailable` if it does not come in time or breaks off: nothing was done, so the same request may be sent again.
 */
async function readExchangeBody(request: {
  exchange: Exchange;
  maxBytes: number;
  /** Ends with `unavailable`. */
  withinTime: TimeLimit;
  openShare: OpenBodyShare;
  random: () => number;
}): Promise<Uint8Array> {
  const { exchange, maxBytes, withinTime, openShare, random } = request;
  const isTooLarge = isAnnouncedLarger({
    contentLength: exchange.header("content-length"),
    maxBytes,
  });
  if (isTooLarge) throw new SekishoError("payload_too_large");
  let giveUp = () => {};
  const bodyPromise = exchange.readBody({
    maxBytes,
    openShare(cutOff) {
      giveUp = cutOff;
      return openShare(cutOff);
    },
  });
  const body = await withinTime(bodyPromise, (error) => {
    giveUp();
    return error instanceof SekishoError
      ? error
      : new SekishoError("unavailable", { cause: error });
  });
  if (body === "too_large") throw new SekishoError("payload_too_large");
  if (body === "busy") throw createTooManyCallsError({ random });
  return body;
}
