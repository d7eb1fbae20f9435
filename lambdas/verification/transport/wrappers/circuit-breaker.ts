/** After some outages in a row, refuses calls to a destination at once for a while, then lets one through to see. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Log, LogFields } from "../../../shared/log.ts";
import { traceIdOf } from "../../../shared/trace.ts";
import type { RunningCall, Wrapper } from "./wrapper.ts";

/**
 * Advisory, and of this process and destination alone. It refuses before anything is sent and says so (`unavailable`);
 * it never judges a call that is under way, so the fate of a task that may have been sent is not its business.
 */
export function circuitBreaker({
  log,
  now,
  onState = () => {},
  maxFailures = 5,
  openMs = 10_000,
}: {
  log: Log;
  now: () => number;
  /** Told at each call whether the circuit is open then. */
  onState?: (state: { isOpen: boolean }) => void;
  maxFailures?: number;
  openMs?: number;
}): Wrapper {
  let failures = 0;
  let openUntilMs = 0;
  let probing = false;

  function succeeded(call: RunningCall): void {
    if (failures >= maxFailures) log.info("circuit_closed", idsOf(call));
    failures = 0;
  }

  function failed(call: RunningCall): void {
    failures += 1;
    if (failures < maxFailures) return;
    if (failures === maxFailures) log.warn("circuit_opened", { ...idsOf(call), delay_ms: openMs });
    openUntilMs = now() + openMs;
  }

  return (next) => async (call) => {
    const tripped = failures >= maxFailures;
    if (tripped) {
      const waitMs = openUntilMs - now();
      if (waitMs > 0 || probing) {
        onState({ isOpen: true });
        throw new SekishoError("unavailable", {
          details: { retry_after_ms: Math.max(waitMs, 0) },
          undelivered: true,
        });
      }
      probing = true;
    }
    try {
      const result = await next(call);
      succeeded(call);
      return result;
    } catch (thrown) {
      const error = SekishoError.from(thrown);
      // A caller that gave up says nothing about the peer.
      if (!call.signal.aborted) isOutage(error) ? failed(call) : succeeded(call);
      throw error;
    } finally {
      onState({ isOpen: failures >= maxFailures });
      if (tripped) probing = false;
    }
  };
}

/** Of the call that made the difference. */
function idsOf({ requestId, trace }: RunningCall): LogFields {
  return { request_id: requestId, trace_id: traceIdOf(trace) };
}

function isOutage({ reason }: SekishoError): boolean {
  return reason === "unavailable" || reason === "ambiguous";
}
