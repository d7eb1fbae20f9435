/** The simulation finds nothing in the product under many random faults. */
import { it } from "@jest/globals";
import { findNothing } from "./find-nothing.ts";

// The same runs each time: new seeds belong to `npm run campaign`.

it("keeps the guarantees under random faults of fixed seeds", async () => {
  const searches = ["1", "2"].map((seed) => ["--runs", "1500", "--seed", seed]);
  await findNothing("chance, seeds 1 and 2", searches, { leastRuns: 2999 });
});
