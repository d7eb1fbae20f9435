/** Bounds a call, its repetitions included, by its own time and by the caller's signal. */
import type { Wrapper } from "./transport.ts";

/**
 * Only aborts: what an abort means (nothing was sent, or nobody knows) is said by the transport, which knows it.
 * Every transport gives up at once when the signal does.
 */
export function deadline({ now }: { now: () => number }): Wrapper {
  return (next) => async (call) => {
    const controller = new AbortController();
    const abort = () => controller.abort();
    const timer = setTimeout(abort, Math.max(call.endsAtMs - now(), 0));
    call.signal.addEventListener("abort", abort);
    if (call.signal.aborted) abort();
    try {
      return await next({ ...call, signal: controller.signal });
    } finally {
      clearTimeout(timer);
      call.signal.removeEventListener("abort", abort);
    }
  };
}
