/** How an entry creates the configured agent, what it gives the agent, and the agent as a module of its own beside the handler. */

import { createRequire } from "node:module";
import { join } from "node:path";
import type { AwsDependencies } from "../../shared/aws/credentials.ts";
import { createReadManagedSecret } from "../../shared/aws/secrets-manager.ts";
import type { AgentConfig } from "../../shared/config/schema.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import type { Agent } from "./agent.ts";

/** What the entry gives an agent, beside the agent's own part of the configuration. */
type AgentDependencies = {
  /** Each time anew, so that a rotated secret is seen. */
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Absent where the SDK has to look for one itself. */
  region: string | undefined;
};
/** The agent module of an asset exports one as `createAgent`. `config` is `execution.agent`. */
export type CreateAgent = (dependencies: AgentDependencies & { config: AgentConfig }) => Agent;

/** In a stage every secret is one of Secrets Manager: another reference is refused with a message that names it. */
export function agentDependencies(aws: AwsDependencies): AgentDependencies {
  const readManagedSecret = createReadManagedSecret(aws);
  return {
    region: aws.region,
    async readSecret(reference) {
      if ("secretsManager" in reference) return readManagedSecret({ id: reference.secretsManager });
      throw new Error(`On AWS the secret ${reference.env} must be one of Secrets Manager.`);
    },
  };
}

/**
 * The agent of `agent.cjs` in the folder of the handler. The module is loaded when the agent is created, so that a process
 * that runs no task, such as a health check, does not load it. The module has classes of its own: of these only
 * `SekishoError` is recognized on both sides.
 */
export function createBundledAgent(directory: string): CreateAgent {
  return (dependencies) => {
    const load = createRequire(join(directory, "index.js"));
    const { createAgent }: { createAgent: CreateAgent } = load("./agent.cjs");
    return createAgent(dependencies);
  };
}
