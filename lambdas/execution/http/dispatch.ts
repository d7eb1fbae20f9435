/** The methods of the zone contract: one request goes in, its result or its error comes out. Knows no HTTP and no dialect. */

import * as z from "zod";
import type { JsonRpcRequest } from "../../../contracts/envelope.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { methods as contract, type MethodName } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { Metrics } from "../../shared/telemetry/metrics.ts";
import { traceIdOf } from "../../shared/trace.ts";
import { loggedId } from "../tasks/execution-task.ts";
import { type Caller, type MethodCall, type Methods, paramsRefused } from "./exchange.ts";

export type Dispatched = { result: unknown } | { error: SekishoError };
export type Dispatch = (call: { request: JsonRpcRequest; caller: Caller }) => Promise<Dispatched>;

/** Compiled, what fits takes an eighth of the time; what does not goes through the schema itself, so that issues stay the same. */
const paramsSchemas = Object.fromEntries(
  Object.entries(contract).map(([name, { params }]) => [name, z.compile<z.ZodType>(params)]),
) as { [M in MethodName]: (typeof contract)[M]["params"] };

/** Never rejects: whatever a method throws becomes an error. */
export function createDispatch({ methods, metrics, log }: { methods: Methods; metrics: Metrics; log: Log }): Dispatch {
  return async ({ request, caller }) => {
    try {
      return { result: await call({ methods, request, caller }) };
    } catch (thrown) {
      const error = SekishoError.from(thrown);
      if (!isOutcome(error)) {
        metrics.add("sekisho_requests_refused_total", { zone: "execution", reason: error.reason });
        logRefusal({ log, error, request, caller });
      }
      return { error };
    }
  };
}

/** How a task ended was logged when it did, and is told to everyone who asks. */
function isOutcome({ reason, details }: SekishoError): boolean {
  return details.correlation_id !== undefined && reason !== "invalid_state";
}

function logRefusal({
  log,
  error,
  request: { method, params, id },
  caller,
}: {
  log: Log;
  error: SekishoError;
  request: JsonRpcRequest;
  caller: Caller;
}): void {
  const { task_id: taskId, request_id: requestId } = Object(params) as { task_id?: unknown; request_id?: unknown };
  const fields = {
    // A name that is none of ours is whatever a caller liked to send.
    operation: isMethodName(method) ? method : undefined,
    task_id: error.details.task_id ?? loggedId(taskId),
    request_id: loggedId(method === "execute_task" ? id : (requestId ?? error.details.correlation_id)),
    trace_id: caller.trace && traceIdOf(caller.trace),
    reason: error.reason,
    cause_kind: error.cause === undefined ? undefined : errorKind(error.cause),
  };
  if (error.reason === "internal") log.error("request_failed", fields);
  else log.info("request_refused", fields);
}

function call(request: { methods: Methods; request: JsonRpcRequest; caller: Caller }): Promise<unknown> {
  const { method: name, params, id } = request.request;
  if (!isMethodName(name)) throw new SekishoError("method_not_found");
  const parsed = paramsSchemas[name].safeParse(params);
  if (!parsed.success) throw paramsRefused(parsed.error.issues);
  // Schema and method come from the same row of the table; TypeScript cannot follow the name through both.
  const method = request.methods[name] as (call: MethodCall<MethodName>) => Promise<unknown>;
  return method({ params: parsed.data, id, caller: request.caller });
}

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(contract, name);
}
