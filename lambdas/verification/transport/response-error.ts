/** Turns a failed response into a SekishoError: a JSON-RPC error, a failure of a legacy agent, or an HTTP status. */
import { isGuessed } from "@sekisho/contracts/certainty.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import type { JsonRpcErrorObject } from "@sekisho/contracts/envelope.ts";
import { decodeError, foreignIssues } from "@sekisho/contracts/error-data.ts";
import { type ClientReason, type ErrorDetails, SekishoError } from "@sekisho/contracts/errors.ts";
import type { LegacyErrorResult, MethodName } from "@sekisho/contracts/methods.ts";
import { isTooDeep, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { createMethodProblem, createResponseProblem } from "./peer-problem.ts";
import { takeErrorData, takeExplanation } from "./take-result.ts";
import type { TransportResponse } from "./transport.ts";

/** The error's own delay wins over the header. An `unavailable` peer stored nothing, unless the error names a task. */
export function toPeerError(
  peerError: JsonRpcErrorObject,
  dialect: Dialect,
  { body, status, retryAfterMs, explanation }: TransportResponse,
  method: MethodName,
): SekishoError {
  const error = { ...peerError, data: takeErrorData(peerError.data, { isDeep: isTooDeep(body) }) };
  const { reason, details, certainty, code } = decodeError({ error, dialect, status });
  // Decoded without the HTTP status, because a proxy may have set it.
  const withoutStatus = decodeError({ error, dialect });
  const isNothingStored =
    !isGuessed(withoutStatus) &&
    nothingStoredReasons.has(withoutStatus.reason) &&
    details.task_id === undefined;
  return new SekishoError(reason, {
    details: { ...delay(retryAfterMs), ...details },
    certainty: isNothingStored ? "undelivered" : certainty,
    explanation: takeExplanation(explanation),
    ...(code === undefined ? {} : { code }),
    ...(reason === "method_not_found" &&
      method === "execute_task" &&
      !a2aDialects.includes(dialect) && { cause: createMethodProblem() }),
  });
}

/** The transport `a2a` has them, which has sent a method of A2A. */
const a2aDialects: readonly Dialect[] = ["a2a", "a2a-0.3"];

/** Errors by which a peer says that it stored nothing. */
const nothingStoredReasons: ReadonlySet<ClientReason> = new Set(["unavailable", "session_ending"]);

/** The agent has run and failed. Even if it was only busy, the same request would get the same result, so the error ends the task. */
export function toLegacyError({
  error_code: code,
  error_message: message,
}: LegacyErrorResult): SekishoError {
  if (busyCodes.includes(code)) return new SekishoError("rate_limited", { certainty: "ended" });
  return new SekishoError("execution_failed", {
    explanation: takeExplanation(message) ?? takeExplanation(code),
  });
}

/** Codes by which legacy agents say that their model refused work for now. */
const busyCodes: readonly unknown[] = ["bedrock_throttling", "throttling", "rate_limit_exceeded"];

export function toStatusError(response: TransportResponse, method: MethodName): SekishoError {
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

/** The members of the request that an endpoint of another protocol complains of. */
export function readRefusedMembers({
  status = 200,
  body,
}: TransportResponse): Pick<ErrorDetails, "issues"> {
  const issues = status < 400 ? undefined : foreignIssues(takeErrorData(parseJson(body)));
  return issues === undefined ? {} : { issues };
}

function delay(retryAfterMs: number | undefined): ErrorDetails {
  return retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
}
