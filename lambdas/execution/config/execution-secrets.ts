/** Lists the secrets that the configuration of an Execution zone refers to. */
import type { A2aConfig } from "@sekisho/config/a2a-schema.ts";
import { type Agents, listAgents } from "@sekisho/config/agent-list.ts";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import type { AuthenticatorConfig } from "@sekisho/config/authenticator-schema.ts";
import {
  type AuthorizerSecretUse,
  listAuthorizerSecrets,
} from "@sekisho/config/authorizer-needs.ts";
import { isRemote, resolveAgentAuthorizer } from "@sekisho/config/remote-agent.ts";
import type { SecretReference } from "@sekisho/config/values.ts";

export function listAuthenticatorSecrets(authenticator: AuthenticatorConfig): SecretReference[] {
  return authenticator.type === "bearer" ? authenticator.tokens : [];
}

export function listAgentSecrets(execution: Agents): SecretReference[] {
  return listAgents(execution).flatMap(({ agent }) =>
    listSecretsOfAgent(agent).map(({ reference }) => reference),
  );
}

/** The secrets of one agent, each with its use. */
export function listSecretsOfAgent(
  agent: AgentConfig,
): { use: AuthorizerSecretUse | "API key"; reference: SecretReference }[] {
  if (isRemote(agent)) return listAuthorizerSecrets(resolveAgentAuthorizer(agent));
  return typeof agent === "object" && agent.type === "openai-compatible" && agent.apiKey
    ? [{ use: "API key", reference: agent.apiKey }]
    : [];
}

export function listCardSecrets({ signature }: A2aConfig): SecretReference[] {
  return signature === undefined ? [] : [signature.key];
}
