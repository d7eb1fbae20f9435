/** Reads the errors of A2A over HTTP+JSON (A2A 1.0, section 11.6) as those of JSON-RPC, so that everything else reads one kind of error. */

import { isGuessed } from "@sekisho/contracts/certainty.ts";
import { toErrorCode } from "@sekisho/contracts/dialects.ts";
import type { JsonRpcErrorObject } from "@sekisho/contracts/envelope.ts";
import { decodeError, findReason } from "@sekisho/contracts/error-data.ts";
import type { Reason } from "@sekisho/contracts/errors.ts";
import { isJsonObject, isNestedTooDeep } from "@sekisho/runtime/untrusted-input.ts";
import type { CalledOperation } from "./binding.ts";

/** `json` is the body, or undefined if it is not JSON. `namesTask`: the request is about a task that the agent should know. */
type ErrorResponse = {
  status: number;
  json: unknown;
  operation: CalledOperation;
  namesTask: boolean;
};

/**
 * Returns the error that the agent names, or else the one that the status means. Undefined for a response that need not be the agent's, and for
 * an uncertain error with a status of 500 or more: then only the status says what is known.
 */
export function readHttpError(response: ErrorResponse): JsonRpcErrorObject | undefined {
  const { status, operation } = response;
  const body = readErrorBody(response);
  const { message = "", data } = body ?? {};
  const code = body && readCode(body, operation);
  if (code !== undefined) {
    const error = { code, message, data };
    return status >= 500 && isGuessed(decodeError({ error, dialect: "a2a" })) ? undefined : error;
  }
  const reason = lacksOperation(response)
    ? "method_not_found"
    : body && findReasonOfStatus({ ...response, statusName: body.statusName });
  return reason && { code: toCode(reason, operation), message, data };
}

/**
 * True if nothing is at the path of a message, so that nothing was processed. Every agent has that path, so its version is another one. An error in
 * an agent's own words may come from its work.
 */
export function isPathMissing(response: ErrorResponse): boolean {
  const { status, operation } = response;
  const isMissing = status === 404 || status === 405;
  return operation === "SendMessage" && isMissing && readErrorBody(response) === undefined;
}

type ErrorBody = { message: string; code: unknown; statusName: unknown; data: unknown };

/** An error is a google.rpc.Status in the member `error`. SDKs of 0.3 send it bare, with `message` and perhaps `code` and `data`. */
function readErrorBody({ status, json }: ErrorResponse): ErrorBody | undefined {
  if (!isJsonObject(json)) return undefined;
  const isBare = !isJsonObject(json.error);
  if (isBare && (status < 400 || typeof json.message !== "string")) return undefined;
  const {
    code,
    message,
    status: statusName,
    details,
    data = details,
  } = Object(isBare ? json : json.error) as Record<string, unknown>;
  return {
    message: typeof message === "string" ? message : "",
    code,
    statusName,
    data: isNestedTooDeep(data) ? undefined : data,
  };
}

/** The number of an error that the agent names: by a reason in its details (1.0), or as it is (0.3). */
function readCode({ code, data }: ErrorBody, operation: CalledOperation): number | undefined {
  const reason = findReason(data);
  if (reason !== undefined) return toCode(reason, operation);
  return Number.isSafeInteger(code) && Number(code) < 0 ? Number(code) : undefined;
}

function toCode(reason: Reason, operation: CalledOperation): number {
  const target = operation === "CancelTask" ? "canceled" : undefined;
  return toErrorCode({ reason, dialect: "a2a", target });
}

/** A missing path for messages means another version, and not a missing operation. */
function lacksOperation({ status, operation, namesTask }: ErrorResponse): boolean {
  return operation !== "SendMessage" && (status === 405 || (status === 404 && !namesTask));
}

/** For agents that name no error. 0.3 has no table of statuses, so these are those of its SDKs. */
function findReasonOfStatus(response: ErrorResponse & { statusName: unknown }): Reason | undefined {
  const { status, operation, namesTask, statusName } = response;
  const isTooLate = status === 409 || statusName === "FAILED_PRECONDITION";
  if (operation === "CancelTask" && isTooLate) return "invalid_state";
  switch (status) {
    case 400:
    case 422:
      return "invalid_params";
    case 404:
      return namesTask ? "task_not_found" : undefined;
    case 415:
      return "content_type_not_supported";
    case 501:
      return "unsupported_operation";
    default:
      return undefined;
  }
}
