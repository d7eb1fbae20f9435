/** The simulation finds nothing in the product: under any one fault, some pairs, and many random ones. */
import { expect, it } from "@jest/globals";
import { faults, figuresOf } from "./command.ts";

/** Runs the searches at once, one process each, prints the figure, and lets the story of a failure be read. */
async function findNothing(what: string, searches: readonly string[][], { leastRuns }: { leastRuns: number }) {
  const ended = await Promise.all(searches.map((search) => faults(...search)));
  const figures = ended.map(figuresOf);
  const [runs, met, failures] = (["runs", "faults", "failures"] as const).map((name) =>
    figures.reduce((sum, figure) => sum + figure[name], 0),
  ) as [number, number, number];
  process.stdout.write(`${what}: ${runs} runs, ${met} faults, ${failures} failures\n`);
  for (const { code, stdout } of ended) expect(code === 0 ? "" : stdout).toBe("");
  expect(failures).toBe(0);
  expect(runs).toBeGreaterThan(leastRuns);
}

const halves = ["1/2", "2/2"];

// The same runs each time: new seeds and the other pairs belong to `npm run campaign`.

it("keeps the promise in every story, whichever one operation meets whichever fault", async () => {
  const searches = halves.map((part) => ["--exhaustive", "one", "--part", part]);
  await findNothing("every one fault, all stories", searches, { leastRuns: 9000 });
});

it("keeps the promise where two operations of a synchronous and of an accepted task meet a fault each", async () => {
  const pairs = ["--exhaustive", "two", "--story", "sync", "--story", "accepted"];
  const parts = ["1/120", "61/120"];
  const searches = parts.map((part) => [...pairs, "--part", part]);
  await findNothing(`two faults, sync and accepted, parts ${parts.join(" and ")}`, searches, { leastRuns: 1500 });
});

it("keeps the promise under as many faults as chance draws, with the same seeds each time", async () => {
  const searches = ["1", "2"].map((seed) => ["--runs", "1500", "--seed", seed]);
  await findNothing("chance, seeds 1 and 2", searches, { leastRuns: 2999 });
});
