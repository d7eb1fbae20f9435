/** Reads a response of the Execution zone within limits: checks its head, collects its body, and returns the result or throws its error. */

import type { IncomingHttpHeaders } from "node:http";
import { isGuessed } from "@sekisho/contracts/certainty.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import {
  type JsonRpcErrorObject,
  type JsonRpcResponse,
  responseSchema,
} from "@sekisho/contracts/envelope.ts";
import { decodeError, foreignIssues } from "@sekisho/contracts/error-data.ts";
import { type ClientReason, type ErrorDetails, SekishoError } from "@sekisho/contracts/errors.ts";
import {
  type LegacyErrorResult,
  legacyErrorResultSchema,
  type MethodName,
  methods,
  type ParamsOf,
  type ResultOf,
} from "@sekisho/contracts/methods.ts";
import { createBodyCollector, isAnnouncedLarger } from "@sekisho/runtime/http/read-body.ts";
import { hasRepeatedKey } from "@sekisho/runtime/repeated-keys.ts";
import { isTooDeep, parseJson, repairHalfCharacters } from "@sekisho/runtime/untrusted-input.ts";
import { answerBytesMember, minLargeAnswerBytes } from "../task/events.ts";
import {
  createMemberProblem,
  createRedirectProblem,
  createResponseProblem,
  createTypeProblem,
  PeerProblem,
} from "./peer-problem.ts";
import { isSuccess, takeErrorData, takeExplanation, takeResult } from "./take-result.ts";
import type { TransportResponse } from "./transport.ts";

/**
 * Returns the result of a JSON-RPC response, or throws its error. The HTTP status counts only if the body is not JSON-RPC.
 * Throws `invalid_response` for another id or task, for both or neither of result and error, and for a result that breaks the schema even
 * after repair (take-result.ts). If the peer reports success, an unreadable result ends the task, because a retry would return the same.
 * An error with `id: null` is accepted, because its sender could not read the id. A shortened response has cut strings, so only an error,
 * `accepted` without its progress, and `canceled` are used.
 */
export function readResponse<M extends MethodName>(request: {
  response: TransportResponse;
  method: M;
  params: ParamsOf<M>;
  id: string;
  requestId: string;
  dialect: Dialect;
}): ResultOf<M> {
  const { response, method, params, id, requestId, dialect } = request;
  const envelope = parseEnvelope({
    body: response.body,
    repairs: dialect === "a2a" || dialect === "a2a-0.3",
  });
  if (envelope === undefined) throw toStatusError(response, method);
  if ("error" in envelope) {
    if (envelope.id !== id && envelope.id !== null) throw createMismatchError();
    const error = toPeerError(envelope.error, dialect, response);
    requireSameTask(params, error.details);
    throw error;
  }
  if (envelope.id !== id) throw createMismatchError();
  requireSameTask(params, envelope.result);
  requireSameRequest(params, requestId, envelope.result);
  const isDeep = isTooDeep(response.body);
  const result = takeResult(
    response.shortened ? withoutCutStrings(envelope.result) : envelope.result,
    { isDeep },
  );
  const parsed = methods[method].result.safeParse(result);
  if (parsed.success) return noteLargeAnswer(parsed.data, response) as ResultOf<M>;
  const failure = legacyErrorResultSchema.safeParse(result).data;
  if (failure !== undefined) throw toLegacyError(failure);
  const cause = createMemberProblem(parsed.error.issues);
  throw new SekishoError("invalid_response", {
    cause,
    certainty: isSuccess(result) ? "ended" : undefined,
  });
}

/** Notes the size of a large answer, so that the task is polled more slowly. */
function noteLargeAnswer(
  result: Record<string, unknown>,
  { body, receivedBytes = body.byteLength }: TransportResponse,
): Record<string, unknown> {
  const isLarge = result.status === "accepted" && receivedBytes >= minLargeAnswerBytes;
  return isLarge ? { ...result, [answerBytesMember]: receivedBytes } : result;
}

/**
 * Returns undefined if the body is not a JSON-RPC response. A byte order mark and repeated keys are refused, as by the host (RFC 8259,
 * section 8.1, and RFC 7493, section 2.3), and so is invalid UTF-8, unless `repairs` replaces it by U+FFFD.
 */
