/** Lists the secrets that the configuration of an Execution zone refers to. */
import type { A2aConfig } from "@sekisho/config/a2a-schema.ts";
import type { AuthenticatorConfig } from "@sekisho/config/authenticator-schema.ts";
import type { AgentConfig } from "@sekisho/config/execution-schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";

export function listAuthenticatorSecrets(authenticator: AuthenticatorConfig): SecretReference[] {
  return authenticator.type === "bearer" ? authenticator.tokens : [];
}

export function listAgentSecrets(agent: AgentConfig): SecretReference[] {
  return typeof agent === "object" && agent.type === "openai-compatible" && agent.apiKey
    ? [agent.apiKey]
    : [];
}

export function listCardSecrets({ signature }: A2aConfig): SecretReference[] {
  return signature === undefined ? [] : [signature.key];
}
