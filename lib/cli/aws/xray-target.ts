/** X-Ray with the person's own AWS: the SDK's default chain of credentials, in the region that the environment names. */
import { defaultAwsCredentials } from "../../../lambdas/shared/aws/default-credentials.ts";
import { endpointsOf } from "../../../lambdas/shared/config/aws-environment.ts";
import { type OtlpTarget, xrayTarget } from "../../../lambdas/shared/telemetry/otlp-target.ts";

/** Undefined where nobody says in which region. */
export function findXrayTarget({ region }: { region: string | undefined }): OtlpTarget | undefined {
  if (region === undefined) return undefined;
  return xrayTarget({ region, credentials: defaultAwsCredentials(), endpointOf: endpointsOf({ region }) });
}
