/** Finds the stage of the configuration that a command is about. */
import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import { loadConfig } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { Stage } from "../../../lambdas/shared/config/stage-schema.ts";
import { unknownStageText } from "../../cdk/names.ts";

export const stageOptions = { stage: { type: "string" }, config: { type: "string" } } as const;

export type NamedStage = { stageName: string; stage: Stage };

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
  if (stage === undefined) throw new UsageError(`A stage on AWS is needed: ${unknownStageText({ config, stageName })}`);
  return { stageName, stage };
}
