/** What every part tells of its work beside its log lines: metrics and spans. Both are ids, kinds, sizes and times; never texts. */
import { type Metrics, noMetrics } from "./metrics.ts";
import { noSpans, type Spans } from "./spans.ts";

export type Telemetry = { metrics: Metrics; spans: Spans };

export const noTelemetry: Telemetry = { metrics: noMetrics, spans: noSpans };

/** Of a process that goes on running. */
export type ProcessTelemetry = Telemetry & {
  /** What `GET /metrics` answers; undefined where metrics are switched off. */
  exposition(): Promise<{ contentType: string; body: string } | undefined>;
  /** Sends what was not sent yet. Never rejects. */
  close(): Promise<void>;
};

/** Of a Lambda function, which does nothing between two invocations. */
export type InvocationTelemetry = Telemetry & {
  /** Sends what was not sent yet; awaited before an invocation ends. Never rejects. */
  flush(): Promise<void>;
};
