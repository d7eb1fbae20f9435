/** The clock of a conformance case. Only the case advances it. It is the clock of the engine or of the service's emulator. */

/** `advance` resolves when at least `ms` have passed on the engine's clock. Cases use whole seconds, as SQS does. */
export type Clock = {
  nowMs(): number;
  advance(request: { ms: number }): Promise<void>;
};

/** Only `advance` moves the time. */
export function createVirtualClock(startMs = 1_762_750_300_000): Clock {
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    async advance({ ms }) {
      nowMs += ms;
    },
  };
}
