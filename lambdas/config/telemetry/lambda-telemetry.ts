/** Telemetry of a Lambda function: metrics as log lines for CloudWatch, and spans that are sent before an invocation ends. */
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { functionResource, readMetricsNamespace } from "@sekisho/runtime/aws/environment.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createEmfMetrics } from "@sekisho/runtime/telemetry/emf-metrics.ts";
import { metricTable } from "@sekisho/runtime/telemetry/metric-table.ts";
import { createXrayTarget } from "@sekisho/runtime/telemetry/otlp-target.ts";
import { type InvocationTelemetry, noMetrics } from "@sekisho/runtime/telemetry/telemetry.ts";
import { openTracing } from "@sekisho/runtime/telemetry/tracing.ts";
import type { TelemetryConfig } from "../telemetry-schema.ts";
import type { SecretReference } from "../values.ts";
import { createSpanTarget } from "./span-target.ts";

/** The caller waits for the flush, so an unreachable collector must not delay answers for long. */
const flushMs = 1000;

export function openLambdaTelemetry(options: {
  config: TelemetryConfig;
  service: "verification" | "execution";
  readSecret: (reference: SecretReference) => Promise<string>;
  aws: AwsDependencies;
  log: Log;
}): InvocationTelemetry {
  const { config, service, readSecret, aws, log } = options;
  const namespace = readMetricsNamespace();
  const emf =
    namespace === undefined
      ? undefined
      : createEmfMetrics({ table: metricTable, namespace, zone: service });
  const resource = functionResource({ region: aws.region });
  const { sampleRatio, exporter } = config.traces;
  const target = createSpanTarget({ exporter, readSecret, xray: createXrayTarget(aws) });
  const tracing = openTracing({ sampleRatio, target, service, resource, flushMs, log });
  return {
    metrics: emf?.metrics ?? noMetrics,
    spans: tracing.spans,
    async flush() {
      emf?.flush();
      await tracing.flush();
    },
  };
}