export function parseEnvelope(request: {
  body: Uint8Array;
  repairs: boolean;
}): JsonRpcResponse | undefined {
  const decoded = decodeText(request);
  if (decoded === undefined) return undefined;
  const json = repairHalfCharacters(decoded);
  const value = parseJson(json);
  const { data } = responseSchema.safeParse(value);
  return data === undefined || hasRepeatedKey({ json, value }) ? undefined : data;
}

/** Both keep a byte order mark, so that it fails as JSON. */
const repairingUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const strictUtf8 = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

function decodeText({ body, repairs }: { body: Uint8Array; repairs: boolean }): string | undefined {
  if (repairs) return repairingUtf8.decode(body);
  try {
    return strictUtf8.decode(body);
  } catch {
    return undefined;
  }
}

/** Returns the parts of a shortened result that have no long strings. A success that is too large ends the task. */
function withoutCutStrings(result: unknown): unknown {
  const { progress: _progress, ...rest } = Object(result) as Record<string, unknown>;
  if (rest.status === "accepted" || rest.status === "canceled") return rest;
  throw rest.status === "success" ? new SekishoError("payload_too_large") : createTooLargeError();
}

function toStatusError(response: TransportResponse, method: MethodName): SekishoError {
  const { status, retryAfterMs } = response;
  const reason = status === undefined ? "invalid_response" : statusToReason(status);
  // A 413 for a call that only asks about a task says nothing about the task itself.
  const isUnread = reason === "payload_too_large" && method !== "execute_task";
  const details = {
    ...delay(retryAfterMs),
    ...(reason === "invalid_response" && readRefusedMembers(response)),
  };
  return new SekishoError(reason, {
    details,
    certainty: isUnread ? "unread" : undefined,
    cause: createResponseProblem(response),
  });
}

/** The members of the request that an endpoint of another protocol complains of. */
export function readRefusedMembers({
  status = 200,
  body,
}: TransportResponse): Pick<ErrorDetails, "issues"> {
  const issues = status < 400 ? undefined : foreignIssues(takeErrorData(parseJson(body)));
  return issues === undefined ? {} : { issues };
}

/** Codes by which legacy agents say that their model refused work for now. */
const busyCodes: readonly unknown[] = ["bedrock_throttling", "throttling", "rate_limit_exceeded"];

/** The agent has run and failed. Even if it was only busy, the same request would get the same result, so the error ends the task. */
function toLegacyError({
  error_code: code,
  error_message: message,
}: LegacyErrorResult): SekishoError {
  if (busyCodes.includes(code)) return new SekishoError("rate_limited", { certainty: "ended" });
  return new SekishoError("execution_failed", {
    explanation: takeExplanation(message) ?? takeExplanation(code),
  });
}

/** The error's own delay wins over the header. An `unavailable` peer stored nothing, unless the error names a task. */
function toPeerError(
  sent: JsonRpcErrorObject,
  dialect: Dialect,
  { body, status, retryAfterMs, explanation }: TransportResponse,
): SekishoError {
  const error = { ...sent, data: takeErrorData(sent.data, { isDeep: isTooDeep(body) }) };
  const { reason, details, certainty, code } = decodeError({ error, dialect, status });
  // Decoded without the HTTP status, because a proxy may have set it.
  const withoutStatus = decodeError({ error, dialect });
  const isUntaken =
    !isGuessed(withoutStatus) &&
    tookNothing.has(withoutStatus.reason) &&
    details.task_id === undefined;
  return new SekishoError(reason, {
    details: { ...delay(retryAfterMs), ...details },
    certainty: isUntaken ? "undelivered" : certainty,
    explanation: takeExplanation(explanation),
    ...(code === undefined ? {} : { code }),
  });
}

/** Errors by which a peer says that it stored nothing. */
const tookNothing: ReadonlySet<ClientReason> = new Set(["unavailable", "session_ending"]);

function delay(retryAfterMs: number | undefined): ErrorDetails {
  return retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
}

export const defaultMaxResponseBytes = 1024 * 1024;
/** A body whose long strings are cut while reading may be this many times as large as the limit. */
export const maxShortening = 16;

/** `shortened` means that the body was larger than the limit, so that long strings of its JSON are cut. */
export type CappedBody = { body: Uint8Array; shortened?: true };

/**
 * Collects the chunks of one body. `add` throws `payload_too_large` past `maxBytes`. With `shortens` it cuts long strings first, and
 * throws only if the rest is still too large or the whole body exceeds `maxShortening` times the limit.
 */
