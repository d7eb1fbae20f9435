/** SQS's emulator with a clock that only the test moves, so that nothing becomes due early on a busy machine. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Queue } from "../../tables/task-queue.ts";
import type { SetOn } from "./children/still-clock.ts";
import { type Emulator, endEmulator, readFirstLine } from "./emulators.ts";

const startMs = 1_762_750_300_000;

export type StillSqs = Emulator & {
  nowMs(): number;
  /** Waits until all watched receivers are at the emulator, then moves the clock. */
  advance(request: { ms: number }): Promise<void>;
  /** The same queue; `advance` waits for its receivers. */
  watch(queue: Queue): Queue;
};

export async function startStillSqs(): Promise<StillSqs> {
  const args = [join(__dirname, "children/sqs.ts"), String(startMs)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit", "ipc"] });
  const endpoint = await readFirstLine(child);
  if (endpoint === undefined) throw new Error("SQS's emulator did not start.");
  let nowMs = startMs;
  let receivers = 0;
  return {
    endpoint,
    close: () => endEmulator(child),
    nowMs: () => nowMs,
    async advance({ ms }) {
      // A receiver reads this clock to see whether its time is over.
      nowMs += ms;
      const done = once(child, "message");
      child.send({ ms, receivers } satisfies SetOn);
      await done;
    },
    watch: (queue) => ({
      ...queue,
      async receive(request) {
        if (request.waitMs === 0) return queue.receive(request);
        receivers += 1;
        try {
          return await queue.receive(request);
        } finally {
          receivers -= 1;
        }
      },
    }),
  };
}
