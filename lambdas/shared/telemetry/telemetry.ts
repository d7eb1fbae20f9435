/**
 * The telemetry seam: metrics and spans, of names and labels of which there are finitely many. Both are ids, kinds, sizes and times;
 * never texts.
 */

import { childOf, newTrace, type Trace } from "../trace.ts";
import type { LabelsOf, MetricName } from "./metric-table.ts";

export type Metrics = {
  /** Counts `by` (1) more. */
  add<N extends MetricName<"counter">>(name: N, labels: LabelsOf<N>, by?: number): void;
  /** One measured value, in the unit that the name ends with. */
  observe<N extends MetricName<"histogram">>(name: N, labels: LabelsOf<N>, value: number): void;
  /** What it is now. */
  set<N extends MetricName<"gauge">>(name: N, labels: LabelsOf<N>, value: number): void;
};

export const noMetrics: Metrics = { add() {}, observe() {}, set() {} };

type Attributes = Record<string, string | number | boolean | undefined>;

/** `name` is one of finitely many. `attributes` by the semantic conventions of OpenTelemetry where they have one; never texts. */
export type SpanStart = {
  name: string;
  kind: "internal" | "server" | "client" | "consumer" | "producer";
  /** Whose child it is. Of the same trace the span that is under way here goes before it. */
  trace?: Trace | undefined;
  attributes?: Attributes;
};

export type OpenSpan = {
  /** What travels to whoever is called within the span. */
  trace: Trace;
  set(attributes: Attributes): void;
  /** It did not succeed: a reason or a kind, such as `timeout`. */
  fail(kind: string): void;
};

export type Spans = {
  /** The span lasts as long as the work, and fails where that rejects. */
  within<T>(span: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** The root of a trace, told when it is over: it has the ids of `trace` itself. */
  root(span: SpanStart & { trace: Trace; startMs: number; endMs: number; failed?: string | undefined }): void;
};

/** Nothing is sent; each span has an id all the same, so that whoever is called sees one trace. */
export const noSpans: Spans = {
  within: ({ trace }, work) => work({ trace: trace === undefined ? newTrace() : childOf(trace), set() {}, fail() {} }),
  root() {},
};

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

type Labels = Readonly<Record<string, string>>;

/** No value of ours is longer or has other characters; names of destinations are of this form too. */
const plain = /^[\w.:-]{1,64}$/;
const other = "other";

/**
 * The labels under which a value is counted: each is `other` where it is no plain name, and all of them are where the metric
 * has `maxSeries` combinations already. So nothing that a peer says can grow what is kept, or show what it said.
 */
export function createMetricBound({
  maxSeries = 200,
}: {
  maxSeries?: number;
} = {}): (name: string, labels: Labels) => Labels {
  const known = new Map<string, Set<string>>();
  return (name, labels) => {
    const plainLabels = withValues(labels, (value) => (plain.test(value) ? value : other));
    const key = JSON.stringify(Object.values(plainLabels));
    const series = known.get(name) ?? new Set();
    known.set(name, series);
    if (!series.has(key) && series.size >= maxSeries) return withValues(labels, () => other);
    series.add(key);
    return plainLabels;
  };
}

function withValues(labels: Labels, change: (value: string) => string): Labels {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, change(value)]));
}
