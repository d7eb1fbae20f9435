/** Limits on waiting. Work that cannot be stopped may continue, but its result is ignored. */

/** Settles as `work` does, or rejects with a `TimeoutError` after `timeoutMs`, like `AbortSignal.timeout`. */
export async function withinDeadline<T>({
  work,
  timeoutMs,
}: {
  work: Promise<T>;
  timeoutMs: number;
}): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new DOMException("It took too long.", "TimeoutError")),
    timeoutMs,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles as `work` does, or resolves to undefined after `timeoutMs`. */
export async function waitAtMost<T>(request: {
  work: Promise<T>;
  timeoutMs: number;
}): Promise<T | undefined> {
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
  const reason = () => new DOMException(`Nothing came for ${idleMs} ms.`, "IdleTimeout");
  const timer = setTimeout(() => idle.abort(reason()), idleMs);
  return {
    signal: AbortSignal.any([signal, idle.signal]),
    refresh: () => void timer.refresh(),
    end() {
      clearTimeout(timer);
      idle.abort();
    },
  };
}

/**
 * Aborts as `signal` does, or with `reason` after `timeoutMs`. `end` stops the timer; nothing aborts after that. It follows the signal by
 * a listener of its own, because `AbortSignal.any` costs several times as much for each call.
 */
export function createDeadline({
  timeoutMs,
  signal,
  reason,
}: {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  reason?: unknown;
}): { signal: AbortSignal; end(): void } {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(reason), Math.max(timeoutMs, 0));
  const follow = () => deadline.abort(signal?.reason);
  signal?.addEventListener("abort", follow);
  if (signal?.aborted) follow();
  return {
    signal: deadline.signal,
    end() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", follow);
    },
  };
}
