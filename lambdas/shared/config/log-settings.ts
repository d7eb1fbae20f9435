/** Which log lines are written: what the environment says goes before the configuration, and that before what the entry does by itself. */
import type { LogLevel } from "../log.ts";
import type { TelemetryConfig } from "./telemetry-schema.ts";

/** `debugRatio`: the share of tasks whose lines are written whatever their level (`log-sampling.ts`). */
export type LogSettings = { level: LogLevel; debugRatio: number };

export function logSettingsOf({
  environment: { logLevel, debugRatio },
  config,
  level = "info",
}: {
  environment: { logLevel: LogLevel | undefined; debugRatio: number | undefined };
  config?: TelemetryConfig["logs"];
  level?: LogLevel;
}): LogSettings {
  return { level: logLevel ?? config?.level ?? level, debugRatio: debugRatio ?? config?.debugRatio ?? 0 };
}
