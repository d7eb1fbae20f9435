/** With what destinations are checked from here: the ports, secrets and region of one machine, or of a stage. */
import { defaultAwsCredentials } from "../../lambdas/shared/aws/default-credentials.ts";
import { createReadManagedSecret } from "../../lambdas/shared/aws/secrets-manager.ts";
import { endpointsOf } from "../../lambdas/shared/config/aws-environment.ts";
import { readEnvironment } from "../../lambdas/shared/config/environment.ts";
import { type ConfigPlace, configDirectory } from "../../lambdas/shared/config/load.ts";
import { readSecret } from "../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { createLog } from "../../lambdas/shared/log.ts";
import type { CheckSurroundings } from "./check.ts";
import type { InForce } from "./in-force.ts";

export function surroundingsOf({
  config,
  named,
  place,
  signal,
}: Pick<InForce, "config" | "named"> & { place: ConfigPlace; signal: AbortSignal }): CheckSurroundings {
  const region = named?.stage.verification.region;
  const { executionPort, logLevel } = readEnvironment();
  return {
    config,
    directory: configDirectory(place),
    executionPort: named === undefined ? executionPort : undefined,
    region,
    readSecret: region === undefined ? readSecret : secretsOf(region),
    log: createLog({ service: "sekisho", level: logLevel ?? "error" }),
    signal,
  };
}

/** A stage's secrets are those of its Secrets Manager, in its region. */
export function secretsOf(region: string): (reference: SecretReference) => Promise<string> {
  const read = createReadManagedSecret({
    region,
    credentials: defaultAwsCredentials(),
    endpointOf: endpointsOf({ region }),
  });
  return async (reference) =>
    "secretsManager" in reference ? read({ id: reference.secretsManager }) : readSecret(reference);
}
