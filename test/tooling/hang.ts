/**
 * The limit of whatever a test waits for. It only ends what hangs: how fast a machine is decides no test. It is shorter than jest's
 * `testTimeout`, so that the failure says what did not come.
 */
export const hangMs = 30 * 60_000;

/** The longest `limits` of a configuration: nothing that is only slow is given up. */
export const longestLimits = {
  callTimeoutMs: 600_000,
  leaseMs: 885_000,
  visibilityTimeoutMs: 900_000,
};

/** The signal of a call that nothing else aborts. */
export function hangSignal(): AbortSignal {
  return AbortSignal.timeout(hangMs);
}
