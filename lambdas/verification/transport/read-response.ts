/** From the bytes that came back to the method's result, or to the error that they mean. Pure. */
import { decodeError } from "../../../contracts/decode-error.ts";
import type { Dialect } from "../../../contracts/dialects.ts";
import { type JsonRpcErrorObject, type JsonRpcResponse, responseSchema } from "../../../contracts/envelope.ts";
import { type ErrorDetails, SekishoError } from "../../../contracts/errors.ts";
import { legacyErrorResultSchema, type MethodName, methods, type ResultOf } from "../../../contracts/methods.ts";
import { statusToReason } from "./status-to-reason.ts";
import type { TransportResponse } from "./transport.ts";

/**
 * A JSON-RPC response decides, whatever the status; the status counts only without one.
 * Throws `invalid_response` for another id, for both or neither of result and error, and for a result that breaks the method's
 * schema. An error with `id: null` is taken: its sender could not read the id.
 */
export function readResponse<M extends MethodName>({
  response,
  method,
  id,
  dialect,
}: {
  response: TransportResponse;
  method: M;
  id: string;
  dialect: Dialect;
}): ResultOf<M> {
  const envelope = parseEnvelope(response.body);
  if (envelope === undefined) throw withoutEnvelope(response);
  if ("error" in envelope) {
    if (envelope.id !== id && envelope.id !== null) throw new SekishoError("invalid_response");
    throw decoded({ error: envelope.error, dialect, response });
  }
  if (envelope.id !== id) throw new SekishoError("invalid_response");
  const parsed = methods[method].result.safeParse(envelope.result);
  if (parsed.success) return parsed.data as ResultOf<M>;
  if (legacyErrorResultSchema.safeParse(envelope.result).success) throw new SekishoError("execution_failed");
  throw new SekishoError("invalid_response", { cause: parsed.error });
}

export function parseEnvelope(body: Uint8Array): JsonRpcResponse | undefined {
  try {
    return responseSchema.safeParse(JSON.parse(strictUtf8.decode(body))).data;
  } catch {
    return undefined;
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

function withoutEnvelope({ status, retryAfterMs }: TransportResponse): SekishoError {
  if (status === undefined) return new SekishoError("invalid_response");
  return new SekishoError(statusToReason(status), { details: delay(retryAfterMs) });
}

/**
 * What the error says itself about the delay counts before the header. A peer that is unavailable took nothing, unless it
 * names the task that it may have stored.
 */
function decoded({
  error,
  dialect,
  response: { status, retryAfterMs },
}: {
  error: JsonRpcErrorObject;
  dialect: Dialect;
  response: TransportResponse;
}): SekishoError {
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
