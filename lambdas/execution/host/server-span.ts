/** The span of one POST, below its caller's: what the host was asked, and how that ended. By the conventions of JSON-RPC. */
import { operationOf } from "../../../contracts/a2a/operations.ts";
import type { Dialect } from "../../../contracts/dialects.ts";
import { encodeError } from "../../../contracts/encode-error.ts";
import type { JsonRpcRequest } from "../../../contracts/envelope.ts";
import type { SekishoError } from "../../../contracts/errors.ts";
import type { OpenSpan, SpanStart } from "../../shared/telemetry/spans.ts";
import type { Trace } from "../../shared/trace.ts";
import { isMethodName } from "./dispatch.ts";
import { loggedId } from "./logged-ids.ts";

export function serverSpan({ request, trace }: { request: JsonRpcRequest; trace: Trace | undefined }): SpanStart {
  const method = knownName(request.method);
  const id = loggedId(request.id);
  return {
    name: method,
    kind: "server",
    trace,
    attributes: {
      "rpc.system.name": "jsonrpc",
      "rpc.method": method,
      "jsonrpc.protocol.version": "2.0",
      "jsonrpc.request.id": id,
      "sekisho.request_id": method === "execute_task" ? id : undefined,
    },
  };
}

export function failWith({ span, error, dialect }: { span: OpenSpan; error: SekishoError; dialect: Dialect }): void {
  span.set({ "rpc.response.status_code": String(encodeError({ error, dialect }).code) });
  span.fail(error.reason);
}

/** A name that nobody knows is whatever a caller liked to send. */
function knownName(method: string): string {
  return isMethodName(method) || operationOf(method) !== undefined ? method : "_OTHER";
}
