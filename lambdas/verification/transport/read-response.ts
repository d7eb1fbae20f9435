/** Reads the JSON-RPC response to a call of the Execution zone: returns its result, or throws its error. */
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { type JsonRpcResponse, responseSchema } from "@sekisho/contracts/envelope.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import {
  legacyErrorResultSchema,
  type MethodName,
  methods,
  type ParamsOf,
  type ResultOf,
} from "@sekisho/contracts/methods.ts";
import { hasRepeatedKey } from "@sekisho/runtime/repeated-keys.ts";
import { isTooDeep, parseJson, repairHalfCharacters } from "@sekisho/runtime/untrusted-input.ts";
import { answerBytesMember, minLargeAnswerBytes } from "../task/events.ts";
import { createMemberProblem, PeerProblem } from "./peer-problem.ts";
import { createTooLargeError } from "./response-body.ts";
import { toLegacyError, toPeerError, toStatusError } from "./response-error.ts";
import { isSuccess, takeResult } from "./take-result.ts";
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
    const error = toPeerError(envelope.error, dialect, response, method);
    requireSameTask(params, error.details);
    throw error;
  }
  if (envelope.id !== id) throw createMismatchError();
  requireSameTask(params, envelope.result);
  requireSameRequest(params, requestId, envelope.result);
  const isDeep = isTooDeep(response.body);
  const result = takeResult(
    response.shortened ? dropCutStrings(envelope.result) : envelope.result,
    { isDeep },
  );
  const parseResult = methods[method].result.safeParse(result);
  if (parseResult.success) return noteLargeAnswer(parseResult.data, response) as ResultOf<M>;
  const failure = legacyErrorResultSchema.safeParse(result).data;
  if (failure !== undefined) throw toLegacyError(failure);
  const cause = createMemberProblem(parseResult.error.issues);
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

/** Returns undefined if the body is not a JSON-RPC response. `repairs` is that of `parseBody`. */
export function parseEnvelope(request: {
  body: Uint8Array;
  repairs: boolean;
}): JsonRpcResponse | undefined {
  return responseSchema.safeParse(parseBody(request)).data;
}

/** True for a response of JSON-RPC in a stream, as opposed to a notification. */
export function isResponse(json: Record<string, unknown>): boolean {
  if (json.jsonrpc !== "2.0") return false;
  const isNotification =
    json.method !== undefined && json.result === undefined && json.error === undefined;
  return !isNotification;
}

/**
 * Returns undefined if the body is not JSON. A byte order mark and repeated keys are refused, as by the host (RFC 8259, section 8.1, and RFC
 * 7493, section 2.3), and so is invalid UTF-8, unless `repairs` replaces it by U+FFFD.
 */
export function parseBody(request: { body: Uint8Array; repairs: boolean }): unknown {
  const text = decodeText(request);
  if (text === undefined) return undefined;
  const json = repairHalfCharacters(text);
  const value = parseJson(json);
  return value === undefined || hasRepeatedKey({ json, value }) ? undefined : value;
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
function dropCutStrings(result: unknown): unknown {
  const { progress: _progress, ...members } = Object(result) as Record<string, unknown>;
  if (members.status === "accepted" || members.status === "canceled") return members;
  throw members.status === "success"
    ? new SekishoError("payload_too_large")
    : createTooLargeError();
}

type Params = { task_id?: string | undefined; correlation_id?: string | undefined } | undefined;

/** Throws `invalid_response` for a response about another task, because its answer may be for other people. */
function requireSameTask(params: Params, peerTask: unknown): void {
  const { task_id: taskId } = Object(peerTask) as Record<string, unknown>;
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
  const calledId = (params?.correlation_id ?? requestId).toLowerCase();
  if (isId(correlationId) && correlationId.toLowerCase() !== calledId) throw createMismatchError();
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
