/** Reads secrets of a stage with the credentials at hand: from its Secrets Manager, in its region. */
import { defaultAwsCredentials } from "../../../lambdas/shared/aws/default-credentials.ts";
import { createReadManagedSecret } from "../../../lambdas/shared/aws/secrets-manager.ts";
import { endpointsOf } from "../../../lambdas/shared/config/aws-environment.ts";
import { readSecret } from "../../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";

export function createReadStageSecret({ region }: { region: string }): (reference: SecretReference) => Promise<string> {
  const read = createReadManagedSecret({
    region,
    credentials: defaultAwsCredentials(),
    endpointOf: endpointsOf({ region }),
  });
  return async (reference) =>
    "secretsManager" in reference ? read({ id: reference.secretsManager }) : readSecret(reference);
}
