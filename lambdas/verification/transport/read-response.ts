/** From the bytes that came back to the method's result, or to the error that they mean. Pure. */
import { decodeError } from "../../../contracts/decode-error.ts";
import type { Dialect } from "../../../contracts/dialects.ts";
import { type JsonRpcErrorObject, type JsonRpcResponse, responseSchema } from "../../../contracts/envelope.ts";
import { type ErrorDetails, SekishoError } from "../../../contracts/errors.ts";
import {
  legacyErrorResultSchema,
  type MethodName,
  methods,
  type ParamsOf,
  type ResultOf,
} from "../../../contracts/methods.ts";
import { tooLarge } from "./read-capped.ts";
import { requireSameRequest, requireSameTask } from "./same-task.ts";
import { statusToReason } from "./status-to-reason.ts";
import { isSuccess, takeErrorData, takeResult } from "./take-result.ts";
import type { TransportResponse } from "./transport.ts";

/**
 * A JSON-RPC response decides, whatever the status; the status counts only without one.
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
  if (envelope === undefined) throw withoutEnvelope(response, method);
  if ("error" in envelope) {
    if (envelope.id !== id && envelope.id !== null) throw new SekishoError("invalid_response");
    const error = decoded({ error: envelope.error, dialect, response });
    requireSameTask({ params, told: error.details });
    throw error;
  }
  if (envelope.id !== id) throw new SekishoError("invalid_response");
  requireSameTask({ params, told: envelope.result });
  requireSameRequest({ params, requestId, result: envelope.result });
  const result = takeResult(response.shortened ? withoutCutStrings(envelope.result) : envelope.result);
  const parsed = methods[method].result.safeParse(result);
  if (parsed.success) return parsed.data as ResultOf<M>;
  if (legacyErrorResultSchema.safeParse(result).success) throw new SekishoError("execution_failed");
  throw new SekishoError("invalid_response", { cause: parsed.error, endsTask: isSuccess(result) });
}

/** Bytes that are no UTF-8 become replacement characters: the id tells whether the response is to our request. */
export function parseEnvelope(body: Uint8Array): JsonRpcResponse | undefined {
  try {
    return responseSchema.safeParse(JSON.parse(utf8.decode(body))).data;
  } catch {
    return undefined;
  }
}

const utf8 = new TextDecoder();

/** An answer that is too large is the task's end. A question or anything else that cannot be read whole says nothing. */
function withoutCutStrings(result: unknown): unknown {
  const { progress: _progress, ...rest } = Object(result) as Record<string, unknown>;
  if (rest.status === "accepted" || rest.status === "canceled") return rest;
  throw rest.status === "success" ? new SekishoError("payload_too_large") : tooLarge();
}

function withoutEnvelope({ status, retryAfterMs }: TransportResponse, method: MethodName): SekishoError {
  if (status === undefined) return new SekishoError("invalid_response");
  const reason = statusToReason(status);
  // It is the request that was too large, which says nothing of a task that is only asked about.
  const unread = reason === "payload_too_large" && method !== "execute_task";
  return new SekishoError(reason, { details: delay(retryAfterMs), unread });
}

/**
 * What the error says itself about the delay counts before the header. A peer that is unavailable took nothing, unless it
 * names the task that it may have stored.
 */
function decoded({
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
  // A status alone may be that of whoever stands between here and the peer.
  const told = decodeError({ error, dialect });
  return new SekishoError(reason, {
    details: { ...delay(retryAfterMs), ...details },
    exact,
    undelivered: told.exact && told.reason === "unavailable" && details.task_id === undefined,
    ...(code === undefined ? {} : { code }),
  });
}

function delay(retryAfterMs: number | undefined): ErrorDetails {
  return retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
}
