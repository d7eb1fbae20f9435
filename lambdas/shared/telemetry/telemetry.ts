/**
 * The telemetry seam: metrics, spans, and the trace that goes along with each task (W3C Trace Context,
 * https://www.w3.org/TR/trace-context/, sections 3.2 and 3.3). Names and labels are finitely many, and nothing holds a text.
 */

import { randomFillSync } from "node:crypto";
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

type SpanAttributes = Record<string, string | number | boolean | undefined>;

/** `name` is one of finitely many. `attributes` by the semantic conventions of OpenTelemetry where they have one; never texts. */
export type SpanStart = {
  name: string;
  kind: "internal" | "server" | "client" | "consumer" | "producer";
  /** Whose child it is. Of the same trace the span that is under way here goes before it. */
  trace?: Trace | undefined;
  attributes?: SpanAttributes;
};

export type OpenSpan = {
  /** What travels to whoever is called within the span. */
  trace: Trace;
  set(attributes: SpanAttributes): void;
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
  within: ({ trace }, work) =>
    work({ trace: trace === undefined ? createTrace() : createChildTrace(trace), set() {}, fail() {} }),
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

/** What travels beside a request, in the transport's own place. */
export type Trace = { traceparent: string; tracestate?: string | undefined };

const pattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A new root. Here, and nowhere later, it is decided whether its spans are kept. `random` gives that many random bytes. */
export function createTrace({
  sampleRatio = 1,
  random = pooledBytes,
}: {
  sampleRatio?: number;
  random?: (bytes: number) => Buffer;
} = {}): Trace {
  const ids = random(24).toString("hex");
  const traceId = ids.slice(0, 32);
  return { traceparent: `00-${traceId}-${ids.slice(32)}-${isTraceSampled({ traceId, sampleRatio }) ? "01" : "00"}` };
}

/**
 * Decided by the id itself, as OpenTelemetry does (specification, "Probability sampling", of whose 56 random bits the first 52
 * are looked at): whoever asks for a larger share keeps all that whoever asks for a smaller one keeps.
 */
export function isTraceSampled({ traceId, sampleRatio }: { traceId: string; sampleRatio: number }): boolean {
  return Number.parseInt(traceId.slice(18, 31), 16) >= (1 - sampleRatio) * 2 ** 52;
}

/** The same trace with a span id of its own. */
export function createChildTrace(trace: Trace, random: (bytes: number) => Buffer = pooledBytes): Trace {
  const [, traceId, , flags] = pattern.exec(trace.traceparent) ?? [];
  if (traceId === undefined) return createTrace({ random });
  return { ...trace, traceparent: `00-${traceId}-${random(8).toString("hex")}-${flags}` };
}

/** The trace that a caller sent, or undefined where the header is absent or malformed (then a new one starts, section 3.2.2.5). */
export function parseTrace({
  traceparent,
  tracestate,
}: {
  traceparent: string | null | undefined;
  tracestate?: string | null | undefined;
}): Trace | undefined {
  if (!traceparent || !pattern.test(traceparent)) return undefined;
  return tracestate && tracestate.length <= 512 ? { traceparent, tracestate } : { traceparent };
}

/** As HTTP carries it. */
export function createTraceHeaders({ traceparent, tracestate }: Trace): Record<string, string> {
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}

export function readTraceId(trace: Trace): string {
  return trace.traceparent.slice(3, 35);
}

const pool = Buffer.alloc(4096);
let used = pool.byteLength;

/** Each draw from the system's generator costs microseconds, so one fills the pool for many ids. No two calls get the same bytes. */
function pooledBytes(bytes: number): Buffer {
  if (used + bytes > pool.byteLength) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.subarray(used - bytes, used);
}
