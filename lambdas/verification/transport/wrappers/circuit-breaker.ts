/** After some outages in a row, refuses calls to a destination at once for a while, then lets one through to see. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Log } from "../../../shared/log.ts";
import type { Wrapper } from "./wrapper.ts";

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

  function succeeded(): void {
    if (failures >= maxFailures) log.info("circuit_closed");
    failures = 0;
  }

  function failed(): void {
    failures += 1;
    if (failures < maxFailures) return;
    if (failures === maxFailures) log.warn("circuit_opened", { delay_ms: openMs });
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
      succeeded();
      return result;
    } catch (thrown) {
      const error = SekishoError.from(thrown);
      // A caller that gave up says nothing about the peer.
      if (!call.signal.aborted) isOutage(error) ? failed() : succeeded();
      throw error;
    } finally {
      onState({ isOpen: failures >= maxFailures });
      if (tripped) probing = false;
    }
  };
}

function isOutage({ reason }: SekishoError): boolean {
  return reason === "unavailable" || reason === "ambiguous";
}
