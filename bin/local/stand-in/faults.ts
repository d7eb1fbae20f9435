/** What can go wrong between a client and Slack, on demand: each fault strikes the next call of its method. */

/**
 * `rate_limited`: 429 with Retry-After, no effect. `status`: that HTTP status, no effect. `error`: `ok: false`, no effect.
 * `reset`: the connection is cut before any effect. `lost_answer`: the effect happens, then the connection is cut.
 * `late`: effect and answer come after `delayMs`, whether somebody still waits or not.
 */
export type Fault = { method: string } & (
  | { type: "rate_limited"; retryAfterSeconds: number }
  | { type: "status"; status: number }
  | { type: "error"; error: string }
  | { type: "reset" }
  | { type: "lost_answer" }
  | { type: "late"; delayMs: number }
);

export type Faults = {
  inject(fault: Fault): void;
  /** The oldest fault waiting for the method; it strikes once. */
  take(method: string): Fault | undefined;
};

export function createFaults(): Faults {
  const waiting: Fault[] = [];
  return {
    inject: (fault) => void waiting.push(fault),
    take(method) {
      const index = waiting.findIndex((fault) => fault.method === method);
      return index < 0 ? undefined : waiting.splice(index, 1)[0];
    },
  };
}
