/** What tells a function where its metrics go: nothing, where they are switched off. */
import { metricsNamespaceOf } from "../names.ts";
import type { StageSettings } from "../stage-settings.ts";

export function metricsEnvironment({
  stageName,
  config,
}: Pick<StageSettings, "stageName" | "config">): Record<string, string> {
  return config.telemetry.metrics ? { SEKISHO_METRICS_NAMESPACE: metricsNamespaceOf({ stageName }) } : {};
}
