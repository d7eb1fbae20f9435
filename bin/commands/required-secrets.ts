/** Secrets that a command cannot do without: better refused at the start than at the first task. */
import type { AuthenticatorConfig } from "../../lambdas/shared/config/authenticator-schema.ts";
import { secretsOfAuthorizer } from "../../lambdas/shared/config/authorizer-secrets.ts";
import type { Destination } from "../../lambdas/shared/config/destination-schema.ts";
import type { AgentConfig } from "../../lambdas/shared/config/schema.ts";
import { hasSecret, nameOfSecret } from "../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { UsageError } from "./command.ts";

/** Throws a UsageError that names the first environment variable that is not set. */
export function requireSecrets(references: readonly SecretReference[]): void {
  const missing = references.find((reference) => !hasSecret(reference));
  if (missing !== undefined) throw new UsageError(`The environment variable ${nameOfSecret(missing)} is not set.`);
}

/** What a call to the destination is authorized with. */
export function secretsOfDestination(destination: Destination): SecretReference[] {
  if (destination.transport !== "https") return [];
  return secretsOfAuthorizer(destination.authorizer).map(({ reference }) => reference);
}

/** What callers are recognized by; all of them, since the host reads all of them. */
export function secretsOfAuthenticator(authenticator: AuthenticatorConfig): SecretReference[] {
  return authenticator.type === "bearer" ? authenticator.tokens : [];
}

/** What the agent itself needs. */
export function secretsOfAgent(agent: AgentConfig): SecretReference[] {
  return typeof agent === "object" && agent.type === "openai-compatible" && agent.apiKey ? [agent.apiKey] : [];
}
