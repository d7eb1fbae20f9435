/** The server of the bench of A2A, in a process of its own: the official SDK's in express, a bare one, or our host with a store. Tells its URL to the parent. */
import { createServer } from "node:http";
import { AgentCard, Task } from "@a2a-js/sdk";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import { jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createHost } from "@sekisho/execution/host.ts";
import { startExecutionServer } from "@sekisho/execution/http/server.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { startListening } from "@sekisho/runtime/http/server.ts";
import express from "express";
import { createMemoryTaskStore } from "../../world/records.ts";
import { serveParent } from "./measure.ts";

const [, , kind, file = ""] = process.argv;
const parse = (json: unknown) => json as ExecutionTask;

const starts: Record<string, () => Promise<string>> = { sdk: startSdk, bare: startBare };

await serveParent(starts[kind ?? ""] ?? startOurs);

/** The minimal server on node:http: takes the bytes, and returns those of an answer. */
async function startBare(): Promise<string> {
  const answer = JSON.stringify({
    jsonrpc: "2.0",
    id: "1",
    result: { task: { artifacts: [{ parts: [{ text: "done" }] }] } },
  });
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(answer),
      });
      response.end(answer);
    });
  });
  return `http://127.0.0.1:${await startListening({ server, hostname: "127.0.0.1", port: 0, portSetting: "none" })}`;
}

/** The least that its executor can do: one event, the task as it ended. */
async function startSdk(): Promise<string> {
  const executor: AgentExecutor = {
    async execute({ taskId: id, contextId, userMessage }, bus) {
      const status = { state: "TASK_STATE_COMPLETED", timestamp: new Date().toISOString() };
      const artifacts = [{ artifactId: "answer", parts: [{ text: "done" }] }];
      const task = Task.fromJSON({ id, contextId, status, artifacts });
      bus.publish(AgentEvent.task({ ...task, history: [userMessage] }));
      bus.finished();
    },
    async cancelTask() {},
  };
  const app = express();
  const server = createServer(app);
  const port = await startListening({
    server,
    hostname: "127.0.0.1",
    port: 0,
    portSetting: "none",
  });
  const url = `http://127.0.0.1:${port}`;
  const card = AgentCard.fromJSON({
    name: "bench",
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: {},
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  app.use("/a2a", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  return url;
}

async function startOurs(): Promise<string> {
  const agent: Agent = async function* () {
    yield { type: "answer", text: "done" };
  };
  const store =
    kind === "sqlite"
      ? createSqliteTaskStore({ database: openDatabase({ file }), parse })
      : createMemoryTaskStore({ parse });
  const noCard = () => {
    throw new Error("nobody asks the bench for a card");
  };
  const a2a = { cards: { endpoint: noCard, extended: noCard } };
  const host = createHost({ agent, store, authenticator: createNoneAuthenticator(), a2a });
  return (await startExecutionServer({ host, port: 0 })).url;
}
