/** Searches of the simulation that find nothing. */
import { expect } from "@jest/globals";
import { faults, figuresOf } from "./command.ts";

/** Runs the searches at once, one process each, prints the figure, and lets the story of a failure be read. */
export async function findNothing(
  what: string,
  searches: readonly string[][],
  { leastRuns }: { leastRuns: number },
) {
  const results = await Promise.all(searches.map((search) => faults(...search)));
  const figures = results.map(figuresOf);
  const [runs, met, failures] = (["runs", "faults", "failures"] as const).map((name) =>
    figures.reduce((sum, figure) => sum + figure[name], 0),
  ) as [number, number, number];
  process.stdout.write(`${what}: ${runs} runs, ${met} faults, ${failures} failures\n`);
  for (const { code, stdout } of results) expect(code === 0 ? "" : stdout).toBe("");
  expect(failures).toBe(0);
  expect(runs).toBeGreaterThan(leastRuns);
}
