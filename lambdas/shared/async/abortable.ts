/** Stops waiting for work that cannot be stopped itself. */

/** Settles as `promise` does, or rejects with the signal's reason as soon as it aborts. */
export function abortable<T>({ promise, signal }: { promise: Promise<T>; signal: AbortSignal }): Promise<T> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  return result;
}
