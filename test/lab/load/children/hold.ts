/** Holds the agents of a load run, so that a given number of tasks is in execution at once on any machine. */

export type Hold = {
  /** Resolves when the agent may end its task. */
  enter(request: { signal: AbortSignal }): Promise<void>;
};

/** When more than `atOnce` agents are held, the one held for longest is released. When none has come for `quietMs`, all are released. */
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
