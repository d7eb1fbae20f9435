/** Secrets are references in the configuration; here they are read, each time anew, so that a rotated one is seen. */
import { defaultAwsCredentials } from "../aws/default-credentials.ts";
import { createReadManagedSecret } from "../aws/secrets-manager.ts";
import { endpointsOf } from "./aws-environment.ts";
import type { SecretReference } from "./values.ts";

/** On one machine. Resolves to the secret's value; rejects with a message that names the reference, never a value. */
export async function readSecret(reference: SecretReference): Promise<string> {
  if ("secretsManager" in reference) return readManaged({ id: reference.secretsManager });
  const value = process.env[reference.env];
  if (!value) throw new Error(`The environment variable ${reference.env} is not set; the configuration refers to it.`);
  return value;
}

/** The ARN says the region; a mere name is looked for in the environment's. */
async function readManaged({ id }: { id: string }): Promise<string> {
  const region = id.startsWith("arn:") ? id.split(":")[3] : (process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION);
  if (!region) throw new Error(`Set AWS_REGION, or give the ARN of the secret ${id} in the configuration.`);
  const surroundings = { region, credentials: defaultAwsCredentials(), endpointOf: endpointsOf({ region }) };
  return createReadManagedSecret(surroundings)({ id });
}
