/** Lists the secrets that the configuration of an Execution zone refers to. */
import type { A2aConfig } from "../../shared/config/a2a-schema.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import type { AgentConfig } from "../../shared/config/execution-schema.ts";
import type { SecretReference } from "../../shared/config/values.ts";

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
