/** One destination of the configuration opened, called and closed again. */
import { isOwnExecution } from "../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../lambdas/shared/config/destination-schema.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { nameOfSecret } from "../../lambdas/shared/config/secret-in-hand.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import { lacksCredentials } from "../aws/aws-failure.ts";
import { secretsOfDestination } from "../commands/required-secrets.ts";
import { openDestination } from "../local/open-destination.ts";
import { addressOf, authorizerOf, startOwnExecution } from "./describe.ts";
import { type Probe, probe } from "./probe.ts";

export type CheckSurroundings = {
  config: Config;
  /** Where paths of the configuration count from. */
  directory: string;
  /** Where a destination without an address leads on one machine; undefined in a stage. */
  executionPort: number | undefined;
  /** Of the stage; undefined on one machine. */
  region: string | undefined;
  readSecret: (reference: SecretReference) => Promise<string>;
  log: Log;
  signal: AbortSignal;
};

export type Checked = Probe & { name: string; address: string };

/** Never rejects: what keeps it from being called is part of what is told. */
export async function checkDestination({
  name,
  destination,
  ...surroundings
}: CheckSurroundings & { name: string; destination: Destination }): Promise<Checked> {
  const { config, executionPort, readSecret, log, signal } = surroundings;
  const isLocal = isOwnExecution(destination) && executionPort !== undefined;
  const address = addressOf(destination) ?? (isLocal ? `http://127.0.0.1:${executionPort}/` : "unknown");
  const told = (words: string): Checked => ({ name, address, health: "unhealthy", words });
  if (address === "unknown") {
    return told("The stage does not tell where its own Execution zone is: deploy it again, and it will.");
  }
  for (const reference of secretsOfDestination(destination)) {
    const problem = await readSecret(reference).then(() => undefined, secretWords);
    if (problem !== undefined) return told(`Its secret ${nameOfSecret(reference)} cannot be read. ${problem}`);
  }
  try {
    const { transport, close } = await openDestination({
      ...surroundings,
      name,
      executionPort: executionPort ?? 0,
      log,
    });
    const { dialect } = destination;
    const authorizer = authorizerOf(destination);
    const timeoutMs = config.limits.callTimeoutMs;
    try {
      const probed = await probe({ transport, dialect, timeoutMs, signal, address, authorizer });
      const isDown = isLocal && probed.health === "unreachable";
      return { name, address, ...probed, ...(isDown ? { words: `${probed.words} ${startOwnExecution}` } : {}) };
    } finally {
      await close();
    }
  } catch (thrown) {
    return told(thrown instanceof Error ? thrown.message : "It cannot be opened.");
  }
}

function secretWords(thrown: unknown): string {
  if (lacksCredentials(thrown)) return "There are no AWS credentials here; set AWS_PROFILE.";
  return thrown instanceof Error ? thrown.message : "";
}

/** Whether a call is made with credentials of AWS, so that it matters whose they are. */
export function usesAws(destination: Destination): boolean {
  return ["sigv4", "web-identity", "google", "azure"].includes(authorizerOf(destination));
}
