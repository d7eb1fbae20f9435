/** Uses AWS with the operator's own credentials, as the SDK's default chain finds them. */
import { defaultAwsCredentials } from "../../../lambdas/shared/aws/default-credentials.ts";
import { createReadManagedSecret } from "../../../lambdas/shared/aws/secrets-manager.ts";
import { createEndpointResolver } from "../../../lambdas/shared/config/aws-environment.ts";
import { readSecret } from "../../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import { createXrayTarget, type OtlpTarget } from "../../../lambdas/shared/telemetry/otlp-target.ts";

/** Reads from the Secrets Manager of the stage's region; a reference to a variable is read from the environment. */
export function createReadStageSecret({ region }: { region: string }): (reference: SecretReference) => Promise<string> {
  const read = createReadManagedSecret(ownAws(region));
  return async (reference) =>
    "secretsManager" in reference ? read({ id: reference.secretsManager }) : readSecret(reference);
}

/** Undefined where no region is known. */
export function findXrayTarget({ region }: { region: string | undefined }): OtlpTarget | undefined {
  if (region === undefined) return undefined;
  return createXrayTarget(ownAws(region));
}

function ownAws(region: string) {
  return { region, credentials: defaultAwsCredentials(), endpointOf: createEndpointResolver({ region }) };
}
