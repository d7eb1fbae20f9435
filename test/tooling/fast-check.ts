/**
 * What tests load as "fast-check" (`moduleNameMapper` in jest.config.mjs): the same library with an `assert` that has a fixed
 * seed and ends in bounded time. New seeds belong to `npm run campaign`, which sets the two variables below.
 *
 * `check`, `sample`, `statistics` and `configureGlobal` are left out: they would get around the seed and the bounds.
 */
import { expect } from "@jest/globals";
import type * as fastCheck from "fast-check";
import * as file from "../../node_modules/fast-check/lib/cjs/fast-check.js";
import { hangMs } from "./hang.ts";
import { type Bounds, createAssert } from "./property-bounds.ts";

export * from "../../node_modules/fast-check/lib/cjs/fast-check.js";

export const original = file as unknown as typeof fastCheck;

/** The seed of every property in `npm test`. */
const fixedSeed = 20_260_101;

/** The search is bounded by its number of runs. Its time only ends what hangs, since jest cannot stop synchronous code. */
const bounds: Bounds = { searchMs: hangMs, shrinkMs: 3000, maxShrinkTries: 1000 };

const { SEKISHO_PROPERTY_SEED: seed = fixedSeed, SEKISHO_PROPERTY_SECONDS: seconds } = process.env;

export const assert = createAssert({
  original,
  seed: Number(seed),
  bounds:
    seconds === undefined
      ? bounds
      : { ...bounds, searchMs: Number(seconds) * 1000, asManyAsFit: tellRuns },
});

function tellRuns(runs: number) {
  process.stderr.write(`${String(runs).padStart(9)} runs: ${expect.getState().currentTestName}\n`);
}

const left: readonly string[] = ["check", "sample", "statistics", "configureGlobal"];
export default {
  ...Object.fromEntries(Object.entries(original).filter(([name]) => !left.includes(name))),
  assert,
};
