/** A stage of the configuration as CDK stacks, for `cdk deploy` here and in a CDK app of one's own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { configDirectory as directoryOf, loadConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { createStageConfig, findExecutionTarget } from "@sekisho/config/stage-config.ts";
import { CrossStackReferences, type Environment, ReferenceStrength, Stack } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { createWriteBundle } from "./bundle/bundle.ts";
import { ExecutionZone } from "./execution-zone.ts";
import { SekishoIdentity } from "./identity.ts";
import { formatStackName, unknownStageText, type ZoneStack, zoneStacks } from "./names.ts";
import type { StageSettings } from "./stage-settings.ts";
import { VerificationZone } from "./verification-zone.ts";

export type StageLocation = {
  /** The stage of the configuration. Default: the first one. */
  stage?: string | undefined;
  /** The folder of the configuration, and of the paths in it. Default: the working directory. */
  directory?: string;
  /** The file of the configuration. Default: `sekisho.config.json`. */
  config?: string | undefined;
};

/** Reads the settings of a stage for `addStage` and the constructs. Throws a ConfigError that lists all problems. */
export function loadStage({
  stage,
  directory = process.cwd(),
  config: file,
}: StageLocation = {}): StageSettings {
  const location = { directory, file };
  const config = loadConfig(location);
  const [first = "dev"] = Object.keys(config.stages);
  const folder = mkdtempSync(join(tmpdir(), "sekisho-bundles-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return createSettings({
    config,
    configDirectory: directoryOf(location),
    stageName: stage ?? first,
    folder,
  });
}

type StageSource = { config: Config; configDirectory: string; stageName: string; folder: string };

/**
 * `configDirectory` is the folder to which the path of the agent is relative. The bundles are written below `folder`. Throws a
 * ConfigError if the stage is not configured.
 */
export function createSettings({
  config,
  configDirectory,
  stageName,
  folder,
}: StageSource): StageSettings {
  const stage = config.stages[stageName];
  if (stage === undefined)
    throw new ConfigError("The stage", [unknownStageText(config, stageName)]);
  const stageConfig = createStageConfig({ config, stageName });
  const writeBundle = createWriteBundle({ config: stageConfig, configDirectory, folder });
  return { stageName, stage, config: stageConfig, writeBundle };
}

/**
 * Adds the stacks of a stage: `Identity`, `Execution` where the stage has its own, and `Verification`. The command line finds them by
 * their CloudFormation names. Throws a ConfigError if the scope has such stacks already.
 */
export function addStage(app: Construct, settings: StageSettings): void {
  const { stageName, stage } = settings;
  const existingZone = zoneStacks.find((zone) => app.node.tryFindChild(zone) !== undefined);
  if (existingZone !== undefined) {
    throw new ConfigError(`The stage ${stageName}`, [
      `its scope has a construct "${existingZone}" already. Give each stage a scope of its own: addStage(new Stage(app, "${stageName}"), loadStage({ stage: "${stageName}" }))`,
    ]);
  }
  const { verification } = stage;
  const stack = (zone: ZoneStack, env: Environment) =>
    new Stack(app, zone, { stackName: formatStackName({ stageName, zone }), env });
  const identity = stack("Identity", verification);
  new SekishoIdentity(identity, zoneId, { settings });
  const target = findExecutionTarget(stage);
  const execution = target && stack("Execution", target);
  const zone = execution && new ExecutionZone(execution, zoneId, { settings });
  execution?.addStackDependency(identity);
  const last = stack("Verification", verification);
  // CloudFormation would refuse to change an output to which another stack has a strong reference. Other stacks of the app keep their default.
  CrossStackReferences.of(last).consume(ReferenceStrength.WEAK);
  new VerificationZone(last, zoneId, { settings, entry: zone?.entry });
  last.addStackDependency(identity);
  if (execution !== undefined) last.addStackDependency(execution);
}

/** CDK leaves this id out of the logical ids of resources. */
const zoneId = "Default";
