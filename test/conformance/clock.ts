/** How a conformance case lets time pass: by a clock that only the case sets on, of the engine or of the service's emulator. */

/** `advance` resolves when at least `ms` have passed on the clock that the engine reads. Cases use whole seconds, as SQS does. */
export type Clock = {
  nowMs(): number;
  advance(request: { ms: number }): Promise<void>;
};

/** Time stands still but for `advance`. */
export function createVirtualClock(startMs = 1_762_750_300_000): Clock {
  let nowMs = startMs;
  return {
    nowMs: () => nowMs,
    async advance({ ms }) {
      nowMs += ms;
    },
  };
}
