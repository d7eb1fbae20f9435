/** The spans seam: what took how long, below which caller. The trace itself goes along with each task, whether spans are sent or not. */
import { childOf, newTrace, type Trace } from "../trace.ts";

export type Attributes = Record<string, string | number | boolean | undefined>;

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
