/** The dependencies of a check on one machine: its ports, and the secrets of its environment. */
import { readEnvironment } from "../../../lambdas/shared/config/environment.ts";
import { type ConfigLocation, configDirectory } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { readSecret } from "../../../lambdas/shared/config/secrets.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import type { CheckDependencies } from "./check.ts";

export function checkDependencies({
  config,
  place,
  signal,
}: {
  config: Config;
  place: ConfigLocation;
  signal: AbortSignal;
}): CheckDependencies {
  const { executionPort, logLevel } = readEnvironment();
  const log = createLog({ service: "sekisho", level: logLevel ?? "error" });
  return { config, directory: configDirectory(place), executionPort, readSecret, log, signal };
}
