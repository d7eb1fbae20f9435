/** The server of the official SDK, in express on loopback. */
import { createServer } from "node:http";
import { AgentCard } from "@a2a-js/sdk";
import { DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import express from "express";
import type { A2aVersion } from "../../contracts/a2a/operations.ts";
import type { Agent } from "../../lambdas/execution/agents/agent.ts";
import { closeServer, startListening } from "../../lambdas/shared/http/server.ts";
import { sdkExecutor } from "./sdk-executor.ts";

const about = {
  name: "an agent of the official SDK",
  description: "for tests",
  version: "1",
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "talk", name: "talk", description: "talks", tags: ["talk"] }],
};

export async function startSdkServer({
  agent,
  versions,
}: {
  agent: Agent;
  versions: readonly A2aVersion[];
}): Promise<{ cardUrl: string; close: () => Promise<void> }> {
  const app = express();
  const server = createServer(app);
  const port = await startListening({ server, hostname: "127.0.0.1", port: 0, portSetting: "none" });
  const base = `http://127.0.0.1:${port}`;
  const supportedInterfaces = versions.map((protocolVersion) => {
    return { url: `${base}/rpc`, protocolBinding: "JSONRPC", protocolVersion };
  });
  const card = AgentCard.fromJSON({ ...about, supportedInterfaces });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), sdkExecutor({ agent }));
  const options = versions.includes("0.3") ? { legacyCompat: { enabled: true } } : {};
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler, ...options }));
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication, ...options }));
  return { cardUrl: `${base}/.well-known/agent-card.json`, close: () => closeServer(server) };
}
