/** Bounds on waiting for work that cannot be stopped itself. The work may still end later; nobody hears of it then. */

/** Settles as `work` does, or rejects with a `TimeoutError` after `timeoutMs`, as `AbortSignal.timeout` aborts with. */
export async function withinDeadline<T>({ work, timeoutMs }: { work: Promise<T>; timeoutMs: number }): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new DOMException("It took too long.", "TimeoutError")), timeoutMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles as `work` does, or resolves to undefined after `timeoutMs`. */
export async function waitAtMost<T>({
  work,
  timeoutMs,
}: {
  work: Promise<T>;
  timeoutMs: number;
}): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, timeoutMs, undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
