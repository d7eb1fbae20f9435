/** What tells every function of a stage which log lines to write. */
import type { Config } from "../../lambdas/shared/config/schema.ts";

export function logEnvironment({ telemetry: { logs } }: Pick<Config, "telemetry">): Record<string, string> {
  return { SEKISHO_LOG_LEVEL: logs.level ?? "info", SEKISHO_LOG_DEBUG_RATIO: String(logs.debugRatio) };
}
