/** The innermost step of a call: one JSON-RPC Request out, one Response in. */
import type { Dialect } from "../../../contracts/dialects.ts";
import { readResponse } from "./read-response.ts";
import type { Transport } from "./transport.ts";
import type { Step } from "./wrappers/wrapper.ts";

export function exchange({ transport, dialect }: { transport: Transport; dialect: Dialect }): Step {
  return async ({ method, params, id, requestId, sessionId, signal, trace, span }) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const response = await transport.send({ body, sessionId, signal, trace });
    span?.set({ "http.response.status_code": response.status });
    return readResponse({ response, method, params, id, requestId, dialect });
  };
}
