/** Creates the configured agent in a deployed entry, where the agent is a module of its own beside the handler. */

import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { type Agents, findMainName, listAgents } from "@sekisho/config/agent-list.ts";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { bundledAgentFile } from "@sekisho/config/deployed.ts";
import { createReadStageSecret } from "@sekisho/config/stage-secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import type { AwsCredentialsProvider, AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Agent } from "./agent.ts";
import { combineAgents } from "./named-agents.ts";

/** The dependencies that the entry gives an agent in addition to its configuration. */
export type AgentDependencies = {
  /** Reads the secret at each call, so that a rotated secret takes effect. */
  readSecret: (reference: SecretReference) => Promise<string>;
  /** If undefined, the SDK finds the region. */
  region: string | undefined;
  /** For calls that AWS signs. */
  credentials: AwsCredentialsProvider;
};
/** The type of `createAgent` in an agent's module. `config` is `execution.agent`, or the one of `name` in `execution.agents`. */
export type CreateAgent = (
  dependencies: AgentDependencies & { config: AgentConfig; name?: string | undefined },
) => Agent;

/**
 * Creates the main agent of the configuration and those by name, as one. Call it within `runAsAgent`. Of several agents, one that cannot be
 * created fails its own tasks only. An error of a single one is thrown, so that the process does not start.
 */
export function createAgents(options: {
  execution: Agents;
  createAgent: CreateAgent;
  dependencies: AgentDependencies;
}): Agent {
  const { execution, createAgent, dependencies } = options;
  const list = listAgents(execution);
  const agents = list.map(({ name, agent: config }) => {
    const create = () => createAgent({ ...dependencies, config, name });
    return [name, list.length === 1 ? create() : createOrFail(create)] as const;
  });
  return combineAgents({ agents: new Map(agents), mainName: findMainName(execution) });
}

/** The module of a user's agent may throw when it is loaded. */
function createOrFail(create: () => Agent): Agent {
  try {
    return create();
  } catch (error) {
    const cause_kind = errorKind(error);
    return async function* (_task, { log }) {
      log.error("agent_not_loaded", { reason: "execution_failed", cause_kind });
      yield { type: "failure", reason: "execution_failed" };
    };
  }
}

export function agentDependencies(aws: AwsDependencies): AgentDependencies {
  const { region, credentials } = aws;
  return { region, credentials, readSecret: createReadStageSecret(aws) };
}

/** True for an agent in the handler's folder, which includes the packages of the agent. */
export function isBundledAgent(file: string): boolean {
  return /^agent(-[a-z0-9-]+)?\.cjs$/.test(basename(file));
}

/**
 * Loads an agent's file from the handler's folder when the agent is created, so that a health check does not load it. The module
 * has its own copies of shared classes, so `instanceof` works across the two for `SekishoError` only.
 */
export function createBundledAgent(directory: string): CreateAgent {
  return (dependencies) => {
    const load = createRequire(join(directory, "index.js"));
    const { createAgent }: { createAgent: CreateAgent } = load(
      `./${bundledAgentFile(dependencies.name)}`,
    );
    return createAgent(dependencies);
  };
}
