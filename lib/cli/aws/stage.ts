/** Finds the stage that a command works on. */

import { unknownStageText } from "@sekisho/cdk/names.ts";
import { loadConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import type { Stage } from "@sekisho/config/stage-schema.ts";
import { type CommandRun, configOption, option, UsageError } from "../command.ts";

export const stageOptions = {
  stage: option("NAME", "a stage of the configuration; without it the first one"),
  config: configOption,
};

export type NamedStage = { stageName: string; stage: Stage };
export type StageCall = NamedStage & { signal: AbortSignal };

/** Reads the configuration that the options name, and its stage. Throws a ConfigError or a UsageError. */
export function readStage(
  { directory }: Pick<CommandRun, "directory">,
  { stage, config: file }: { stage?: string | undefined; config?: string | undefined },
): { config: Config; named: NamedStage } {
  const config = loadConfig({ directory, file });
  return { config, named: chooseStage(config, stage) };
}

/** Chooses the first stage where no name is given, as `cdk` does without `-c stage=NAME`. */
export function chooseStage(config: Config, name: string | undefined): NamedStage {
  const stageName = name ?? Object.keys(config.stages)[0] ?? "dev";
  const stage = config.stages[stageName];
  if (stage === undefined)
    throw new UsageError(
      `This command needs a stage on AWS: ${unknownStageText(config, stageName)}`,
    );
  return { stageName, stage };
}
