/** The core of the host: the bytes of one request go in, one JSON-RPC response comes out. Knows no HTTP. */
import * as z from "zod";
import { encodeError } from "../../../contracts/encode-error.ts";
import type { JsonRpcRequest, JsonRpcResponse, RequestId } from "../../../contracts/envelope.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { methods as contract, type MethodName } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import { traceIdOf } from "../../shared/trace.ts";
import { causeKind } from "./cause-kind.ts";
import { loggedId } from "./logged-ids.ts";
import type { Caller, MethodCall, Methods } from "./method.ts";
import { parseRequest } from "./parse-request.ts";

export type Dispatch = (request: { body: Uint8Array; caller: Caller }) => Promise<JsonRpcResponse>;

const maxIssues = 20;

/** Compiled, what fits takes an eighth of the time; what does not goes through the schema itself, so that issues stay the same. */
const paramsSchemas = Object.fromEntries(
  Object.entries(contract).map(([name, { params }]) => [name, z.compile<z.ZodType>(params)]),
) as { [M in MethodName]: (typeof contract)[M]["params"] };

/** Never rejects: whatever a method throws becomes an error of the zone dialect, without a word of its cause. */
export function createDispatch({ methods, log }: { methods: Methods; log: Log }): Dispatch {
  return async ({ body, caller }) => {
    let request: JsonRpcRequest | undefined;
    try {
      request = parseRequest(body);
      return { jsonrpc: "2.0", id: request.id, result: await call({ methods, request, caller }) };
    } catch (thrown) {
      const error = SekishoError.from(thrown);
      if (!isOutcome(error)) logRefusal({ log, error, request, caller });
      return errorResponse({ id: request?.id ?? null, error });
    }
  };
}

/** How a task ended was logged when it did, and is told to everyone who asks. */
function isOutcome({ details }: SekishoError): boolean {
  return details.correlation_id !== undefined;
}

function logRefusal({
  log,
  error,
  request,
  caller,
}: {
  log: Log;
  error: SekishoError;
  request: JsonRpcRequest | undefined;
  caller: Caller;
}): void {
  const { method = "", params, id } = request ?? {};
  const { task_id: taskId, request_id: requestId } = Object(params) as { task_id?: unknown; request_id?: unknown };
  const fields = {
    // A name that is none of ours is whatever a caller liked to send.
    operation: isMethodName(method) ? method : undefined,
    task_id: error.details.task_id ?? loggedId(taskId),
    request_id: loggedId(method === "execute_task" ? id : requestId),
    trace_id: caller.trace && traceIdOf(caller.trace),
    reason: error.reason,
    cause_kind: error.cause === undefined ? undefined : causeKind(error.cause),
  };
  if (error.reason === "internal") log.error("request_failed", fields);
  else log.info("request_refused", fields);
}

export function errorResponse({ id, error }: { id: RequestId | null; error: SekishoError }): JsonRpcResponse {
  return { jsonrpc: "2.0", id, error: encodeError({ error, dialect: "zone" }) };
}

function call(request: { methods: Methods; request: JsonRpcRequest; caller: Caller }): Promise<unknown> {
  const { method: name, params, id } = request.request;
  if (!isMethodName(name)) throw new SekishoError("method_not_found");
  const parsed = paramsSchemas[name].safeParse(params);
  if (!parsed.success) throw new SekishoError("invalid_params", { details: { issues: issuesOf(parsed.error.issues) } });
  // Schema and method come from the same row of the table; TypeScript cannot follow the name through both.
  const method = request.methods[name] as (call: MethodCall<MethodName>) => Promise<unknown>;
  return method({ params: parsed.data, id, caller: request.caller });
}

/** Where and what is wrong, in zod's fixed words, which repeat no value. */
function issuesOf(issues: readonly { path: PropertyKey[]; message: string }[]) {
  return issues.slice(0, maxIssues).map(({ path, message }) => ({ path: path.join("."), message }));
}

function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(contract, name);
}
