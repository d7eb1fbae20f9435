import { expect, it } from "@jest/globals";
import { allKinds, planRun } from "./plan.ts";

const wish = { seed: 7, tasks: 300, kills: 30, kinds: allKinds };

it("plans the same run for the same seed and another run for another seed", () => {
  expect(planRun(wish)).toEqual(planRun(wish));
  expect(planRun(wish)).not.toEqual(planRun({ ...wish, seed: 8 }));
});

it("plans the wanted number of tasks and kills, in order, of every kind and in both zones", () => {
  const { asks, kills } = planRun(wish);
  expect([asks.length, kills.length]).toEqual([wish.tasks, wish.kills]);
  for (const moments of [asks, kills]) {
    const times = moments.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  }
  expect(new Set(asks.map(({ kind }) => kind))).toEqual(new Set(allKinds));
  expect(new Set(kills.map(({ zone }) => zone)).size).toBe(2);
});
