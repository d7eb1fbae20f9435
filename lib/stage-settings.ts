/** What every stack of a stage is given. */
import type { Config } from "../lambdas/shared/config/schema.ts";
import type { Stage } from "../lambdas/shared/config/stage-schema.ts";
import type { WriteBundle } from "./bundle/asset.ts";

export type StageSettings = {
  stageName: string;
  stage: Stage;
  /** As the functions of the stage have it (`stageConfig`). */
  config: Config;
  /** Bundles a function and resolves to the folder with its code. */
  writeBundle: WriteBundle;
};
