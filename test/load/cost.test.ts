import { describe, expect, it } from "@jest/globals";
import { measureCost } from "./cost.ts";

describe("what a task costs in operations of the engines", () => {
  it("is the same whether forty tasks wait at the same time or four hundred", async () => {
    const soon = { seed: 1, quietMs: 4000, sweepAfterMs: 1000 };
    const [few, many] = await Promise.all([
      measureCost({ ...soon, waiting: 40 }),
      measureCost({ ...soon, waiting: 400 }),
    ]);
    expect([...few.problems, ...many.problems]).toEqual([]);
    for (const [name, count] of Object.entries(many.cost.perTask)) {
      const before = few.cost.perTask[name] ?? 0;
      // A wake-up that was received twice by chance is no growth.
      expect({ name, grows: count > before * 1.03 + 0.01 }).toEqual({ name, grows: false });
    }
    expect(few.cost.pollsPerTask).toBeGreaterThan(0);
    expect(few.cost.perTask["verification replace"]).toBeGreaterThan(0);
  });
});
