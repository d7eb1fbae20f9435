import { describe, expect, it } from "@jest/globals";
import { measureCost } from "./cost.ts";

describe("the engine operations of a task", () => {
  it("costs the same operations per task while forty and while four hundred tasks wait", async () => {
    const soon = { seed: 1, quietMs: 4000, sweepAfterMs: 1000 };
    const measure = async () => {
      const [few, many] = await Promise.all([
        measureCost({ ...soon, waiting: 40 }),
        measureCost({ ...soon, waiting: 400 }),
      ]);
      expect([...few.problems, ...many.problems]).toEqual([]);
      const perTask = Object.entries(many.cost.perTask);
      const growing = perTask.filter(
        ([name, count]) => count > (few.cost.perTask[name] ?? 0) * 1.03 + 0.01,
      );
      return { few, growing };
    };
    // On a busy machine some wake-ups are received twice by chance. What grows with the tasks that wait grows each time.
    let measured = await measure();
    for (let repeats = 0; measured.growing.length > 0 && repeats < 3; repeats += 1)
      measured = await measure();
    const { few, growing } = measured;
    expect(growing).toEqual([]);
    expect(few.cost.pollsPerTask).toBeGreaterThan(0);
    expect(few.cost.perTask["verification replace"]).toBeGreaterThan(0);
  });
});
