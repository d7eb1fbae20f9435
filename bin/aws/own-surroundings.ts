/** The person's own AWS: the SDK's default chain of credentials in the region that the environment names. */
import type { AwsSurroundings } from "../../lambdas/shared/aws/credentials.ts";
import { defaultAwsCredentials } from "../../lambdas/shared/aws/default-credentials.ts";
import { endpointsOf } from "../../lambdas/shared/config/aws-environment.ts";

/** Undefined where nobody says in which region. */
export function ownAws({ region }: { region: string | undefined }): AwsSurroundings | undefined {
  return region === undefined
    ? undefined
    : { region, credentials: defaultAwsCredentials(), endpointOf: endpointsOf({ region }) };
}
