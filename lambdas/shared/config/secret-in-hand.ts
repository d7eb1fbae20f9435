/** Whether a secret that the configuration refers to is there, before anybody reads it. */
import type { SecretReference } from "./values.ts";

/** Of a secret in Secrets Manager nothing is known before it is read. */
export function hasSecret(reference: SecretReference): boolean {
  return "secretsManager" in reference || Boolean(process.env[reference.env]);
}

/** How a person is told which secret is meant. */
export function nameOfSecret(reference: SecretReference): string {
  return "env" in reference ? reference.env : reference.secretsManager;
}
