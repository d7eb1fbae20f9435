/** The stage of the configuration that a command is about. */
import type { Config } from "../../lambdas/shared/config/schema.ts";
import type { Stage } from "../../lambdas/shared/config/stage-schema.ts";
import { UsageError } from "../commands/command.ts";

export type NamedStage = { stageName: string; stage: Stage };

/** Without a name the only one, else the first: as `cdk` does without `-c stage=NAME`. */
export function chooseStage({ stages }: Config, name: string | undefined): NamedStage {
  const [first] = Object.keys(stages);
  if (first === undefined) {
    throw new UsageError("The configuration has no stages: this command is for what is deployed on AWS.");
  }
  const stageName = name ?? first;
  const stage = stages[stageName];
  if (stage === undefined) {
    throw new UsageError(`--stage: there is no stage "${stageName}". Known: ${Object.keys(stages).join(", ")}.`);
  }
  return { stageName, stage };
}
