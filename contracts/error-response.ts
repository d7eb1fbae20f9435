/** An error as a host answers it over HTTP in a dialect: the response object, its status, and when to come again. */
import { type Dialect, toHttpStatus } from "./dialects.ts";
import type { JsonRpcErrorObject, RequestId } from "./envelope.ts";
import { encodeError } from "./error-data.ts";
import type { Reason, SekishoError } from "./errors.ts";

export type ErrorResponse = {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: { jsonrpc: "2.0"; id?: RequestId | null; error: JsonRpcErrorObject };
};

/** What the caller's own platform has a use for, also where the rest is HTTP 200. */
const statusReasons: readonly Reason[] = ["unauthenticated", "permission_denied", "rate_limited"];

/**
 * HTTP 200 for most errors, and a status for what A2A and our own host tell by one as well. In VAPORA's dialect every reason
 * has its status, and the response no `id`. 429 and 503 say when to come again, in a second where nothing is known.
 */
export function createErrorResponse({
  error,
  id,
  dialect,
}: {
  error: SekishoError;
  id: RequestId | null;
  dialect: Dialect;
}): ErrorResponse {
  const status = statusOf({ reason: error.reason === "ambiguous" ? "internal" : error.reason, id, dialect });
  const retryAfterSeconds = Math.max(Math.ceil((error.details.retry_after_ms ?? 0) / 1000), 1);
  return {
    status,
    headers: status === 429 || status === 503 ? { "retry-after": String(retryAfterSeconds) } : {},
    body: { jsonrpc: "2.0", ...(dialect === "vapora" ? {} : { id }), error: encodeError({ error, dialect }) },
  };
}

function statusOf({ reason, id, dialect }: { reason: Reason; id: RequestId | null; dialect: Dialect }): number {
  // A body that is too large is refused before its id is read; with an id it is the agent's result that was too large.
  const isRefusedBody = reason === "payload_too_large" && id === null;
  const isA2aOutage = reason === "unavailable" && (dialect === "a2a" || dialect === "a2a-0.3");
  const hasStatus = dialect === "vapora" || isRefusedBody || isA2aOutage || statusReasons.includes(reason);
  return hasStatus ? toHttpStatus(reason) : 200;
}
