/** Secrets are references in the configuration; here they are read, each time anew, so that a rotated one is seen. */
import { defaultAwsCredentials } from "../aws/default-credentials.ts";
import { createReadManagedSecret } from "../aws/secrets-manager.ts";
import { createEndpointResolver } from "./aws-environment.ts";
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
  const dependencies = { region, credentials: defaultAwsCredentials(), endpointOf: createEndpointResolver({ region }) };
  return createReadManagedSecret(dependencies)({ id });
}

// Whether a secret that the configuration refers to is there, before anybody reads it.

/** Of a secret in Secrets Manager nothing is known before it is read. */
export function hasSecret(reference: SecretReference): boolean {
  return "secretsManager" in reference || Boolean(process.env[reference.env]);
}

/** How a person is told which secret is meant. */
export function formatSecretName(reference: SecretReference): string {
  return "env" in reference ? reference.env : reference.secretsManager;
}

// How long the tokens must be that let callers in. A short one could be guessed or found in a list.

export const leastTokenLength = 20;

/** A problem for a person for each variable of the environment that is set to less. It never repeats the token. */
export function shortTokenProblems({
  references,
  variables = process.env,
}: {
  references: readonly SecretReference[];
  variables?: NodeJS.ProcessEnv;
}): string[] {
  return references.flatMap((reference) => {
    const token = "env" in reference ? variables[reference.env] : undefined;
    if (!token || token.length >= leastTokenLength) return [];
    const name = "env" in reference ? reference.env : "";
    return [
      `The token in ${name} is shorter than ${leastTokenLength} characters, and could be guessed. Make one with openssl rand -hex 32.`,
    ];
  });
}
