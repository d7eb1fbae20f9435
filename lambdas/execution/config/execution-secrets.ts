/** Lists the secrets that an Execution zone needs, by its configuration. */
import type { A2aConfig } from "../../shared/config/a2a-schema.ts";
import type { AuthenticatorConfig } from "../../shared/config/authenticator-schema.ts";
import type { AgentConfig } from "../../shared/config/schema.ts";
import type { SecretReference } from "../../shared/config/values.ts";

/** What callers are recognized by; all of them, since the host reads all of them. */
export function listAuthenticatorSecrets(authenticator: AuthenticatorConfig): SecretReference[] {
  return authenticator.type === "bearer" ? authenticator.tokens : [];
}

/** What the agent itself needs. */
export function listAgentSecrets(agent: AgentConfig): SecretReference[] {
  return typeof agent === "object" && agent.type === "openai-compatible" && agent.apiKey ? [agent.apiKey] : [];
}

/** What the agent cards are signed with. */
export function listCardSecrets({ signature }: A2aConfig): SecretReference[] {
  return signature === undefined ? [] : [signature.key];
}
