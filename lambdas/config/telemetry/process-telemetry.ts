/** Telemetry of a long-running process: metrics for Prometheus, and spans for a collector. */

import type { Log } from "@sekisho/runtime/log.ts";
import type { OtlpTarget } from "@sekisho/runtime/telemetry/otlp-target.ts";
import { createPrometheusMetrics } from "@sekisho/runtime/telemetry/prometheus-metrics.ts";
import { noMetrics, type ProcessTelemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import { openTracing } from "@sekisho/runtime/telemetry/tracing.ts";
import { ConfigError } from "../config-error.ts";
import { formatSecretName, hasSecret } from "../secrets.ts";
import type { TelemetryConfig } from "../telemetry-schema.ts";
import type { SecretReference } from "../values.ts";
import { createSpanTarget } from "./span-target.ts";

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
  const { config, service, readSecret, xray, log } = options;
  requireHeaders(config);
  const prometheus = config.metrics ? createPrometheusMetrics() : undefined;
  const { sampleRatio, exporter } = config.traces;
  const target = createSpanTarget({ exporter, readSecret, xray });
  const tracing = openTracing({ sampleRatio, target, service, flushMs, log });
  return {
    metrics: prometheus?.metrics ?? noMetrics,
    spans: tracing.spans,
    exposition: async () => prometheus?.exposition(),
    async close() {
      prometheus?.close();
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
