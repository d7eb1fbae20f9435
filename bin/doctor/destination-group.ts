/** Every destination of the configuration, each a check. */
import { type ConfigPlace, configDirectory } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { silentLog } from "../../lambdas/shared/log.ts";
import type { CheckGroup } from "./check.ts";
import { destinationCheck } from "./checks/destination.ts";

export function destinationGroup({
  config,
  place,
  stageName,
  isStarted,
  ...surroundings
}: {
  config: Config;
  place: ConfigPlace;
  /** Undefined on one machine. */
  stageName?: string;
  /** Undefined in a stage. */
  executionPort: number | undefined;
  region: string | undefined;
  readSecret: (reference: SecretReference) => Promise<string>;
  isStarted: () => Promise<boolean>;
  signal: AbortSignal;
}): CheckGroup {
  const stageWords = stageName === undefined ? "" : ` --stage ${stageName}`;
  const checks = Object.entries(config.destinations).map(([name, destination]) =>
    destinationCheck({
      ...surroundings,
      config,
      directory: configDirectory(place),
      log: silentLog,
      name,
      destination,
      isStarted,
      checkWords: `npx sekisho destinations check ${name}${stageWords}`,
    }),
  );
  return { group: "Destinations", checks };
}
