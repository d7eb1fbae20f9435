/** The Verification zone as one process that does everything, as on one machine (lib/local/verification-zone.ts). */
import { runQueueLoop } from "../../lambdas/shared/engine/loop.ts";
import type { Ingress } from "../../lambdas/verification/ingress/ingress.ts";
import { createLoopConsumer } from "./loop-consumer.ts";
import { createPool, type Pool } from "./pool.ts";
import { within } from "./processes.ts";
import type { ZoneParts } from "./verification-parts.ts";

const maxCompletionReceives = 3;

export function startProcess(parts: ZoneParts): Pool<Ingress> {
  const { world, config, skewMs, log, queue, deadLetters, completions, bootWorker, bootIngress } = parts;
  const { visibilityTimeoutMs, concurrency } = config.limits;

  function boot(): Ingress {
    const worker = bootWorker();
    const loop = { visibilityTimeoutMs, signal: new AbortController().signal, log };
    void runQueueLoop({
      ...loop,
      consumer: createLoopConsumer({ world, queue, name: "queue" }),
      handle: ({ body }, signal) => worker.handle({ body, signal }),
      concurrency,
    });
    void runQueueLoop({
      ...loop,
      consumer: createLoopConsumer({ world, queue: deadLetters, name: "queue" }),
      handle: ({ body }, signal) => worker.deadLetter({ body, signal }),
      concurrency: 1,
    });
    void runQueueLoop({
      ...loop,
      consumer: createLoopConsumer({ world, queue: completions, name: "push" }),
      handle: async ({ body, receiveCount }, signal) => {
        await worker.completion({ body, signal }).catch((error: unknown) => {
          if (receiveCount < maxCompletionReceives) throw error;
        });
      },
      concurrency: 2,
    });
    return bootIngress();
  }

  return createPool<Ingress>({
    world,
    name: "verification ",
    zone: "verification",
    skewMs,
    size: 1,
    boot: (process) => within({ process, run: boot }),
  });
}