export function createResponseCollector({
  maxBytes,
  shortens = false,
}: {
  maxBytes: number;
  shortens?: boolean;
}): {
  add(chunk: Uint8Array): void;
  end(): CappedBody;
} {
  let collector = createBodyCollector({ maxBytes });
  let bytes = 0;
  let shorten: ReturnType<typeof createShortener> | undefined;

  function keep(chunk: Uint8Array): void {
    if (!collector.add(shorten === undefined ? chunk : shorten(chunk))) throw createTooLargeError();
  }

  return {
    add(chunk) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes * maxShortening) throw createTooLargeError();
      if (shortens && shorten === undefined && bytes > maxBytes) {
        shorten = createShortener();
        const whole = collector.bytes();
        collector = createBodyCollector({ maxBytes });
        keep(whole);
      }
      keep(chunk);
    },
    end: () => ({ body: collector.bytes(), ...(shorten === undefined ? {} : { shortened: true }) }),
  };
}

/** Reads a stream, and cuts long strings if it is larger than `maxBytes`. Throws `payload_too_large` if the rest is still too large. */
export async function readShortened(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<CappedBody> {
  const collector = createResponseCollector({ maxBytes, shortens: true });
  for await (const chunk of stream) collector.add(chunk);
  return collector.end();
}

/** The error for a response that is too large to read. It is `unread`, because the content is unknown. */
export function createTooLargeError(): SekishoError {
  return new SekishoError("payload_too_large", { certainty: "unread" });
}

/** Longer strings are cut. Ids and states are always shorter. */
const maxStringBytes = 1024;
const [quote, backslash, letterU] = [0x22, 0x5c, 0x75];

/**
 * Creates a function that shortens the long strings of JSON text, given as consecutive pieces of UTF-8. It cuts between two characters
 * and never inside an escape, so that the text stays valid JSON.
 */
export function createShortener(): (piece: Uint8Array) => Uint8Array {
  let inString = false;
  /** The rest of the string is left out. */
  let isCut = false;
  let stringBytes = 0;
  let isEscape = false;
  let hexDigitsLeft = 0;

  /** Skips the rest of a cut string. Returns where the piece goes on: at the closing quote, or after its end. */
  function skipString(piece: Uint8Array, from: number): number {
    let at = from;
    let quoteAt = -1;
    let backslashAt = -1;
    if (isEscape && at < piece.length) {
      isEscape = false;
      at += 1;
    }
    for (;;) {
      if (quoteAt < at) quoteAt = indexIn(piece, quote, at);
      if (backslashAt < at) backslashAt = indexIn(piece, backslash, at);
      if (quoteAt <= backslashAt) return quoteAt;
      // The character after a backslash is no closing quote. It may be in the next piece.
      isEscape = backslashAt === piece.length - 1;
      at = backslashAt + 2;
      if (at >= piece.length) return piece.length;
    }
  }

  function isTaken(byte: number): boolean {
    const beginsCharacter = !isEscape && hexDigitsLeft === 0 && (byte & 0xc0) !== 0x80;
    if (beginsCharacter && byte === quote) {
      inString = false;
      return true;
    }
    isCut = beginsCharacter && stringBytes >= maxStringBytes;
    stringBytes++;
    if (hexDigitsLeft > 0) hexDigitsLeft--;
    else if (isEscape) {
      isEscape = false;
      hexDigitsLeft = byte === letterU ? 4 : 0;
    } else isEscape = byte === backslash;
    return !isCut;
  }

  return (piece) => {
    const kept = new Uint8Array(piece.length);
    let length = 0;
    for (let at = 0; at < piece.length; ) {
      if (isCut) {
        at = skipString(piece, at);
        if (at < piece.length) [isCut, inString] = [false, false];
        else continue;
        kept[length++] = quote;
        at += 1;
      } else if (inString) {
        const byte = piece[at++] as number;
        if (isTaken(byte)) kept[length++] = byte;
      } else {
        const end = Math.min(piece.length, indexIn(piece, quote, at) + 1);
        inString = piece[end - 1] === quote;
        stringBytes = 0;
        kept.set(piece.subarray(at, end), length);
        length += end - at;
        at = end;
      }
    }
    return kept.subarray(0, length);
  };
}

/** The index of the byte, or the length of the piece. */
function indexIn(piece: Uint8Array, byte: number, from: number): number {
  const at = piece.indexOf(byte, from);
  return at === -1 ? piece.length : at;
}

/**
 * Maps the HTTP status of a response without a JSON-RPC body. 404 and 405 mean a wrong URL, never a lost task. A 5xx other than 503 is
 * ambiguous, because a proxy may have sent it after it passed the request on. 2xx and 3xx break the contract.
 */
export function statusToReason(status: number): ClientReason {
  switch (status) {
    case 401:
      return "unauthenticated";
    case 403:
      return "permission_denied";
    case 413:
      return "payload_too_large";
    case 429:
      return "rate_limited";
    case 503:
      return "unavailable";
    default:
      return status >= 500 ? "ambiguous" : "invalid_response";
  }
}

type Params = { task_id?: string | undefined; correlation_id?: string | undefined } | undefined;

/** Throws `invalid_response` for a response about another task, because its answer may be for other people. */
function requireSameTask(params: Params, answered: unknown): void {
  const { task_id: taskId } = Object(answered) as Record<string, unknown>;
  if (params?.task_id !== undefined && isId(taskId) && taskId !== params.task_id)
    throw createMismatchError();
}

/**
 * Makes the same check with the result's `correlation_id`, which is the one of `execute_task` or else the request id. Sekisho's own host
 * returns it instead of the task id when a task succeeds. Other hosts may leave it out.
 */
function requireSameRequest(params: Params, requestId: string, result: unknown): void {
  const { correlation_id: correlationId } = Object(result) as Record<string, unknown>;
  // Some hosts write the UUID in capitals.
  const asked = (params?.correlation_id ?? requestId).toLowerCase();
  if (isId(correlationId) && correlationId.toLowerCase() !== asked) throw createMismatchError();
}

function isId(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function createMismatchError(): SekishoError {
  return new SekishoError("invalid_response", {
    cause: new PeerProblem(
      "ResponseMixedUp",
      "Its response belongs to another call. Look at its log.",
    ),
  });
}

type ResponseHead = {
  status: number;
  headers: IncomingHttpHeaders;
  maxBytes: number;
  /** A stream of events is read too. */
  readsEvents?: boolean;
  /** The request, so that no credential of it is shown. */
  sent?: { url: URL; headers: Readonly<Record<string, string>> };
};
export type CheckResponseHead = (head: ResponseHead) => SekishoError | undefined;

/** Refuses redirects, because the request and its credentials are for the configured URL alone. */
export function checkResponseHead(head: ResponseHead): SekishoError | undefined {
  const { status, headers, maxBytes, readsEvents = false, sent } = head;
  const { "content-encoding": encoding = "identity", "content-type": type, location } = headers;
  if (isRedirection(status)) {
    return new SekishoError("invalid_response", {
      cause: createRedirectProblem({ status, location, sent }),
    });
  }
  const isReadable = isJson(type) || (readsEvents && isEventStream(type));
  if (encoding.toLowerCase() !== "identity" || !isReadable) {
    return new SekishoError("invalid_response", { cause: createTypeProblem({ status, headers }) });
  }
  return isAnnouncedLarger({ contentLength: headers["content-length"], maxBytes })
    ? createTooLargeError()
    : undefined;
}

/** Redirects, and "not modified". */
export function isRedirection(status: number): boolean {
  return status >= 300 && status < 400;
}

/**
 * Accepts `application/json`, `application/json-rpc` and `application/…+json` with any parameters, but no charset other than UTF-8. Some hosts
 * send no type, so none is accepted too.
 */
export function isJson(contentType: string | null | undefined): boolean {
  if (contentType === null || contentType === undefined || contentType === "") return true;
  // The value of a parameter may have a semicolon in quotes.
  const [type = "", ...parameters] = contentType.match(/(?:[^;"]|"[^"]*(?:"|$))+/g) ?? [];
  const charsets = parameters.filter((parameter) => /^\s*charset\s*=/i.test(parameter));
  if (!charsets.every((charset) => /=\s*"?utf-?8"?\s*$/i.test(charset))) return false;
  return /^application\/(?:(?:[a-z0-9.-]+\+)?json|json-rpc)$/i.test(type.trim());
}

export function isEventStream(contentType: string | null | undefined): boolean {
  return /^text\/event-stream\s*(;|$)/i.test((contentType ?? "").trim());
}
