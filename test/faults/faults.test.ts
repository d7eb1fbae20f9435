/** What the simulation finds in the product: nothing, under any one fault, any two, and many that chance draws. */
import { expect, it } from "@jest/globals";
import { faults, figuresOf } from "./command.ts";

const minutes = 60_000;
/** Other runs every day; what fails is told with the plan that repeats it. */
const today = Math.floor(Date.now() / (24 * 3600_000));

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
/** Two of twenty-four a day, others the next: every pair within twelve days. The command line runs them all. */
const partsOfToday = [1, 2].map((half) => `${2 * (today % 12) + half}/24`);

it(
  "keeps the promise whichever two operations of a synchronous and of an accepted task meet whichever faults",
  async () => {
    const pairs = ["--exhaustive", "two", "--story", "sync", "--story", "accepted"];
    const searches = partsOfToday.map((part) => [...pairs, "--part", part]);
    await findNothing(`two faults, sync and accepted, parts ${partsOfToday.join(" and ")}`, searches, {
      leastRuns: 7000,
    });
  },
  14 * minutes,
);

it(
  "keeps the promise in every story, whichever one operation meets whichever fault",
  async () => {
    const searches = halves.map((part) => ["--exhaustive", "one", "--part", part]);
    await findNothing("every one fault, all stories", searches, { leastRuns: 9000 });
  },
  14 * minutes,
);

it(
  "keeps the promise under as many faults as chance draws in two minutes of two processors",
  async () => {
    const searches = [1, 2].map((number) => ["--seconds", "60", "--runs", "1000000", "--seed", `${today}${number}`]);
    await findNothing(`chance, seeds ${today}1 and ${today}2`, searches, { leastRuns: 1000 });
  },
  5 * minutes,
);
