/** Limits on waiting. Work that cannot be stopped may continue, but its result is ignored. */

/** Settles as `work` does, or rejects with a `TimeoutError` after `timeoutMs`, like `AbortSignal.timeout`. */
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
export async function waitAtMost<T>(request: { work: Promise<T>; timeoutMs: number }): Promise<T | undefined> {
  const { work, timeoutMs } = request;
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, timeoutMs, undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Aborts with `signal`, or after `idleMs` without a `refresh`. `end` stops the timer and aborts, which closes open connections. */
export function createIdleLimit({ idleMs, signal }: { idleMs: number; signal: AbortSignal }): {
  signal: AbortSignal;
  refresh(): void;
  end(): void;
} {
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(), idleMs);
  return {
    signal: AbortSignal.any([signal, idle.signal]),
    refresh: () => void timer.refresh(),
    end() {
      clearTimeout(timer);
      idle.abort();
    },
  };
}

/** Aborts as `signal` does, or with `reason` after `timeoutMs`. `end` stops the timer. */
export function createDeadline({
  timeoutMs,
  signal,
  reason,
}: {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  reason?: unknown;
}): { signal: AbortSignal; end(): void } {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(reason), Math.max(timeoutMs, 0));
  return {
    signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
    end: () => clearTimeout(timer),
  };
}
