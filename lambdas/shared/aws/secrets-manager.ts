/** Reads secrets from AWS Secrets Manager. Every read is fresh, so that a rotated secret takes effect. */
import type { SecretReference } from "../config/values.ts";
import type { AwsDependencies } from "./credentials.ts";
import { createJsonClient } from "./json-call.ts";

const timeoutMs = 2000;

/** `id` is the secret's name or ARN. Rejects with a message that names the id, never a value. */
export type ReadManagedSecret = (request: { id: string }) => Promise<string>;

export function createReadManagedSecret(aws: AwsDependencies): ReadManagedSecret {
  const client = createJsonClient({ ...aws, service: "secretsmanager", timeoutMs });
  return async ({ id }) => {
    const { SecretString: value } = await client.call("GetSecretValue", { SecretId: id });
    if (typeof value === "string" && value !== "") return value;
    throw new Error(
      `The secret ${id} in Secrets Manager holds no text. Store its value as text (SecretString).`,
    );
  };
}

/** Reads the secrets of a stage. Rejects for a reference to an environment variable, which a stage does not have. */
export function createReadStageSecret(
  dependencies: AwsDependencies,
): (reference: SecretReference) => Promise<string> {
  const readManagedSecret = createReadManagedSecret(dependencies);
  return async (reference) => {
    if ("secretsManager" in reference) return readManagedSecret({ id: reference.secretsManager });
    throw new Error(
      `A stage cannot read the environment variable ${reference.env}. Store the secret in Secrets Manager.`,
    );
  };
}
