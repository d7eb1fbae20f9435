/** Wakes those in this process that wait for something to happen to a queue; other processes notice by polling. */

export type Bell = {
  ring(name: string): void;
  /** Resolves at the next ring of that name, after `ms`, or when the signal aborts, whatever comes first. Never rejects. */
  wait(request: { name: string; ms: number; signal: AbortSignal | undefined }): Promise<void>;
};

export function createBell(): Bell {
  const waiters = new Map<string, Set<() => void>>();
  return {
    ring(name) {
      for (const wake of waiters.get(name) ?? []) wake();
    },
    wait({ name, ms, signal }) {
      if (signal?.aborted) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const those = waiters.get(name) ?? new Set();
      waiters.set(name, those.add(wake));
      const timer = setTimeout(wake, ms);
      signal?.addEventListener("abort", wake);
      function wake() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        those.delete(wake);
        resolve();
      }
      return promise;
    },
  };
}
