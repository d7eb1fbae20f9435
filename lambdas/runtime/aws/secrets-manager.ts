/** Reads secrets from AWS Secrets Manager. Every read is fresh, so that a rotated secret takes effect. */
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
