/** What Lambda says of one invocation. */

export type InvocationContext = { getRemainingTimeInMillis(): number };

/** What writing down how far acts came may take before Lambda ends the function. */
const settleMs = 5000;

/** The signal aborts shortly before the function's time is over; `done` lets go of the timer. */
export function endingSignal({ context }: { context: InvocationContext }): { signal: AbortSignal; done(): void } {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), Math.max(0, context.getRemainingTimeInMillis() - settleMs));
  return { signal: ending.signal, done: () => clearTimeout(timer) };
}
