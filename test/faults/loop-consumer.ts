/** The receiving half of a simulated queue as the local loop uses it: without a timer, it waits for the queue's bell. */
import type { QueueConsumer } from "../../lambdas/shared/engine/ports.ts";
import { operate } from "./operate.ts";
import type { Delivery, SimQueue } from "./sim-queue.ts";
import type { World } from "./world.ts";

const times = { usualMs: 2, giveUpMs: 3000, landMs: 5000 };
const outOfReach = () => new Error("the queue is out of reach");
const failures = { refused: outOfReach, unknown: outOfReach };

export function createLoopConsumer({
  world,
  queue,
  name,
}: {
  world: World;
  queue: SimQueue;
  name: "queue" | "push";
}): QueueConsumer {
  const given = new Map<string, Delivery>();
  let ring = () => {};
  queue.listen(() => ring());

  async function dueOrAborted(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    ring = resolve;
    signal?.addEventListener("abort", () => resolve(), { once: true });
    if (!queue.isDue()) await promise;
  }

  return {
    async receive({ max, visibilityTimeoutMs, signal }) {
      while (!signal?.aborted) {
        await dueOrAborted(signal);
        const effect = () => queue.take({ max, visibilityTimeoutMs });
        const about = () => queue.first();
        const deliveries = await operate({ world, point: `${name}.deliver`, about, times, failures, effect });
        if (deliveries.length > 0) return deliveries.map(received);
      }
      return [];
    },
    async finish({ receipt }) {
      const delivery = given.get(receipt);
      const about = () => (delivery === undefined ? "nothing" : queue.describe(delivery.message));
      const effect = () => delivery !== undefined && queue.remove(delivery);
      return operate({ world, point: `${name}.finish`, about, times, failures, effect });
    },
  };

  function received(delivery: Delivery) {
    const { message, receiveCount } = delivery;
    const receipt = `${message.number}.${receiveCount}`;
    given.set(receipt, delivery);
    return { body: message.body, receipt, receiveCount, sentAtMs: message.sentAtMs };
  }
}
