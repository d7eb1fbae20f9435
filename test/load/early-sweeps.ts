/** An engine whose sweeps come early, so that a run does not have to wait two minutes for its last one. */
import type { Engine } from "../../lib/local/engine.ts";

/** Nothing but a sweep is put off for so long in a load run. */
const sweepDelayMs = 100_000;

export function earlySweeps({ engine, sweepAfterMs }: { engine: Engine; sweepAfterMs: number }): Engine {
  return {
    ...engine,
    taskQueue(request) {
      const { queue, deadLetters } = engine.taskQueue(request);
      return {
        deadLetters,
        queue: {
          ...queue,
          send: ({ delayMs = 0, ...message }) =>
            queue.send({ ...message, delayMs: delayMs < sweepDelayMs ? delayMs : sweepAfterMs }),
        },
      };
    },
  };
}
