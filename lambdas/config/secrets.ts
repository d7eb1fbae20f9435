/** Reads secrets, which the configuration only refers to. Every read is fresh, so that a rotated secret takes effect. */
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { createEndpointResolver } from "@sekisho/runtime/aws/environment.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import type { SecretReference } from "./values.ts";

/** For one machine. Rejects with a message that names the reference, never a value. */
export async function readSecret(reference: SecretReference): Promise<string> {
  if ("secretsManager" in reference) return readManaged({ id: reference.secretsManager });
  const value = process.env[reference.env];
  if (!value)
    throw new Error(
      `The environment variable ${reference.env} is not set, but the configuration refers to it.`,
    );
  return value;
}

/** An ARN includes the region; a name needs the environment's. */
async function readManaged({ id }: { id: string }): Promise<string> {
  const region = id.startsWith("arn:")
    ? id.split(":")[3]
    : (process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION);
  if (!region)
    throw new Error(
      `The region of the secret ${id} is unknown. Set AWS_REGION, or configure the ARN instead of the name.`,
    );
  const dependencies = {
    region,
    credentials: defaultAwsCredentials(),
    endpointOf: createEndpointResolver({ region }),
  };
  return createReadManagedSecret(dependencies)({ id });
}

/** The value, if the secret is a variable that is set. */
export function readVariable(reference: SecretReference): string | undefined {
  return "env" in reference ? process.env[reference.env] : undefined;
}

/** True if the secret can probably be read. One in Secrets Manager counts as present, because only a read can tell. */
export function hasSecret(reference: SecretReference): boolean {
  return "secretsManager" in reference || Boolean(process.env[reference.env]);
}

/** The secret's name for a message to a person. */
export function formatSecretName(reference: SecretReference): string {
  return "env" in reference ? reference.env : reference.secretsManager;
}

/** A shorter token could be guessed. */
export const minTokenLength = 20;

/** Lists a problem for each environment variable with a short token. Never repeats the token. */
export function shortTokenProblems({
  references,
}: {
  references: readonly SecretReference[];
}): string[] {
  return references.flatMap((reference) => {
    const name = "env" in reference ? reference.env : "";
    const token = process.env[name];
    if (!token || token.length >= minTokenLength) return [];
    return [
      `The token in ${name} is shorter than ${minTokenLength} characters, so it could be guessed. Make one with openssl rand -hex 32.`,
    ];
  });
}
