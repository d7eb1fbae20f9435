/** Reads a response of the Execution zone within limits: checks its head, collects its body, and returns the result or throws its error. */

import type { IncomingHttpHeaders } from "node:http";
import type { Dialect } from "../../../contracts/dialects.ts";
import { type JsonRpcErrorObject, type JsonRpcResponse, responseSchema } from "../../../contracts/envelope.ts";
import { decodeError } from "../../../contracts/error-data.ts";
import { type ClientReason, type ErrorDetails, SekishoError } from "../../../contracts/errors.ts";
import {
  legacyErrorResultSchema,
  type MethodName,
  methods,
  type ParamsOf,
  type ResultOf,
} from "../../../contracts/methods.ts";
import { createBodyCollector, isAnnouncedLarger } from "../../shared/http/read-body.ts";
import { isSuccess, takeErrorData, takeResult } from "./take-result.ts";
import type { TransportResponse } from "./transport.ts";

/**
 * Returns the result or throws the error of a JSON-RPC response, whatever the HTTP status; the status counts only without one.
 * Throws `invalid_response` for another id, for another task, for both or neither of result and error, and for a result that breaks
 * the method's schema after it was mended (take-result.ts). Where the peer says that the task succeeded, that ends the task: the next
 * answer would be the same. An error with `id: null` is taken: its sender could not read the id. Of a shortened response only what
 * its cut strings do not change is taken: an error, and that a task is accepted or canceled, without its progress.
 */
export function readResponse<M extends MethodName>({
  response,
  method,
  params,
  id,
  requestId,
  dialect,
}: {
  response: TransportResponse;
  method: M;
  params: ParamsOf<M>;
  id: string;
  requestId: string;
  dialect: Dialect;
}): ResultOf<M> {
  const envelope = parseEnvelope(response.body);
  if (envelope === undefined) throw toStatusError(response, method);
  if ("error" in envelope) {
    if (envelope.id !== id && envelope.id !== null) throw new SekishoError("invalid_response");
    const error = toPeerError({ error: envelope.error, dialect, response });
    requireSameTask({ params, answered: error.details });
    throw error;
  }
  if (envelope.id !== id) throw new SekishoError("invalid_response");
  requireSameTask({ params, answered: envelope.result });
  requireSameRequest({ params, requestId, result: envelope.result });
  const result = takeResult(response.shortened ? withoutCutStrings(envelope.result) : envelope.result);
  const parsed = methods[method].result.safeParse(result);
  if (parsed.success) return parsed.data as ResultOf<M>;
  if (legacyErrorResultSchema.safeParse(result).success) throw new SekishoError("execution_failed");
  throw new SekishoError("invalid_response", { cause: parsed.error, endsTask: isSuccess(result) });
}

/** Undefined for a body without a JSON-RPC response. Bytes that are not UTF-8 become replacement characters. */
export function parseEnvelope(body: Uint8Array): JsonRpcResponse | undefined {
  try {
    return responseSchema.safeParse(JSON.parse(utf8.decode(body))).data;
  } catch {
    return undefined;
  }
}

const utf8 = new TextDecoder();

/** The parts of a shortened result that its cut strings do not change. A too large success ends the task; anything else is unread. */
function withoutCutStrings(result: unknown): unknown {
  const { progress: _progress, ...rest } = Object(result) as Record<string, unknown>;
  if (rest.status === "accepted" || rest.status === "canceled") return rest;
  throw rest.status === "success" ? new SekishoError("payload_too_large") : createTooLargeError();
}

function toStatusError({ status, retryAfterMs }: TransportResponse, method: MethodName): SekishoError {
  if (status === undefined) return new SekishoError("invalid_response");
  const reason = statusToReason(status);
  // The request was too large, which says nothing about the task where the call only asks about it.
  const unread = reason === "payload_too_large" && method !== "execute_task";
  return new SekishoError(reason, { details: delay(retryAfterMs), unread });
}

/**
 * The error's own delay counts before the header. A peer that is `unavailable` took nothing, unless the error names a task that it may
 * have stored.
 */
function toPeerError({
  error: sent,
  dialect,
  response: { status, retryAfterMs },
}: {
  error: JsonRpcErrorObject;
  dialect: Dialect;
  response: TransportResponse;
}): SekishoError {
  const error = { ...sent, data: takeErrorData(sent.data) };
  const { reason, details, exact, code } = decodeError({ error, dialect, status });
  // Without the status, which may come from a proxy between here and the peer.
  const ownWord = decodeError({ error, dialect });
  return new SekishoError(reason, {
    details: { ...delay(retryAfterMs), ...details },
    exact,
    undelivered: ownWord.exact && tookNothing.has(ownWord.reason) && details.task_id === undefined,
    ...(code === undefined ? {} : { code }),
  });
}

/** The reasons with which a peer says that it took nothing. */
const tookNothing: ReadonlySet<ClientReason> = new Set(["unavailable", "session_ending"]);

function delay(retryAfterMs: number | undefined): ErrorDetails {
  return retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
}

export const defaultMaxResponseBytes = 1024 * 1024;
/** A body that is read without its long strings may be so many times as large as the limit. */
export const maxShortening = 16;

