/** Bench of a call over loopback: runner, https transport and host, beside a bare undici client and an echo, and jayson beside the same. */

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noAuthorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { readIncomingMessage } from "@sekisho/runtime/http/read-body.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { Pool } from "undici";
import { type BenchRun, hasPeer } from "./bench.ts";
import { type Caller, type Case, connections, measureSides } from "./measure.ts";
import type { BenchTable } from "./table.ts";

/** What is called by which client. */
type TransportCase = Omit<Case, "file" | "words"> & {
  server: "echo" | "canned" | "memory" | "sqlite" | "jayson";
};

const cases: readonly TransportCase[] = [
  {
    name: "client to host, `get_task`",
    server: "memory",
    caller: ({ url }) => ourCaller({ url, method: "get_task" }),
    goals: { p50: { atMost: 1.5 }, perSecond: { atLeast: 0.6 } },
  },
  {
    name: "client to host, `execute_task`",
    server: "memory",
    caller: ({ url }) => ourCaller({ url, method: "execute_task" }),
    goals: { p50: { atMost: 2.4, aim: 2 }, perSecond: { atLeast: 0.32, aim: 0.42 } },
  },
  {
    name: "the same, tasks in sqlite",
    server: "sqlite",
    caller: ({ url }) => ourCaller({ url, method: "execute_task" }),
  },
  {
    name: "our client, to a peer that answers at once",
    server: "canned",
    caller: ({ url }) => ourCaller({ url, method: "get_task" }),
  },
  {
    name: "undici to our host, `get_task`",
    server: "memory",
    caller: ({ url }) => bareCaller({ url, method: "get_task" }),
  },
  {
    name: "undici to our host, `execute_task`",
    server: "memory",
    caller: ({ url }) => bareCaller({ url, method: "execute_task" }),
  },
  { name: "`node:http` to the same echo", server: "echo", caller: nodeHttpCaller },
];

const jaysonCases: readonly TransportCase[] = (["get_task", "execute_task"] as const).map(
  (method) => ({
    name: `jayson, its client to its server, \`${method}\``,
    server: "jayson",
    caller: ({ url }) => jaysonCaller({ url, method }),
  }),
);

/** Each beside a bare client of undici and an echo. */
export async function benchTransport(run: BenchRun): Promise<BenchTable[]> {
  const directory = await mkdtemp(join(tmpdir(), "sekisho-bench-"));
  const words = (server: TransportCase["server"]) => [server, join(directory, "execution.db")];
  const file = "transport-server.ts";
  const all = hasPeer({ run, name: "jayson" }) ? [...cases, ...jaysonCases] : cases;
  try {
    const table = await measureSides({
      run,
      name: "transport",
      baseline: {
        name: "undici to an echo",
        file,
        words: words("echo"),
        caller: ({ url }) => undiciCaller({ url, newBody }),
      },
      cases: all.map(({ server, ...each }) => ({ ...each, file, words: words(server) })),
    });
    return [table];
  } finally {
    await rm(directory, { recursive: true });
  }
}

const params = {
  channel: "C012AB3CD",
  team_id: "T012AB3CD",
  user_id: "U012AB3CD",
  text: "What is a sekisho?",
};
const headers = {
  "content-type": "application/json",
  accept: "application/json",
  traceparent: createTrace().traceparent,
};

type Method = "execute_task" | "get_task";

function newBody({
  id = randomUUID(),
  method = "execute_task" as Method,
  body = params as object,
} = {}): string {
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

/** The same calls as those of `ourCaller`. Its server knows no more of a task than its outcome. */
async function jaysonCaller({ url, method }: { url: string; method: Method }): Promise<Caller> {
  const { default: jayson } = await import("jayson");
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  const client = jayson.client.http({ hostname, port, agent });
  const call = (method: Method, body: object, id: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    client.request(
      method,
      body,
      id,
      (error: unknown, answer?: { result?: { status?: string } }) => {
        if (answer?.result?.status === "success") resolve();
        else reject(error ?? new Error("this is not the answer"));
      },
    );
    return promise;
  };
  const taskOver = randomUUID();
  await call("execute_task", { ...params, request_id: taskOver }, taskOver);
  return {
    call() {
      const id = randomUUID();
      if (method === "get_task") return call(method, { request_id: taskOver }, id);
      return call(method, { ...params, request_id: id }, id);
    },
    async close() {
      agent.destroy();
    },
  };
}

/** A bare client of node:http. */
function nodeHttpCaller({ url }: { url: string }): Caller {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  return {
    async call() {
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      const body = Buffer.from(newBody());
      const ofBody = { ...headers, "content-length": body.byteLength };
      request({ hostname, port, path: "/", method: "POST", agent, headers: ofBody })
        .once("response", (message) =>
          resolve(readIncomingMessage({ message, maxBytes: 1024 }).then(Buffer.from)),
        )
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
  const execute = (id: string) =>
    client.call({ ...common, requestId: id, method: "execute_task", params, id });
  const taskOver = randomUUID();
  await execute(taskOver);
  return {
    call: () =>
      method === "execute_task"
        ? execute(randomUUID())
        : client.call({
            ...common,
            requestId: taskOver,
            method,
            params: { request_id: taskOver },
            id: randomUUID(),
          }),
    close: () => client.close(),
  };
}
