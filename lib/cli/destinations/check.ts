/** Checks one destination from this machine, with the secrets and the credentials of its environment. */
import { isOwnExecution, toAddress } from "../../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../../lambdas/shared/config/destination-schema.ts";
import { readEnvironment } from "../../../lambdas/shared/config/environment.ts";
import { type ConfigLocation, configDirectory } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { readSecret } from "../../../lambdas/shared/config/secrets.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import {
  checkDestination,
  type DestinationCheck,
} from "../../../lambdas/verification/checks/check-destination.ts";
import { openDestination } from "../../local/open-destination.ts";
import { startOwnExecution } from "./describe.ts";

type CheckRequest = {
  config: Config;
  /** Paths of the configuration are relative to its folder. */
  location: ConfigLocation;
  name: string;
  destination: Destination;
  /** The port of a destination without an address. */
  executionPort?: number | undefined;
  signal: AbortSignal;
};

/** Never rejects: the reason that a destination cannot be called is part of the result. */
export async function checkFromHere({
  config,
  location,
  name,
  destination,
  executionPort = readEnvironment().executionPort,
  signal,
}: CheckRequest): Promise<DestinationCheck> {
  const log = createLog({ service: "sekisho", level: readEnvironment().logLevel ?? "error" });
  const isOwn = isOwnExecution(destination);
  const address =
    toAddress(destination) ?? (isOwn ? `http://127.0.0.1:${executionPort}/` : undefined);
  const checked = await checkDestination({
    name,
    destination,
    address,
    timeoutMs: config.limits.callTimeoutMs,
    readSecret,
    open: () =>
      openDestination({ config, name, directory: configDirectory(location), executionPort, log }),
    signal,
  });
  const isDown = isOwn && checked.health === "unreachable";
  return isDown ? { ...checked, summary: `${checked.summary} ${startOwnExecution}` } : checked;
}
