/** Checks one destination: reads its secrets, connects, calls it twice and closes. The CLI and the deployed worker use it. */

import { authorizerOf, listDestinationSecrets } from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import { formatSecretName } from "@sekisho/config/secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import type { Transport } from "../transport/transport.ts";
import { type ProbeResult, probeDestination } from "./probe.ts";

export type DestinationCheck = ProbeResult & { name: string; address: string };

/**
 * Never rejects, because the result says why a destination cannot be called. `address` is for display. It is undefined for the stage's
 * own Execution zone if its address is not known.
 */
export async function checkDestination(request: {
  name: string;
  destination: Destination;
  address: string | undefined;
  /** For each of the two calls. */
  timeoutMs: number;
  readSecret: (reference: SecretReference) => Promise<string>;
  /** `transport` sends each request once, with the authorizer's credential, and does not retry. */
  open: () => Promise<{ transport: Transport; close(): Promise<void> }>;
  signal: AbortSignal;
}): Promise<DestinationCheck> {
  const { name, destination, address, timeoutMs, readSecret, open, signal } = request;
  const result = { name, address: address ?? "unknown" };
  const unhealthy = (summary: string): DestinationCheck => ({
    ...result,
    health: "unhealthy",
    summary,
  });
  if (address === undefined) {
    return unhealthy(
      "The address of the stage's own Execution zone is not known. Deploy the stage again.",
    );
  }
  for (const reference of listDestinationSecrets(destination)) {
    const problem = await readSecret(reference).then(() => undefined, toSecretProblem);
    if (problem !== undefined)
      return unhealthy(`Its secret ${formatSecretName(reference)} cannot be read. ${problem}`);
  }
  try {
    const { transport, close } = await open();
    try {
      const authorizer = authorizerOf(destination);
      const { dialect } = destination;
      const probeResult = await probeDestination({
        transport,
        dialect,
        timeoutMs,
        signal,
        address,
        authorizer,
      });
      return { ...result, ...probeResult };
    } finally {
      await close();
    }
  } catch (error) {
    return unhealthy(
      error instanceof Error ? error.message : "The connection to it cannot be set up.",
    );
  }
}

function toSecretProblem(error: unknown): string {
  const { name, message } = error instanceof Error ? error : { name: "", message: "" };
  const lacksCredentials = /^(CredentialsProviderError|TokenProviderError)$/.test(name);
  return lacksCredentials ? "No AWS credentials were found. Set AWS_PROFILE." : message;
}
