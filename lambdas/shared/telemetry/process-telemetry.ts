/** Telemetry of a long-running process: metrics for Prometheus, and spans for a collector. */
import { ConfigError } from "../config/config-error.ts";
import { formatSecretName, hasSecret } from "../config/secrets.ts";
import type { TelemetryConfig } from "../config/telemetry-schema.ts";
import type { SecretReference } from "../config/values.ts";
import type { Log } from "../log.ts";
import type { OtlpTarget } from "./otlp-target.ts";
import { createPrometheusMetrics } from "./prometheus-metrics.ts";
import { noMetrics, type ProcessTelemetry } from "./telemetry.ts";
import { openTracing } from "./tracing.ts";

/** The limit for the last flush, when the process ends. */
const flushMs = 2000;

/** `service` names the source of the spans. Opens nothing before the first span. Throws if the exporter cannot be used here. */
export function openProcessTelemetry(options: {
  config: TelemetryConfig;
  service: "verification" | "execution";
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Undefined if X-Ray is not available. */
  xray?: OtlpTarget | undefined;
  log: Log;
}): ProcessTelemetry {
  const { config, ...dependencies } = options;
  requireHeaders(config);
  const measured = config.metrics ? createPrometheusMetrics() : undefined;
  const tracing = openTracing({ config: config.traces, flushMs, ...dependencies });
  return {
    metrics: measured?.metrics ?? noMetrics,
    spans: tracing.spans,
    exposition: async () => measured?.exposition(),
    async close() {
      measured?.close();
      await tracing.close();
    },
  };
}

/** Fails at the start, because a missing header would otherwise be logged every minute. */
function requireHeaders({ traces: { exporter } }: TelemetryConfig): void {
  const headers = exporter.type === "otlp" ? Object.entries(exporter.headers) : [];
  const problems = headers.flatMap(([name, reference]) =>
    hasSecret(reference)
      ? []
      : [
          `telemetry.traces.exporter.headers.${name}: the environment variable ${formatSecretName(reference)} is not set`,
        ],
  );
  if (problems.length > 0) throw new ConfigError("The configuration", problems);
}
