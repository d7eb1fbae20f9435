/** The W3C context as it travels, and as `@opentelemetry/api` has it. */
import { createTraceState, type SpanContext, TraceFlags } from "@opentelemetry/api";
import { parseTrace, type Trace } from "../trace.ts";

/** Undefined where it is malformed. Whoever has it got it from elsewhere: it is remote. */
export function spanContextOf(trace: Trace | undefined): SpanContext | undefined {
  const parsed = trace && parseTrace(trace);
  if (parsed === undefined) return undefined;
  const [, traceId = "", spanId = "", flags = ""] = parsed.traceparent.split("-");
  const { tracestate } = parsed;
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}

export function traceOf({ traceId, spanId, traceFlags, traceState }: SpanContext): Trace {
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

export function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}
