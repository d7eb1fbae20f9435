/** A server that speaks CleverAgents' dialect: HTTP 200, JSON-RPC errors with numbers of its own, nothing in `data`. */
import { json } from "../answers.ts";
import { startWebServer, type WebServer } from "../web-server.ts";

/** What its domain may refuse, by the name that `text` asks for it with. */
const failures: Readonly<Record<string, { code: number; message: string }>> = {
  PARSE_ERROR: { code: -32700, message: "Parse error" },
  INVALID_REQUEST: { code: -32600, message: "Invalid request" },
  METHOD_NOT_FOUND: { code: -32601, message: "Method not found" },
  INVALID_PARAMS: { code: -32602, message: "Invalid params" },
  INTERNAL_ERROR: { code: -32603, message: "Internal error" },
  NOT_FOUND: { code: -32001, message: "Entity not found" },
  AUTHENTICATION_REQUIRED: { code: -32002, message: "Authentication required" },
  FORBIDDEN: { code: -32003, message: "Permission denied" },
  INVALID_STATE: { code: -32004, message: "Invalid state" },
  CONFLICT: { code: -32005, message: "Already exists" },
  BUDGET_EXCEEDED: { code: -32006, message: "Budget exceeded" },
  VERSION_MISMATCH: { code: -32007, message: "Version not supported" },
  PLAN_ERROR: { code: -32008, message: "Plan error" },
};

/**
 * Its one method is `execute_task`; a text that is the name of a failure meets it. `codes: "names"` is the defect that such
 * servers have shown: the name in the place of the number.
 */
export function startCleverAgents({ codes = "numbers" }: { codes?: "numbers" | "names" } = {}): Promise<WebServer> {
  return startWebServer({
    async handle({ body }) {
      const { id, method, params } = JSON.parse(Buffer.from(body).toString());
      const name = failureOf({ method, params });
      const failure = name === undefined ? undefined : failures[name];
      if (failure === undefined) {
        return json({ jsonrpc: "2.0", id, result: { status: "success", response_text: `done: ${params.text}` } });
      }
      const code = codes === "names" ? name : failure.code;
      return json({ jsonrpc: "2.0", id, error: { ...failure, code } });
    },
  });
}

function failureOf({ method, params }: { method: string; params: Record<string, unknown> }): string | undefined {
  if (method !== "execute_task") return "METHOD_NOT_FOUND";
  if (typeof params.text !== "string" || params.text === "") return "INVALID_PARAMS";
  return Object.hasOwn(failures, params.text) ? params.text : undefined;
}
