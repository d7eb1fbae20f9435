/** A2A's binding JSON-RPC (A2A 1.0, section 9; 0.3, section 3.2.1): every operation is a POST to the same address. */

import { toA2aMethod } from "@sekisho/contracts/a2a/operations.ts";
import { paramsToV03 } from "@sekisho/contracts/a2a/v03/params.ts";
import type { JsonRpcResponse } from "@sekisho/contracts/envelope.ts";
import { isResponse, parseEnvelope } from "../read-response.ts";
import type { Binding, CalledOperation } from "./binding.ts";

export const jsonRpc: Binding = {
  write({ to, operation, params, id }) {
    const { url, version, tenant } = to;
    const method = toA2aMethod({ operation, version });
    if (method === undefined) return undefined;
    // Version 0.3 has no `ListTasks`; `method` was undefined for it.
    const inV03 = operation as Exclude<typeof operation, "ListTasks">;
    const versionParams =
      version === "1.0" ? { ...params, tenant } : paramsToV03({ operation: inV03, params });
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params: versionParams }));
    return { method: "POST", url, body };
  },
  read({ response, operation, id }) {
    const envelope = parseEnvelope({ body: response.body, repairs: true });
    if (envelope !== undefined && "result" in envelope && envelope.id === id)
      return { result: envelope.result };
    return { passed: response, isVersionRefused: isVersionRefused({ envelope, operation, id }) };
  },
  readEvent({ event, id }) {
    if (!isResponse(event)) return "skipped";
    const { result } = event;
    return event.id === id && result !== undefined ? { result } : "failed";
  },
};

const versionNotSupported = -32009;
const methodNotFound = -32601;

/**
 * True if the agent refused the version, so that nothing was processed. Every agent of a version has its `SendMessage`, so "method not
 * found" for it means a wrong version. Other methods may be missing in any version.
 */
function isVersionRefused(response: {
  envelope: JsonRpcResponse | undefined;
  operation: CalledOperation;
  id: string;
}): boolean {
  const { envelope, operation, id } = response;
  if (envelope === undefined || !("error" in envelope)) return false;
  const { code } = envelope.error;
  // An agent that does not support the version may be unable to read the id.
  if (code === versionNotSupported) return envelope.id === id || envelope.id === null;
  return code === methodNotFound && operation === "SendMessage" && envelope.id === id;
}
