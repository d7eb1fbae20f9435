/** The simulation finds nothing in the product under any one fault, and under some pairs. */
import { it } from "@jest/globals";
import { findNothing } from "./find-nothing.ts";

const halves = ["1/2", "2/2"];

// The same runs each time: new seeds and the other pairs belong to `npm run campaign`.

it("keeps the guarantees in every story for every single fault at every operation", async () => {
  const searches = halves.map((part) => ["--exhaustive", "one", "--part", part]);
  await findNothing("every one fault, all stories", searches, { leastRuns: 9000 });
});

it("keeps the guarantees for pairs of faults in a synchronous and an accepted task", async () => {
  const pairs = ["--exhaustive", "two", "--story", "sync", "--story", "accepted"];
  const parts = ["1/120", "61/120"];
  const searches = parts.map((part) => [...pairs, "--part", part]);
  await findNothing(`two faults, sync and accepted, parts ${parts.join(" and ")}`, searches, {
    leastRuns: 1500,
  });
});
