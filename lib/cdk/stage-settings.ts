/** What every stack of a stage is given. */
import type { Config } from "../../lambdas/shared/config/schema.ts";
import type { ExecutionAddress } from "../../lambdas/shared/config/stage-config.ts";
import type { Stage } from "../../lambdas/shared/config/stage-schema.ts";
import type { WriteBundle } from "./bundle/asset.ts";
import type { WatchedEndpoint } from "./constructs/watch-runtime.ts";

/** Where the zone is reached, and what a caller must be permitted for that. Holds references to what AWS names. */
export type ExecutionEntry = {
  address: ExecutionAddress;
  arns: string[];
  /** The endpoint of an AgentCore runtime. */
  watched?: WatchedEndpoint;
};

export type StageSettings = {
  stageName: string;
  stage: Stage;
  /** As the functions of the stage have it (`createStageConfig`). */
  config: Config;
  /** Bundles a function and resolves to the folder with its code. */
  writeBundle: WriteBundle;
};
