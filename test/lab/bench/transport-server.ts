/** The server of the benches over sockets, in a process of its own: a bare peer, or the host with a store. Tells its URL to the parent. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { serveParent } from "./measure.ts";

const [, , kind, file = ""] = process.argv;
const parse = (json: unknown) => json as ExecutionTask;

await serveParent(start);

async function start(): Promise<string> {
  if (kind === "echo") return startBare((body) => body);
  if (kind === "canned") return startBare(canned);
  if (kind === "slack") return startBare(() => posted);
  if (kind === "jayson") return startJayson();
  const database = kind === "sqlite" ? openDatabase({ file }) : undefined;
  return startHost(
    database === undefined
      ? createMemoryTaskStore({ parse })
      : createSqliteTaskStore({ database, parse }),
  );
}

/** A valid answer to every request, so that only the caller's side works. */
function canned(body: Buffer): Buffer {
  const { id } = JSON.parse(body.toString());
  return Buffer.from(
    JSON.stringify({ jsonrpc: "2.0", id, result: { status: "success", response_text: "done" } }),
  );
}

/** Slack's answer to a post. */
const posted = Buffer.from(JSON.stringify({ ok: true, ts: "1700000000.000200" }));

/** The minimal peer: takes the bytes and answers with others. */
async function startBare(answer: (body: Buffer) => Buffer): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("end", () => {
      const body = answer(Buffer.concat(chunks));
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": body.byteLength,
      });
      response.end(body);
    });
  });
  return listen(server);
}

async function listen(server: Server): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type Outcome = { status: string; response_text: string };
type Answer = (error: null | { code: number; message: string }, result?: Outcome) => void;
type Methods = Record<string, (params: { request_id: string }, answer: Answer) => void>;

/** The least that its methods can do: keep an outcome in memory, and read it. */
async function startJayson(): Promise<string> {
  const { default: jayson } = await import("jayson");
  const outcomes = new Map<string, Outcome>();
  const methods: Methods = {
    execute_task({ request_id: id }, answer) {
      const outcome = { status: "success", response_text: "done" };
      outcomes.set(id, outcome);
      answer(null, outcome);
    },
    get_task({ request_id: id }, answer) {
      const outcome = outcomes.get(id);
      if (outcome === undefined) answer({ code: -32000, message: "There is no such task." });
      else answer(null, outcome);
    },
  };
  return listen(jayson.server(methods).http());
}

async function startHost(store: TaskStore<ExecutionTask>): Promise<string> {
  const agent: Agent = async function* () {
    yield { type: "answer", text: "done" };
  };
  const host = createHost({ agent, store, authenticator: createNoneAuthenticator() });
  return (await startExecutionServer({ host, port: 0 })).url;
}
