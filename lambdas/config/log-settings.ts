/** Chooses which log lines a process writes. */
import type { LogLevel } from "@sekisho/runtime/log.ts";
import type { TelemetryConfig } from "./telemetry-schema.ts";

/** `debugRatio` is the share of tasks whose lines are written at every level. */
export type LogSettings = { level: LogLevel; debugRatio: number };

/** The environment takes precedence over the configuration, and the configuration over `level`, the entry's own default. */
export function toLogSettings(request: {
  environment: { logLevel: LogLevel | undefined; debugRatio: number | undefined };
  config?: TelemetryConfig["logs"];
  level?: LogLevel;
}): LogSettings {
  const { config, level = "info" } = request;
  const { logLevel, debugRatio } = request.environment;
  return {
    level: logLevel ?? config?.level ?? level,
    debugRatio: debugRatio ?? config?.debugRatio ?? 0,
  };
}
