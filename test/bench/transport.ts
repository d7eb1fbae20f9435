/** Bench of a call over loopback: runner, https transport and host, beside a bare undici client and a bare echo. */

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "undici";
import { readIncomingMessage } from "../../lambdas/shared/http/read-body.ts";
import { silentLog } from "../../lambdas/shared/log.ts";
import { createTrace } from "../../lambdas/shared/telemetry/telemetry.ts";
import { noAuthorizer } from "../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createHttpsTransport } from "../../lambdas/verification/transport/http/transport.ts";
import { createClient } from "../../lambdas/verification/transport/runner.ts";
import type { BenchRow } from "./bench-row.ts";
import { type Caller, connections, measureSides } from "./measure.ts";

/** Which of our servers is called by which client; the other side of each row is undici and an echo. */
type Case = {
  name: string;
  server: "echo" | "canned" | "memory" | "sqlite";
  caller: (request: { url: string }) => Caller | Promise<Caller>;
  note: string;
};

const ours = "runner, https transport and host; beside undici and an echo";
const hostAlone = "undici and our host; beside undici and an echo";
const cases: readonly Case[] = [
  {
    name: "node:http alone",
    server: "echo",
    caller: nodeHttpCaller,
    note: "a bare client of node:http to the same echo",
  },
  {
    name: "our client alone",
    server: "canned",
    caller: ({ url }) => ourCaller({ url, method: "get_task" }),
    note: "runner and https transport, to a peer that answers at once",
  },
  {
    name: "no task",
    server: "memory",
    caller: ({ url }) => ourCaller({ url, method: "get_task" }),
    note: `get_task, one read of the store: ${ours}`,
  },
  {
    name: "host alone, no task",
    server: "memory",
    caller: ({ url }) => bareCaller({ url, method: "get_task" }),
    note: `get_task: ${hostAlone}`,
  },
  {
    name: "memory store",
    server: "memory",
    caller: ({ url }) => ourCaller({ url, method: "execute_task" }),
    note: ours,
  },
  {
    name: "host alone, memory store",
    server: "memory",
    caller: ({ url }) => bareCaller({ url, method: "execute_task" }),
    note: hostAlone,
  },
  {
    name: "sqlite store",
    server: "sqlite",
    caller: ({ url }) => ourCaller({ url, method: "execute_task" }),
    note: ours,
  },
];

export async function benchTransport(): Promise<BenchRow[]> {
  const directory = await mkdtemp(join(tmpdir(), "sekisho-bench-"));
  const words = (server: Case["server"]) => [server, join(directory, "execution.db")];
  const file = "transport-server.ts";
  try {
    return await measureSides({
      baseline: { file, words: words("echo"), caller: ({ url }) => undiciCaller({ url, newBody }) },
      cases: cases.map(({ server, ...each }) => ({ ...each, file, words: words(server) })),
    });
  } finally {
    await rm(directory, { recursive: true });
  }
}

const params = { channel: "C012AB3CD", team_id: "T012AB3CD", user_id: "U012AB3CD", text: "What is a sekisho?" };
const headers = {
  "content-type": "application/json",
  accept: "application/json",
  traceparent: createTrace().traceparent,
};

type Method = "execute_task" | "get_task";

function newBody({ id = randomUUID(), method = "execute_task" as Method, body = params as object } = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params: body });
}

/** The same request and headers of the same length; the answer is read and parsed, and nothing else is done. */
function undiciCaller({ url, newBody }: { url: string; newBody: () => string }): Caller {
  const pool = new Pool(url, { connections });
  return {
    async call() {
      const response = await pool.request({ method: "POST", path: "/", headers, body: newBody() });
      return response.body.json();
    },
    close: () => pool.close(),
  };
}

/** The same calls as those of `ourCaller`. */
async function bareCaller({ url, method }: { url: string; method: Method }): Promise<Caller> {
  const taskOver = randomUUID();
  const first = undiciCaller({ url, newBody: () => newBody({ id: taskOver }) });
  await first.call();
  await first.close();
  const body = method === "execute_task" ? params : { request_id: taskOver };
  return undiciCaller({ url, newBody: () => newBody({ method, body }) });
}

/** A bare client of node:http. */
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
async function ourCaller({ url, method }: { url: string; method: Method }): Promise<Caller> {
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
