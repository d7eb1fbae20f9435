/** Reads the secrets of a stage, which are in AWS Secrets Manager only. */
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import type { SecretReference } from "./values.ts";

/** Rejects for a reference to an environment variable, which a stage does not have. */
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
