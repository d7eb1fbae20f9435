/** W3C Trace Context (https://www.w3.org/TR/trace-context/, sections 3.2 and 3.3): parse, make and continue a trace. */
import { randomFillSync } from "node:crypto";

/** What travels beside a request, in the transport's own place. */
export type Trace = { traceparent: string; tracestate?: string | undefined };

const pattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A new root, sampled. `random` gives that many random bytes. */
export function newTrace(random: (bytes: number) => Buffer = pooledBytes): Trace {
  const ids = random(24).toString("hex");
  return { traceparent: `00-${ids.slice(0, 32)}-${ids.slice(32)}-01` };
}

/** The same trace with a span id of its own. */
export function childOf(trace: Trace, random: (bytes: number) => Buffer = pooledBytes): Trace {
  const [, traceId, , flags] = pattern.exec(trace.traceparent) ?? [];
  if (traceId === undefined) return newTrace(random);
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

export function traceIdOf(trace: Trace): string {
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
