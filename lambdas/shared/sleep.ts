/** A wait that ends early on a signal; the timer never outlives it. */

/** Resolves after `ms`, or as soon as the signal aborts; never rejects. */
export type Sleep = (request: { ms: number; signal: AbortSignal }) => Promise<void>;

export const sleep: Sleep = ({ ms, signal }) => {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(done, ms);
  signal.addEventListener("abort", done);
  function done() {
    clearTimeout(timer);
    signal.removeEventListener("abort", done);
    resolve();
  }
  return promise;
};
