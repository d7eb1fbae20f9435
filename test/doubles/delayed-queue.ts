/** A queue in memory that delivers each message once, after its delay, without retries. */
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";

export type DelayedQueue = TaskQueue & {
  /** Stops delivering. Resolves when all delivered messages are handled. */
  close(): Promise<void>;
};

export function createDelayedQueue({
  handle,
}: {
  handle: (body: string) => Promise<void>;
}): DelayedQueue {
  const waiting = new Set<NodeJS.Timeout>();
  const underWay = new Set<Promise<unknown>>();
  return {
    async send({ body, delayMs = 0 }) {
      const timer = setTimeout(() => {
        waiting.delete(timer);
        const handled = Promise.allSettled([handle(body)]).finally(() => underWay.delete(handled));
        underWay.add(handled);
      }, delayMs);
      waiting.add(timer);
    },
    async close() {
      for (const timer of waiting) clearTimeout(timer);
      await Promise.all(underWay);
    },
  };
}
