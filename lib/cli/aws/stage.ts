/** The stage of the configuration that a command is about. */

import { UsageError } from "../../../bin/commands/command.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { Stage } from "../../../lambdas/shared/config/stage-schema.ts";
import { unknownStageText } from "../../cdk/unknown-stage.ts";

export type NamedStage = { stageName: string; stage: Stage };

/** Without a name the only one, else the first: as `cdk` does without `-c stage=NAME`. */
export function chooseStage(config: Config, name: string | undefined): NamedStage {
  const stageName = name ?? Object.keys(config.stages)[0] ?? "dev";
  const stage = config.stages[stageName];
  if (stage === undefined) throw new UsageError(`A stage on AWS is needed: ${unknownStageText({ config, stageName })}`);
  return { stageName, stage };
}
