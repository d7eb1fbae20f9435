/** A server that speaks CleverAgents' dialect: always HTTP 200, JSON-RPC errors with its own codes, and no `data`. */
import { json } from "../answers.ts";
import { startWebServer, type WebServer } from "../web-server.ts";

/** Its failures. A call whose `text` is one of these names gets that failure. */
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
 * Its only method is `execute_task`. `codes: "names"` is a defect seen in such servers: `code` holds the name, not the
 * number.
 */
export function startCleverAgents({
  codes = "numbers",
}: {
  codes?: "numbers" | "names";
} = {}): Promise<WebServer> {
  return startWebServer({
    async handle({ body }) {
      const { id, method, params } = JSON.parse(Buffer.from(body).toString());
      const name = failureOf({ method, params });
      const failure = name === undefined ? undefined : failures[name];
      if (failure === undefined) {
        return json({
          jsonrpc: "2.0",
          id,
          result: { status: "success", response_text: `done: ${params.text}` },
        });
      }
      const code = codes === "names" ? name : failure.code;
      return json({ jsonrpc: "2.0", id, error: { ...failure, code } });
    },
  });
}

function failureOf({
  method,
  params,
}: {
  method: string;
  params: Record<string, unknown>;
}): string | undefined {
  if (method !== "execute_task") return "METHOD_NOT_FOUND";
  if (typeof params.text !== "string" || params.text === "") return "INVALID_PARAMS";
  return Object.hasOwn(failures, params.text) ? params.text : undefined;
}
