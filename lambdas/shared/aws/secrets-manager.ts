/** Reads secrets from AWS Secrets Manager. Every read is fresh, so that a rotated secret takes effect. */
import type { SecretReference } from "../config/values.ts";
import type { AwsDependencies } from "./credentials.ts";
import { createJsonCall } from "./json-call.ts";

/** `id` is the secret's name or ARN. Rejects with a message that names the id, never a value. */
export type ReadManagedSecret = (request: { id: string }) => Promise<string>;

export function createReadManagedSecret(options: AwsDependencies & { timeoutMs?: number }): ReadManagedSecret {
  const { timeoutMs = 2000, ...dependencies } = options;
  const call = createJsonCall({ ...dependencies, service: "secretsmanager", version: "1.1" });
  return async ({ id }) => {
    const target = "secretsmanager.GetSecretValue";
    const answer = await call({ target, input: { SecretId: id }, signal: AbortSignal.timeout(timeoutMs) });
    if (typeof answer.SecretString === "string" && answer.SecretString !== "") return answer.SecretString;
    throw new Error(`The secret ${id} of Secrets Manager holds no text.`);
  };
}

/** Throws for a reference to an environment variable, which a stage does not have. */
export function toManagedSecretId(reference: SecretReference): string {
  if ("secretsManager" in reference) return reference.secretsManager;
  throw new Error(`${reference.env} is an environment variable's name; on AWS a secret is one of Secrets Manager.`);
}
