/** A bound on a wait that cannot be aborted: whoever waits goes on, the work may still end by itself. */

/** Settles as `work` does, or rejects with a `TimeoutError` after `timeoutMs`. What `work` does later is ignored. */
export async function withinDeadline<T>({ work, timeoutMs }: { work: Promise<T>; timeoutMs: number }): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(timeoutError()), timeoutMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Named as what `AbortSignal.timeout` aborts with. */
function timeoutError(): Error {
  return Object.assign(new Error("It took too long."), { name: "TimeoutError" });
}
