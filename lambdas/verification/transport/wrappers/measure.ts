/** Counts calls to a destination, and what of them is repeated: names of ours and of the configuration alone. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Metrics } from "../../../shared/telemetry/metrics.ts";
import type { Wrapper } from "./wrapper.ts";

type Measured = { metrics: Metrics; destination: string };

/** A call with all of its attempts is one, also where an open circuit refuses it. */
export function measureCalls({ metrics, destination, now }: Measured & { now: () => number }): Wrapper {
  return (next) => async (call) => {
    const operation = call.method;
    const startedAtMs = now();
    const ended = (result: string) => {
      metrics.add("sekisho_calls_total", { destination, operation, result });
      metrics.observe("sekisho_call_seconds", { destination, operation }, Math.max(0, now() - startedAtMs) / 1000);
    };
    try {
      const answer = await next(call);
      ended("ok");
      return answer;
    } catch (thrown) {
      const error = SekishoError.from(thrown);
      ended(error.reason);
      throw error;
    }
  };
}

/** To lie within the repetitions. */
export function measureRetries({ metrics, destination }: Measured): Wrapper {
  return (next) => (call) => {
    if (call.attempt > 1) metrics.add("sekisho_retries_total", { destination, operation: call.method });
    return next(call);
  };
}
