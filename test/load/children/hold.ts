/** Holds the agents of a load run, so that a given number of tasks is in execution at once however fast the machine is. */

export type Hold = {
  /** Resolves when the agent may end its task. */
  enter(request: { signal: AbortSignal }): Promise<void>;
};

/**
 * One more than `atOnce` lets the one go that has been held for longest. Where none has come for `quietMs`, nobody is
 * waited for any more, and all go.
 */
export function createHold({
  atOnce,
  quietMs,
  now = Date.now,
}: {
  atOnce: number;
  quietMs: number;
  now?: () => number;
}): Hold {
  const held = new Set<() => void>();
  let lastAtMs = now();

  const timer = setInterval(() => {
    if (now() - lastAtMs < quietMs) return;
    for (const release of held) release();
    held.clear();
  }, 250);
  timer.unref();

  return {
    enter({ signal }) {
      lastAtMs = now();
      const { promise, resolve } = Promise.withResolvers<void>();
      held.add(resolve);
      signal.addEventListener("abort", () => {
        held.delete(resolve);
        resolve();
      });
      const [oldest] = held;
      if (held.size > atOnce && oldest !== undefined) {
        held.delete(oldest);
        oldest();
      }
      return promise;
    },
  };
}
