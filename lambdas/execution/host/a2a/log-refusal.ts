/** The one line about an operation that was refused or failed: ids, names and kinds, never a text. */
import { type A2aVersion, operationOf } from "../../../../contracts/a2a/operations.ts";
import type { JsonRpcRequest } from "../../../../contracts/envelope.ts";
import type { SekishoError } from "../../../../contracts/errors.ts";
import type { Log } from "../../../shared/log.ts";
import { traceIdOf } from "../../../shared/trace.ts";
import { causeKind } from "../cause-kind.ts";
import { loggedId } from "../logged-ids.ts";
import type { Caller } from "../method.ts";

/** A caller's mistakes alarm nobody. */
export function logRefusal({
  log,
  error,
  request: { method, params },
  caller,
  version,
}: {
  log: Log;
  error: SekishoError;
  request: JsonRpcRequest;
  caller: Caller;
  version: A2aVersion | undefined;
}): void {
  const { id, taskId, message } = Object(params) as { id?: unknown; taskId?: unknown; message?: unknown };
  const sent = Object(message) as { messageId?: unknown; taskId?: unknown };
  const fields = {
    operation: operationOf(method)?.operation,
    version,
    task_id: error.details.task_id ?? [taskId, sent.taskId, id].map(loggedId).find((known) => known !== undefined),
    request_id: loggedId(error.details.correlation_id) ?? loggedId(sent.messageId),
    trace_id: caller.trace && traceIdOf(caller.trace),
    reason: error.reason,
    cause_kind: error.cause === undefined ? undefined : causeKind(error.cause),
  };
  if (error.reason === "internal") log.error("request_failed", fields);
  else log.info("request_refused", fields);
}
