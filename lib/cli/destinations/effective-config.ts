/** Reads the configuration in effect: the file's on this machine, and in a stage the file's with what was pushed there. */

import {
  listUndeployedChanges,
  outdatedSettings,
  withLiveSettings,
} from "@sekisho/config/live-settings.ts";
import { type ConfigLocation, loadConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { createStageConfig, withExecutionAddress } from "@sekisho/config/stage-config.ts";
import { readJson } from "@sekisho/local/read-json.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { executionAddressSchema } from "@sekisho/verification/config/worker-environment.ts";
import * as z from "zod";
import { AwsFailure } from "../aws/aws-failure.ts";
import type { NamedStage } from "../aws/stage.ts";
import { readLiveSettings } from "../zone/live-settings.ts";
import { openStageZone } from "../zone/stage-zone.ts";
import { fingerprintsIn } from "./push-live-settings.ts";

export type EffectiveConfig = {
  config: Config;
  /** Undefined on one machine. */
  named: NamedStage | undefined;
  /** Destinations of the file that the stage does not have as the file says. */
  notDeployed: string[];
  /** True if no routes were pushed, so that the file's are in effect. */
  routesFromFile: boolean;
  /** Destinations whose pushed addresses are not used, because another peer or credential has been deployed since. */
  outdated: string[];
};

export function outdatedText(names: string[]): string {
  return `The pushed settings of ${names.join(", ")} are ignored, because another peer or credential was deployed since. The deployed address is in effect.`;
}

type ConfigRequest = { location: ConfigLocation; stage: string | undefined; signal: AbortSignal };

/** A stage publishes only fingerprints of what is deployed. Rejects with an AwsFailure or a ConfigError. */
export async function readEffectiveConfig({
  location,
  stage,
  signal,
}: ConfigRequest): Promise<EffectiveConfig> {
  const file = loadConfig(location);
  if (stage === undefined) {
    return { config: file, named: undefined, notDeployed: [], routesFromFile: true, outdated: [] };
  }
  const zone = await openStageZone({ config: file, stage, signal });
  const { settings } = await readLiveSettings(zone).finally(zone.close);
  const { stageName, stage: namedStage, outputs } = zone.at;
  const stageConfig = createStageConfig({ config: file, stageName });
  const deployedFingerprints = fingerprintsIn(outputs.deployedDestinations);
  const notDeployed = listUndeployedChanges({
    config: stageConfig,
    deployed: deployedFingerprints,
  });
  const live = liveSettingsIn(settings);
  // After a rollback the live settings may name destinations that are no longer deployed. Workers ignore these.
  const missing = Object.keys(live.destinations ?? {}).filter(
    (name) =>
      Object.hasOwn(deployedFingerprints, name) && !Object.hasOwn(stageConfig.destinations, name),
  );
  if (missing.length > 0) {
    throw new AwsFailure(
      `Stage ${stageName} has destinations that this file lacks: ${missing.join(", ")}. Use the file that was deployed.`,
    );
  }
  const address = executionAddressSchema.safeParse(readJson(outputs.executionAddress)).data;
  const config = withExecutionAddress({
    config: withLiveSettings({ config: stageConfig, json: live, deployed: deployedFingerprints }),
    address,
  });
  const outdated = outdatedSettings({ json: live, deployed: deployedFingerprints });
  return {
    config,
    named: { stageName, stage: namedStage },
    notDeployed,
    routesFromFile: live.routes === undefined,
    outdated,
  };
}

const liveSettingsSchema = z.looseObject({
  routes: z.unknown().optional(),
  destinations: z.record(z.string(), z.unknown()).optional(),
});

function liveSettingsIn(text: string): z.infer<typeof liveSettingsSchema> {
  const result = liveSettingsSchema.safeParse(readJson(text));
  if (result.success) return result.data;
  throw new AwsFailure(
    `The stage's live settings cannot be read; ${sekisho} config push replaces them.`,
  );
}
