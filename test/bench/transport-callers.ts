/** Who calls in the transport's bench: the bare clients, and our runner with its https transport. */
import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { Pool } from "undici";
import { readIncomingMessage } from "../../lambdas/shared/http/read-body.ts";
import { silentLog } from "../../lambdas/shared/log.ts";
import { createTrace } from "../../lambdas/shared/telemetry/telemetry.ts";
import { noAuthorizer } from "../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createHttpsTransport } from "../../lambdas/verification/transport/http/transport.ts";
import { createClient } from "../../lambdas/verification/transport/runner.ts";
import type { Caller } from "./measure.ts";

const params = { channel: "C012AB3CD", team_id: "T012AB3CD", user_id: "U012AB3CD", text: "What is a sekisho?" };
const headers = {
  "content-type": "application/json",
  accept: "application/json",
  traceparent: createTrace().traceparent,
};

function newBody(): string {
  return JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method: "execute_task", params });
}

/** The same request and headers of the same length; the answer is read and parsed, and nothing else is done. */
export function undiciCaller({ url, connections }: { url: string; connections: number }): Caller {
  const pool = new Pool(url, { connections });
  return {
    async call() {
      const response = await pool.request({ method: "POST", path: "/", headers, body: newBody() });
      return response.body.json();
    },
    close: () => pool.close(),
  };
}

/** What the https transport is made of, without anything of ours. */
export function nodeHttpCaller({ url }: { url: string }): Caller {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  return {
    async call() {
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      const body = Buffer.from(newBody());
      const ofBody = { ...headers, "content-length": body.byteLength };
      request({ hostname, port, path: "/", method: "POST", agent, headers: ofBody })
        .once("response", (message) => resolve(readIncomingMessage({ message, maxBytes: 1024 }).then(Buffer.from)))
        .once("error", reject)
        .end(body);
      return JSON.parse(Buffer.from(await promise).toString());
    },
    async close() {
      agent.destroy();
    },
  };
}

/** `execute_task` makes a new task of each call; `get_task` reads one that is over. */
export async function ourCaller({
  url,
  method,
}: {
  url: string;
  method: "execute_task" | "get_task";
}): Promise<Caller> {
  const client = createClient({
    transport: createHttpsTransport({ url, authorizer: noAuthorizer }),
    destination: { name: "bench", dialect: "zone", idempotent: true, callTimeoutMs: 30_000 },
    log: silentLog,
  });
  const common = { sessionId: "bench".repeat(8), timeoutMs: 30_000, trace: createTrace() };
  const execute = (id: string) => client.call({ ...common, requestId: id, method: "execute_task", params, id });
  const taskOver = randomUUID();
  await execute(taskOver);
  return {
    call: () =>
      method === "execute_task"
        ? execute(randomUUID())
        : client.call({ ...common, requestId: taskOver, method, params: { request_id: taskOver }, id: randomUUID() }),
    close: () => client.close(),
  };
}
