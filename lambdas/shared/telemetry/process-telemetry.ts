/** Telemetry of a process that goes on running: metrics for Prometheus, spans to a collector. */
import { ConfigError } from "../config/load.ts";
import { formatSecretName, hasSecret } from "../config/secrets.ts";
import type { TelemetryConfig } from "../config/telemetry-schema.ts";
import type { SecretReference } from "../config/values.ts";
import type { Log } from "../log.ts";
import type { OtlpTarget } from "./otlp-target.ts";
import { createPrometheusMetrics } from "./prometheus-metrics.ts";
import { noMetrics, type ProcessTelemetry } from "./telemetry.ts";
import { openTracing } from "./tracing.ts";

/** Of a process that ends; its caller waits for nothing else. */
const flushMs = 2000;

/** `service` is what the spans are of. Opens nothing before the first span. Throws where the exporter cannot be used here. */
export function openProcessTelemetry({
  config,
  ...dependencies
}: {
  config: TelemetryConfig;
  service: "verification" | "execution";
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Undefined where it cannot be used. */
  xray?: OtlpTarget | undefined;
  log: Log;
}): ProcessTelemetry {
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

/** Better now than once a minute for ever. */
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
