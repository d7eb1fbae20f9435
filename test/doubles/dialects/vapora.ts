/** A server that speaks VAPORA's dialect: errors have an HTTP status, two numbers for all of them, and no `id`. */
import { json } from "../answers.ts";
import { startWebServer, type WebServer } from "../web-server.ts";

type Failure = { status: number; code: number; message: string };

/** The names are VAPORA's own. */
const failures = {
  TaskNotFound: { status: 404, code: -32000, message: "Task not found" },
  InvalidStateTransition: { status: 409, code: -32000, message: "Invalid state transition" },
  Unauthorized: { status: 401, code: -32000, message: "Unauthorized" },
  Forbidden: { status: 403, code: -32000, message: "Forbidden" },
  InvalidRequest: { status: 400, code: -32600, message: "Invalid request" },
  InternalError: { status: 500, code: -32603, message: "Internal error" },
  Unavailable: { status: 503, code: -32603, message: "Unavailable" },
} as const satisfies Record<string, Failure>;
export type VaporaFailure = keyof typeof failures;

/** Answers the next call instead: one of VAPORA's failures, or a bare status from a proxy in front of it. */
export type Outage = VaporaFailure | number;

/** It accepts every task under its request's id. `outages` come first. `ids` are the JSON-RPC ids of all calls. */
export async function startVapora({
  outages = [],
}: {
  outages?: readonly Outage[];
} = {}): Promise<WebServer & { ids: readonly string[] }> {
  const left = [...outages];
  const ids: string[] = [];
  const tasks = new Set<string>();
  const server = await startWebServer({
    async handle({ body }) {
      const { id, method, params } = JSON.parse(Buffer.from(body).toString());
      ids.push(id);
      const outage = left.shift();
      if (typeof outage === "number") return new Response("upstream", { status: outage });
      if (outage !== undefined) return failed(outage);
      if (method === "execute_task") {
        tasks.add(id);
        return json({ jsonrpc: "2.0", id, result: { status: "accepted", task_id: id } });
      }
      if (!tasks.has(params.task_id)) return failed("TaskNotFound");
      if (method === "cancel_task") return failed("InvalidStateTransition");
      return json({ jsonrpc: "2.0", id, result: { status: "success", response_text: "done" } });
    },
  });
  return { ...server, ids };
}

function failed(name: VaporaFailure): Response {
  const { status, ...error } = failures[name];
  return json({ jsonrpc: "2.0", error }, { status });
}
