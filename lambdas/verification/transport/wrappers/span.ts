/** Gives every attempt a span id of its own within the task's trace. */
import type { Trace } from "../../../shared/trace.ts";
import type { Wrapper } from "./wrapper.ts";

export function span({ newSpan }: { newSpan: (trace: Trace) => Trace }): Wrapper {
  return (next) => (call) => next({ ...call, trace: newSpan(call.trace) });
}
