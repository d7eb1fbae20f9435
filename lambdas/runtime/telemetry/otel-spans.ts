/** Spans over `@opentelemetry/api`, which passes them to the registered SDK. Without one, only trace ids are passed on. */

import {
  trace as api,
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { errorType } from "../error-kind.ts";
import {
  createChildTrace,
  createTrace,
  type OpenSpan,
  parseTrace,
  type SpanStart,
  type Spans,
  type Trace,
} from "./telemetry.ts";

/** Starts a span with the given ids, which needs our own SDK instance (tracing.ts). */
export type StartRoot = (request: {
  name: string;
  kind: SpanKind;
  ids: SpanContext;
  startTime: Date;
}) => Span;

const kinds: Record<SpanStart["kind"], SpanKind> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  producer: SpanKind.PRODUCER,
};

/**
 * Work runs in the span's context, so that spans of an agent or a library become its children. If a root span cannot have its own ids, it
 * is recorded as a child of them. `sampleRatio` is for traces that begin here.
 */
export function createOtelSpans(
  options: { tracer?: Tracer; startRoot?: StartRoot; sampleRatio?: number } = {},
): Spans {
  const { tracer = api.getTracer("sekisho"), startRoot, sampleRatio = 1 } = options;
  return {
    async within({ name, kind, trace, attributes }, work) {
      const parent = toParentContext(trace);
      // A call outside of every trace, such as a read of a group's members, starts no trace.
      if (parent === undefined && kind !== "server")
        return work(createUnrecordedSpan(createTrace({ sampleRatio })));
      const span = tracer.startSpan(
        name,
        { kind: kinds[kind], ...(attributes && { attributes }) },
        runAround(parent),
      );
      const ids = span.spanContext();
      // Without an SDK the API returns the parent's ids.
      const isMade = isSpanContextValid(ids) && ids.spanId !== parent?.spanId;
      if (!isMade)
        return work(
          createUnrecordedSpan(
            trace === undefined ? createTrace({ sampleRatio }) : createChildTrace(trace),
          ),
        );
      return runWithin({ span, inside: api.setSpan(context.active(), span), work });
    },
    root({ name, kind, trace, attributes, startMs, endMs, failed: failureKind }) {
      const ids = spanContextOf(trace);
      if (ids === undefined) return;
      const start = { kind: kinds[kind], startTime: new Date(startMs) };
      const span =
        startRoot?.({ name, ids, ...start }) ?? tracer.startSpan(name, start, runAround(ids));
      span.setAttributes(attributes ?? {});
      if (failureKind !== undefined) markFailed(span, failureKind);
      span.end(new Date(endMs));
    },
  };
}

/** The active span if it belongs to the same trace, because it is a closer parent than the one of the record or the caller. */
function toParentContext(trace: Trace | undefined): SpanContext | undefined {
  const active = api.getSpanContext(context.active());
  const callerContext = spanContextOf(trace);
  return active !== undefined && (trace === undefined || active.traceId === callerContext?.traceId)
    ? active
    : callerContext;
}

function runAround(parent: SpanContext | undefined): Context {
  const active = context.active();
  if (parent === undefined) return api.deleteSpan(active);
  return api.getSpanContext(active) === parent ? active : api.setSpanContext(active, parent);
}

async function runWithin<T>(options: {
  span: Span;
  inside: Context;
  work: (span: OpenSpan) => Promise<T>;
}): Promise<T> {
  const { span, inside, work } = options;
  let hasFailed = false;
  const fail = (kind: string) => {
    if (!hasFailed) markFailed(span, kind);
    hasFailed = true;
  };
  const open: OpenSpan = {
    trace: traceOf(span.spanContext()),
    set: (attributes) => void span.setAttributes(attributes),
    fail,
  };
  try {
    return await context.with(inside, () => work(open));
  } catch (error) {
    fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Sets no description, because an error's message may contain text of users. */
function markFailed(span: Span, kind: string): void {
  span.setAttribute("error.type", kind);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function createUnrecordedSpan(trace: Trace): OpenSpan {
  return { trace, set() {}, fail() {} };
}

/** Undefined for a malformed trace. The span is remote, because the trace came from another process or record. */
function spanContextOf(trace: Trace | undefined): SpanContext | undefined {
  const validTrace = trace && parseTrace(trace);
  if (validTrace === undefined) return undefined;
  const [, traceId = "", spanId = "", flags = ""] = validTrace.traceparent.split("-");
  const { tracestate } = validTrace;
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}

function traceOf({ traceId, spanId, traceFlags, traceState }: SpanContext): Trace {
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

/** True if the trace's sampled flag is set. */
export function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}
