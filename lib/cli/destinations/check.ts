/** One destination, checked from this machine: with the secrets and the credentials at hand. */
import { isOwnExecution, toAddress } from "../../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../../lambdas/shared/config/destination-schema.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import type { Log } from "../../../lambdas/shared/log.ts";
import { checkDestination, type DestinationCheck } from "../../../lambdas/verification/checks/check-destination.ts";
import { openDestination } from "../../local/open-destination.ts";
import { startOwnExecution } from "./describe.ts";

export type CheckDependencies = {
  config: Config;
  /** Where paths of the configuration count from. */
  directory: string;
  /** Where a destination without an address leads. */
  executionPort: number;
  readSecret: (reference: SecretReference) => Promise<string>;
  log: Log;
  signal: AbortSignal;
};

/** Never rejects: the reason that a destination cannot be called is part of the result. */
export async function checkFromHere({
  name,
  destination,
  ...dependencies
}: CheckDependencies & { name: string; destination: Destination }): Promise<DestinationCheck> {
  const { config, executionPort, readSecret, signal } = dependencies;
  const isOwn = isOwnExecution(destination);
  const address = toAddress(destination) ?? (isOwn ? `http://127.0.0.1:${executionPort}/` : undefined);
  const checked = await checkDestination({
    name,
    destination,
    address,
    timeoutMs: config.limits.callTimeoutMs,
    readSecret,
    open: () => openDestination({ ...dependencies, name }),
    signal,
  });
  const isDown = isOwn && checked.health === "unreachable";
  return isDown ? { ...checked, words: `${checked.words} ${startOwnExecution}` } : checked;
}
