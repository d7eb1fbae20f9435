/** fast-check's `assert` with a seed that no test chooses, a bound on the time of the search, and one on shrinking. */
import { setTimeout } from "node:timers/promises";
import type * as fastCheck from "fast-check";

type Property = fastCheck.IRawProperty<unknown>;
type Outcome = Awaited<ReturnType<Property["run"]>>;

export type Bounds = {
  /** For the runs of one property until one fails. */
  searchMs: number;
  /** For looking for a smaller counterexample when there is one. */
  shrinkMs: number;
  maxShrinkTries: number;
  /** Runs until the time is over, however many runs the property asks for, and then says how many there were. */
  asManyAsFit?: (runs: number) => void;
};

/** Options that would replace the seed or undo the bounds. */
const reserved = [
  "seed",
  "path",
  "randomType",
  "timeout",
  "skipAllAfterTimeLimit",
  "interruptAfterTimeLimit",
  "markInterruptAsFailure",
  "reporter",
  "asyncReporter",
];

// Tests may replace the clock.
const nowMs = performance.now.bind(performance);

/** A failure says seed and path. A search that does not reach its number of runs in time fails: it never passes with fewer. */
export function createAssert({
  original,
  seed,
  bounds,
}: {
  original: typeof fastCheck;
  seed: number;
  bounds: Bounds;
}): typeof fastCheck.assert {
  function assert(property: Property, params: fastCheck.Parameters<unknown> = {}) {
    const taken = Object.keys(params).filter((name) => reserved.includes(name));
    if (taken.length > 0) throw new TypeError(`A property test does not set ${taken.join(", ")}.`);
    const isEndless = bounds.asManyAsFit !== undefined;
    const numRuns = isEndless ? { numRuns: 2 ** 31 - 1 } : {};
    return original.assert(bounded(property), {
      ...params,
      ...numRuns,
      seed,
      markInterruptAsFailure: !isEndless,
    });
  }

  function bounded(property: Property): Property {
    let endsAtMs = nowMs() + bounds.searchMs;
    let runs = 0;
    let shrinkTries: number | undefined;

    function interrupted() {
      if (shrinkTries === undefined) bounds.asManyAsFit?.(runs);
      return new original.PreconditionFailure(true);
    }

    function seen(outcome: Outcome): Outcome {
      const isFailure = outcome !== null && !original.PreconditionFailure.isFailure(outcome);
      runs++;
      if (shrinkTries !== undefined) shrinkTries++;
      else if (isFailure) {
        shrinkTries = 0;
        endsAtMs = nowMs() + bounds.shrinkMs;
      }
      return outcome;
    }

    function run(value: unknown): Outcome | Promise<Outcome> {
      const leftMs = endsAtMs - nowMs();
      if (leftMs <= 0 || (shrinkTries ?? 0) >= bounds.maxShrinkTries) {
        return property.isAsync() ? Promise.resolve(interrupted()) : interrupted();
      }
      const outcome: unknown = property.run(value);
      return property.isAsync()
        ? withinTime(outcome as Promise<Outcome>, leftMs)
        : seen(outcome as Outcome);
    }

    async function withinTime(running: Promise<Outcome>, leftMs: number): Promise<Outcome> {
      const endController = new AbortController();
      const late = setTimeout(leftMs, undefined, { signal: endController.signal }).then(
        interrupted,
      );
      late.catch(() => {});
      try {
        return seen(await Promise.race([running, late]));
      } finally {
        endController.abort();
      }
    }

    return {
      isAsync: () => property.isAsync(),
      generate: (random, runId) => property.generate(random, runId),
      shrink: (value) => property.shrink(value),
      run: run as Property["run"],
      runBeforeEach: () => property.runBeforeEach(),
      runAfterEach: () => property.runAfterEach(),
    };
  }

  return assert as typeof fastCheck.assert;
}
