/** The settings that every stack of a stage gets, and the environment variables that follow from them. */

import type { Config } from "@sekisho/config/schema.ts";
import type { ExecutionAddress } from "@sekisho/config/stage-config.ts";
import type { Stage } from "@sekisho/config/stage-schema.ts";
import type { Stack } from "aws-cdk-lib";
import type { WriteBundle } from "./bundle/entry.ts";
import { formatMetricsNamespace } from "./names.ts";

export type StageSettings = {
  stageName: string;
  stage: Stage;
  /** The stage's own configuration (`createStageConfig`). */
  config: Config;
  writeBundle: WriteBundle;
};

/** The address of the Execution zone, and the ARNs that its caller may invoke. The strings may be CloudFormation references. */
export type ExecutionEntry = {
  address: ExecutionAddress;
  arns: string[];
  /** The stack of the Execution zone, to whose outputs the strings refer. */
  stack: Stack;
  /** Set for an AgentCore runtime. */
  watched?: WatchedEndpoint;
};

/** An endpoint by the names that AgentCore's metrics use, and the time that its sessions idle before they end. */
export type WatchedEndpoint = {
  runtimeArn: string;
  runtimeName: string;
  endpointName: string;
  idleSeconds: number;
};

/** Returns the environment variables that choose the log lines of a function or a runtime. */
export function logEnvironment({
  telemetry: { logs },
}: Pick<Config, "telemetry">): Record<string, string> {
  return {
    SEKISHO_LOG_LEVEL: logs.level ?? "info",
    SEKISHO_LOG_DEBUG_RATIO: String(logs.debugRatio),
  };
}

type MetricsSettings = Pick<StageSettings, "stageName" | "config">;

/** Returns the environment variable that names the namespace of a function's metrics. Empty if metrics are off. */
export function metricsEnvironment({ stageName, config }: MetricsSettings): Record<string, string> {
  return config.telemetry.metrics
    ? { SEKISHO_METRICS_NAMESPACE: formatMetricsNamespace({ stageName }) }
    : {};
}