/** `shortened`: there were more bytes than `maxBytes`, so long strings of the JSON are cut. */
export type CappedBody = { body: Uint8Array; shortened?: true };

/**
 * Collects the chunks of one body. `add` throws `payload_too_large` past `maxBytes`. With `shortens` it does so only where even
 * what is left without long strings is too large, or where the whole is `maxShortening` times the limit.
 */
export function createResponseCollector({ maxBytes, shortens = false }: { maxBytes: number; shortens?: boolean }): {
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

/** Throws `payload_too_large` past `maxBytes` of what is left without long strings; the stream is destroyed then. */
export async function readShortened({
  stream,
  maxBytes,
}: {
  stream: AsyncIterable<Uint8Array>;
  maxBytes: number;
}): Promise<CappedBody> {
  const collector = createResponseCollector({ maxBytes, shortens: true });
  for await (const chunk of stream) collector.add(chunk);
  return collector.end();
}

/** The error for a response that was too large to read: `unread`, because its content is unknown. */
export function createTooLargeError(): SekishoError {
  return new SekishoError("payload_too_large", { unread: true });
}

/** Longer strings are cut. Ids and states are shorter. */
const maxStringBytes = 1024;
const [quote, backslash, letterU] = [0x22, 0x5c, 0x75];

/**
 * Gives a function that takes the text's UTF-8 piece by piece and returns what is kept of each piece. A string is cut between
 * two characters, never within an escape, so that JSON stays JSON.
 */
export function createShortener(): (piece: Uint8Array) => Uint8Array {
  let inString = false;
  let isKept = true;
  let stringBytes = 0;
  let isEscape = false;
  let hexDigitsLeft = 0;

  /** Whether the byte belongs to what is kept. */
  function take(byte: number): boolean {
    if (!inString) {
      inString = byte === quote;
      stringBytes = 0;
      return true;
    }
    const beginsCharacter = !isEscape && hexDigitsLeft === 0 && (byte & 0xc0) !== 0x80;
    if (beginsCharacter && byte === quote) {
      inString = false;
      return true;
    }
    if (beginsCharacter) isKept = stringBytes < maxStringBytes;
    stringBytes++;
    if (hexDigitsLeft > 0) hexDigitsLeft--;
    else if (isEscape) {
      isEscape = false;
      hexDigitsLeft = byte === letterU ? 4 : 0;
    } else isEscape = byte === backslash;
    return isKept;
  }

  return (piece) => piece.filter(take);
}

/**
 * 404 and 405 mean a wrong URL, never a lost task. 500, 502, 504 and every other 5xx come from somewhere between here and
 * the agent: nobody knows how far the request got. 2xx and 3xx without a JSON-RPC body break the contract.
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

/** The params of any method. */
type Params = { task_id?: string | undefined; correlation_id?: string | undefined } | undefined;

/**
 * Throws `invalid_response` where a result, or an error's details, names another task than the one that was asked about: it says
 * nothing of this one, and an answer in it may be for other people.
 */
function requireSameTask({ params, answered }: { params: Params; answered: unknown }): void {
  const { task_id: taskId } = Object(answered) as Record<string, unknown>;
  if (params?.task_id !== undefined && isId(taskId) && taskId !== params.task_id) throw createMismatchError();
}

/**
 * The same for a result's `correlation_id`, which is what `execute_task` said, or else the request id. A successful result of our own
 * host has it instead of the task's id; another host need not give it back.
 */
function requireSameRequest({
  params,
  requestId,
  result,
}: {
  params: Params;
  requestId: string;
  result: unknown;
}): void {
  const { correlation_id: correlationId } = Object(result) as Record<string, unknown>;
  // Request ids are UUIDs, which some write in capitals.
  const asked = (params?.correlation_id ?? requestId).toLowerCase();
  if (isId(correlationId) && correlationId.toLowerCase() !== asked) throw createMismatchError();
}

function isId(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function createMismatchError(): SekishoError {
  return new SekishoError("invalid_response", { cause: new Error("the response is about another task") });
}

type ResponseHead = { status: number; headers: IncomingHttpHeaders; maxBytes: number };
export type CheckResponseHead = (head: ResponseHead) => SekishoError | undefined;

/** Redirects are not followed: the request, its credentials included, is for the configured URL alone. */
export function checkResponseHead({ status, headers, maxBytes }: ResponseHead): SekishoError | undefined {
  const encoding = headers["content-encoding"] ?? "identity";
  if (isRedirection(status) || encoding.toLowerCase() !== "identity" || !isJson(headers["content-type"])) {
    return new SekishoError("invalid_response");
  }
  return isAnnouncedLarger({ contentLength: headers["content-length"], maxBytes }) ? createTooLargeError() : undefined;
}

/** Redirects, and "not modified". */
export function isRedirection(status: number): boolean {
  return status >= 300 && status < 400;
}

/** `application/json` and `application/…+json`, in UTF-8 or without a charset. An absent type is taken at its body's word. */
export function isJson(contentType: string | null | undefined): boolean {
  if (contentType === null || contentType === undefined || contentType === "") return true;
  return /^application\/([a-z0-9.-]+\+)?json\s*(;\s*charset="?utf-?8"?\s*)?$/i.test(contentType.trim());
}
