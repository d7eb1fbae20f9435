/** Counts calls of functions by V8's own counters, which are exact. An async function counts again each time it goes on after an `await`. */
import { Session } from "node:inspector/promises";

/** `name` is empty for a callback without a name, and for the code of a module outside its functions. */
export type CalledFunction = { url: string; name: string; calls: number };

export type CallCounter = {
  /** Returns the functions that were called during `run`. */
  count(run: () => Promise<void>): Promise<CalledFunction[]>;
  close(): Promise<void>;
};

export async function openCallCounter(): Promise<CallCounter> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return {
    async count(run) {
      await session.post("Profiler.takePreciseCoverage");
      await run();
      const { result } = await session.post("Profiler.takePreciseCoverage");
      return result.flatMap(({ url, functions }) =>
        functions.flatMap(({ functionName: name, ranges: [whole] }) =>
          whole !== undefined && whole.count > 0 ? [{ url, name, calls: whole.count }] : [],
        ),
      );
    },
    async close() {
      await session.post("Profiler.stopPreciseCoverage");
      session.disconnect();
    },
  };
}
