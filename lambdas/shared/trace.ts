/** W3C Trace Context (https://www.w3.org/TR/trace-context/, sections 3.2 and 3.3): parse, make and continue a trace. */
import { randomFillSync } from "node:crypto";

/** What travels beside a request, in the transport's own place. */
export type Trace = { traceparent: string; tracestate?: string | undefined };

const pattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A new root. Here, and nowhere later, it is decided whether its spans are kept. `random` gives that many random bytes. */
export function newTrace({
  sampleRatio = 1,
  random = pooledBytes,
}: {
  sampleRatio?: number;
  random?: (bytes: number) => Buffer;
} = {}): Trace {
  const ids = random(24).toString("hex");
  const traceId = ids.slice(0, 32);
  return { traceparent: `00-${traceId}-${ids.slice(32)}-${isWithin({ traceId, sampleRatio }) ? "01" : "00"}` };
}

/**
 * Decided by the id itself, as OpenTelemetry does (specification, "Probability sampling", of whose 56 random bits the first 52
 * are looked at): whoever asks for a larger share keeps all that whoever asks for a smaller one keeps.
 */
export function isWithin({ traceId, sampleRatio }: { traceId: string; sampleRatio: number }): boolean {
  return Number.parseInt(traceId.slice(18, 31), 16) >= (1 - sampleRatio) * 2 ** 52;
}

/** The same trace with a span id of its own. */
export function childOf(trace: Trace, random: (bytes: number) => Buffer = pooledBytes): Trace {
  const [, traceId, , flags] = pattern.exec(trace.traceparent) ?? [];
  if (traceId === undefined) return newTrace({ random });
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
export function traceHeaders({ traceparent, tracestate }: Trace): Record<string, string> {
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
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
