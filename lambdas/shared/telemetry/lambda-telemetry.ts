/** Telemetry of a Lambda function: metrics as log lines for CloudWatch, and spans that are sent before an invocation ends. */
import type { AwsDependencies } from "../aws/credentials.ts";
import { functionResource, readMetricsNamespace } from "../aws/environment.ts";
import type { TelemetryConfig } from "../config/telemetry-schema.ts";
import type { SecretReference } from "../config/values.ts";
import type { Log } from "../log.ts";
import { createEmfMetrics } from "./emf-metrics.ts";
import { metricTable } from "./metric-table.ts";
import { createXrayTarget } from "./otlp-target.ts";
import { type InvocationTelemetry, noMetrics } from "./telemetry.ts";
import { openTracing } from "./tracing.ts";

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
  const measured =
    namespace === undefined
      ? undefined
      : createEmfMetrics({ table: metricTable, namespace, zone: service });
  const resource = functionResource({ region: aws.region });
  const xray = createXrayTarget(aws);
  const tracing = openTracing({
    config: config.traces,
    service,
    resource,
    readSecret,
    xray,
    flushMs,
    log,
  });
  return {
    metrics: measured?.metrics ?? noMetrics,
    spans: tracing.spans,
    async flush() {
      measured?.flush();
      await tracing.flush();
    },
  };
}
