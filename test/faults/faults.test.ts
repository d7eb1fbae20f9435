/** What the simulation finds in the product: nothing, under any one fault, and under many that chance draws. */
import { expect, it } from "@jest/globals";
import { type Ended, faults, figuresOf } from "./command.ts";

const minutes = 60_000;

function expectNothingFound(ended: Ended, { leastRuns }: { leastRuns: number }): void {
  const { runs, failures } = figuresOf(ended);
  // The stories of failures, where there are any, are what is to be read.
  expect(failures === 0 ? "" : ended.stdout).toBe("");
  expect(runs).toBeGreaterThan(leastRuns);
  expect(ended.code).toBe(0);
}

it(
  "keeps the promise in every story on both engines, whichever one operation meets whichever fault",
  async () => {
    const parts = await Promise.all(["1/2", "2/2"].map((part) => faults("--exhaustive", "one", "--part", part)));
    for (const part of parts) expectNothingFound(part, { leastRuns: 3000 });
  },
  4 * minutes,
);

it(
  "keeps the promise under faults that chance draws",
  async () => {
    expectNothingFound(await faults("--seed", "7", "--runs", "400"), { leastRuns: 399 });
  },
  2 * minutes,
);
