/** What tells every function of a stage which log lines to write. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { formatMetricsNamespace } from "../names.ts";
import type { StageSettings } from "../stage-settings.ts";

export function logEnvironment({ telemetry: { logs } }: Pick<Config, "telemetry">): Record<string, string> {
  return { SEKISHO_LOG_LEVEL: logs.level ?? "info", SEKISHO_LOG_DEBUG_RATIO: String(logs.debugRatio) };
}

// What tells a function where its metrics go: nothing, where they are switched off.

export function metricsEnvironment({
  stageName,
  config,
}: Pick<StageSettings, "stageName" | "config">): Record<string, string> {
  return config.telemetry.metrics ? { SEKISHO_METRICS_NAMESPACE: formatMetricsNamespace({ stageName }) } : {};
}
