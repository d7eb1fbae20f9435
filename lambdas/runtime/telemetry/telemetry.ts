/**
 * The telemetry interface: metrics, spans, and the trace of each task (W3C Trace Context, https://www.w3.org/TR/trace-context/, sections
 * 3.2 and 3.3). Names and labels have few values and contain no free text.
 */

import { randomFillSync } from "node:crypto";
import type { LabelsOf, MetricName } from "./metric-table.ts";

export type Metrics = {
  /** Increases the counter by `by` (default 1). */
  add<N extends MetricName<"counter">>(name: N, labels: LabelsOf<N>, by?: number): void;
  /** Records one value, in the unit at the end of the name. */
  observe<N extends MetricName<"histogram">>(name: N, labels: LabelsOf<N>, value: number): void;
  /** Sets the current value. */
  set<N extends MetricName<"gauge">>(name: N, labels: LabelsOf<N>, value: number): void;
};

export const noMetrics: Metrics = { add() {}, observe() {}, set() {} };

type SpanAttributes = Record<string, string | number | boolean | undefined>;

/** `name` has few values. `attributes` follow OpenTelemetry's semantic conventions and contain no free text. */
export type SpanStart = {
  name: string;
  kind: "internal" | "server" | "client" | "consumer" | "producer";
  /** The parent. If the current span belongs to the same trace, it takes precedence. */
  trace?: Trace | undefined;
  attributes?: SpanAttributes;
};

export type OpenSpan = {
  /** The trace to pass to everything that is called within the span. */
  trace: Trace;
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed, with a reason or a kind such as `timeout`. */
  fail(kind: string): void;
};

export type Spans = {
  /** The span lasts as long as the work and fails if the work rejects. */
  within<T>(span: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** Records the root of a trace when it is over, with the ids of `trace` itself. */
  root(
    span: SpanStart & { trace: Trace; startMs: number; endMs: number; failed?: string | undefined },
  ): void;
};

/** Sends nothing, but gives each span an id, so that callees see one trace. */
export const noSpans: Spans = {
  within: ({ trace }, work) =>
    work({
      trace: trace === undefined ? createTrace() : createChildTrace(trace),
      set() {},
      fail() {},
    }),
  root() {},
};

export type Telemetry = { metrics: Metrics; spans: Spans };

export const noTelemetry: Telemetry = { metrics: noMetrics, spans: noSpans };

/** For a long-running process. */
export type ProcessTelemetry = Telemetry & {
  /** The content of `GET /metrics`; undefined if metrics are off. */
  exposition(): Promise<{ contentType: string; body: string } | undefined>;
  /** Sends what is left. Never rejects. */
  close(): Promise<void>;
};

/** For a Lambda function, which does nothing between two invocations. */
export type InvocationTelemetry = Telemetry & {
  /** Sends what is left. Await it before an invocation ends. Never rejects. */
  flush(): Promise<void>;
};

type Labels = Readonly<Record<string, string>>;

/** All our label values have this form, including the names of destinations. */
const plain = /^[\w.:-]{1,64}$/;
const other = "other";
const maxSeries = 200;

/**
 * Limits the labels of metrics, so that a peer can neither fill the memory nor put text into a label. A value in another form becomes
 * `other`, and so do all values of a new combination once a metric has `maxSeries` of them.
 */
export function createMetricBound(): (name: string, labels: Labels) => Labels {
  const knownSeries = new Map<string, Set<string>>();
  return (name, labels) => {
    const plainLabels: Record<string, string> = {};
    for (const [label, value] of Object.entries(labels))
      plainLabels[label] = plain.test(value) ? value : other;
    const key = JSON.stringify(Object.values(plainLabels));
    const series = knownSeries.get(name) ?? new Set();
    knownSeries.set(name, series);
    if (!series.has(key) && series.size >= maxSeries)
      return Object.fromEntries(Object.keys(labels).map((label) => [label, other]));
    series.add(key);
    return plainLabels;
  };
}

/** The trace that accompanies a request. */
export type Trace = { traceparent: string; tracestate?: string | undefined };

const pattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Starts a trace and decides whether its spans are kept. `random` returns random hexadecimal digits. */
export function createTrace({
  sampleRatio = 1,
  random = drawDigits,
}: {
  sampleRatio?: number;
  random?: (digits: number) => string;
} = {}): Trace {
  const traceId = random(32);
  return {
    traceparent: `00-${traceId}-${random(16)}-${isTraceSampled({ traceId, sampleRatio }) ? "01" : "00"}`,
  };
}

/**
 * Decides by the trace id like OpenTelemetry (specification, "Probability sampling"), using the first 52 of its 56 random bits. So a larger
 * ratio keeps every trace that a smaller one keeps.
 */
export function isTraceSampled({
  traceId,
  sampleRatio,
}: {
  traceId: string;
  sampleRatio: number;
}): boolean {
  return Number.parseInt(traceId.slice(18, 31), 16) >= (1 - sampleRatio) * 2 ** 52;
}

/** The same trace with a new span id. */
export function createChildTrace(
  trace: Trace,
  random: (digits: number) => string = drawDigits,
): Trace {
  const { traceparent } = trace;
  if (!pattern.test(traceparent)) return createTrace({ random });
  const [start, end] = [traceparent.slice(0, 36), traceparent.slice(52)];
  return { ...trace, traceparent: `${start}${random(16)}${end}` };
}

/** Parses a caller's trace. Undefined if the header is absent or malformed; then a new trace starts (section 3.2.2.5). */
export function parseTrace(request: {
  traceparent: string | null | undefined;
  tracestate?: string | null | undefined;
}): Trace | undefined {
  const { traceparent, tracestate } = request;
  if (!traceparent || !pattern.test(traceparent)) return undefined;
  return tracestate && tracestate.length <= 512 ? { traceparent, tracestate } : { traceparent };
}

/** The HTTP headers of the trace. */
export function createTraceHeaders({ traceparent, tracestate }: Trace): Record<string, string> {
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}

export function readTraceId(trace: Trace): string {
  return trace.traceparent.slice(3, 35);
}

const entropy = Buffer.alloc(4096);
let pool = "";
let usedDigits = 0;

/** Returns random hexadecimal digits. Draws those of many ids at once, because each draw from the system takes microseconds. */
export function drawDigits(digits: number): string {
  if (usedDigits + digits > pool.length) {
    pool = randomFillSync(entropy).toString("hex");
    usedDigits = 0;
  }
  usedDigits += digits;
  return pool.slice(usedDigits - digits, usedDigits);
}
