/** How an entry that was written at synth makes the configured agent, and what the agent gets of the entry's surroundings. */
import type { AwsSurroundings } from "../../shared/aws/credentials.ts";
import { createReadManagedSecret } from "../../shared/aws/secrets-manager.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import type { Agent } from "./agent.ts";

export type AgentSurroundings = {
  /** Each time anew, so that a rotated secret is seen. */
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Absent where the SDK has to look for one itself. */
  region: string | undefined;
};
export type CreateAgent = (surroundings: AgentSurroundings) => Agent;

/** In a stage every secret is one of Secrets Manager: another reference is refused with a message that names it. */
export function agentSurroundings(aws: AwsSurroundings): AgentSurroundings {
  const readManagedSecret = createReadManagedSecret(aws);
  return {
    region: aws.region,
    async readSecret(reference) {
      if ("secretsManager" in reference) return readManagedSecret({ id: reference.secretsManager });
      throw new Error(`On AWS the secret ${reference.env} must be one of Secrets Manager.`);
    },
  };
}
