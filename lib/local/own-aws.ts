/** Uses AWS with the operator's own credentials, as the SDK's default chain finds them. */

import { readSecret } from "@sekisho/config/secrets.ts";
import { openProcessTelemetry } from "@sekisho/config/telemetry/process-telemetry.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { createEndpointResolver } from "@sekisho/runtime/aws/environment.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import { createXrayTarget } from "@sekisho/runtime/telemetry/otlp-target.ts";
import type { ProcessTelemetry } from "@sekisho/runtime/telemetry/telemetry.ts";

/** Reads from the Secrets Manager of the stage's region; a reference to a variable is read from the environment. */
export function createReadOperatorSecret({
  region,
}: {
  region: string;
}): (reference: SecretReference) => Promise<string> {
  const readManaged = createReadManagedSecret(ownAws(region));
  return async (reference) =>
    "secretsManager" in reference
      ? readManaged({ id: reference.secretsManager })
      : readSecret(reference);
}

type ZoneTelemetry = Pick<Parameters<typeof openProcessTelemetry>[0], "config" | "service" | "log">;

/** The telemetry of a zone on this machine. It can send spans to X-Ray where a region is known. */
export function openZoneTelemetry(
  options: ZoneTelemetry & { region: string | undefined },
): ProcessTelemetry {
  const { region, ...callOptions } = options;
  return openProcessTelemetry({
    ...callOptions,
    readSecret,
    xray: region === undefined ? undefined : createXrayTarget(ownAws(region)),
  });
}

function ownAws(region: string) {
  return {
    region,
    credentials: defaultAwsCredentials(),
    endpointOf: createEndpointResolver({ region }),
  };
}
