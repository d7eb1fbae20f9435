/** Loads the configured agent on one machine. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { types } from "node:util";
import { type Agents, findMainName, listAgents } from "@sekisho/config/agent-list.ts";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { type Agent, withFeedback } from "./agent.ts";
import { createEchoAgent } from "./echo.ts";
import { combineAgents } from "./named-agents.ts";

/** Loads the main agent and those by name, as one. */
export async function loadAgents(request: {
  execution: Agents;
  load: (agent: AgentConfig) => Promise<Agent>;
}): Promise<Agent> {
  const { execution, load } = request;
  const agents = new Map<string | undefined, Agent>();
  for (const { name, agent } of listAgents(execution)) agents.set(name, await load(agent));
  return combineAgents({ agents, mainName: findMainName(execution) });
}

/** Each is loaded only if it is used, with what it imports. */
const builtInAgents = {
  bedrock: () => import("./bedrock.ts"),
  "openai-compatible": () => import("./openai-compatible.ts"),
  responses: () => import("./responses.ts"),
  "ag-ui": () => import("./ag-ui.ts"),
  http: () => import("./http.ts"),
  harness: () => import("./harness.ts"),
};

/** The path of a user's file is relative to `cwd`. The file must export a function `agent`. An error says how to fix it. */
export async function loadAgent(request: {
  agent: AgentConfig;
  cwd: string;
  readSecret: (reference: SecretReference) => Promise<string>;
}): Promise<Agent> {
  const { agent, cwd, readSecret } = request;
  if (agent === "echo") return createEchoAgent();
  if (typeof agent === "string") return loadFile(resolve(cwd, agent));
  const { createAgent } = await builtInAgents[agent.type]();
  return createAgent({
    ...{ config: agent, readSecret, region: undefined, credentials: defaultAwsCredentials() },
  });
}

async function loadFile(file: string): Promise<Agent> {
  const agentModule: unknown = await import(pathToFileURL(file).href).catch((cause: unknown) => {
    throw new Error(`The agent file ${file} ${describeProblem({ cause, file })}`, { cause });
  });
  const { agent, feedback } = Object(agentModule) as { agent?: unknown; feedback?: unknown };
  if (typeof agent === "function") return withFeedback(agent as Agent, feedback);
  throw new Error(
    `The agent file ${file} does not export a function "agent". Begin the function with: export async function* agent(task)`,
  );
}

/** Tells a missing file from a file that fails to load. */
function describeProblem({ cause, file }: { cause: unknown; file: string }): string {
  if (!existsSync(file))
    return "does not exist. The path is relative to the directory of the configuration.";
  return `could not be loaded: ${types.isNativeError(cause) ? cause.message : String(cause)}`;
}
