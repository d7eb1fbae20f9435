/** What wraps a call to the Execution zone: a function from the next step to a step, composed in one place (runner.ts). */
import type { MethodName, ParamsOf, ResultOf } from "../../../../contracts/methods.ts";
import type { OpenSpan } from "../../../shared/telemetry/spans.ts";
import type { Trace } from "../../../shared/trace.ts";

/** A call on its way inwards. `endsAtMs` is when its time is over; `attempt` counts from 1. */
export type RunningCall = {
  method: MethodName;
  params: ParamsOf<MethodName>;
  id: string;
  requestId: string;
  sessionId: string;
  trace: Trace;
  /** Of this attempt, for what is learned on the way. */
  span?: OpenSpan;
  signal: AbortSignal;
  endsAtMs: number;
  attempt: number;
};

/** Rejects with a SekishoError. */
export type Step = (call: RunningCall) => Promise<ResultOf<MethodName>>;
export type Wrapper = (next: Step) => Step;

/** The first wrapper is the outermost. */
export function compose({ wrappers, innermost }: { wrappers: readonly Wrapper[]; innermost: Step }): Step {
  return wrappers.reduceRight((next, wrapper) => wrapper(next), innermost);
}
