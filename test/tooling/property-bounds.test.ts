/** A property in `npm test` sees the same values each time, ends in bounded time, and says how to repeat a failure. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { original } from "./fast-check.ts";
import { type Bounds, createAssert } from "./property-bounds.ts";

const bounds: Bounds = { searchMs: 20_000, shrinkMs: 20_000, maxShrinkTries: 50 };
const assertWith = (changes: Partial<Bounds>) =>
  createAssert({ original, seed: 7, bounds: { ...bounds, ...changes } });

/** 1 shrinks to 2, 2 to 3, and so on. */
class Endless extends fc.Arbitrary<number> {
  generate(): fc.Value<number> {
    return new fc.Value(1, undefined);
  }
  canShrinkWithoutContext(value: unknown): value is number {
    return typeof value === "number";
  }
  shrink(value: number): fc.Stream<fc.Value<number>> {
    return fc.stream([new fc.Value(value + 1, undefined)][Symbol.iterator]());
  }
}

function refuse(): never {
  throw new Error("refused");
}

describe("a property", () => {
  it("runs a property with the same values each time", () => {
    const [first, second] = [1, 2].map(() => {
      const values: number[] = [];
      fc.assert(fc.property(fc.integer(), (value) => void values.push(value)));
      return values;
    });
    expect(first).toHaveLength(100);
    expect(second).toEqual(first);
  });

  it("refuses a seed or bounds of a single property", () => {
    const property = fc.property(fc.integer(), () => true);
    expect(() => fc.assert(property, { seed: Date.now() })).toThrow("does not set seed");
    expect(() => fc.assert(property, { path: "1", interruptAfterTimeLimit: 1 })).toThrow(
      "path, interruptAfterTimeLimit",
    );
    for (const name of ["check", "sample", "statistics", "configureGlobal"])
      expect(fc).not.toHaveProperty(name);
  });

  it("reports the seed and path of a failure, also if its counterexample shrinks without end", async () => {
    const found = /seed: 7, path: "0(:0){1,50}"[\s\S]*Shrunk \d+ time/;
    let runs = 0;
    const counts = () => {
      runs++;
      refuse();
    };
    expect(() => assertWith({})(fc.property(new Endless(), counts))).toThrow(found);
    expect(runs).toBe(51);
    await expect(
      assertWith({})(fc.asyncProperty(new Endless(), async () => counts())),
    ).rejects.toThrow(found);
    expect(() => assertWith({ shrinkMs: 0 })(fc.property(new Endless(), refuse))).toThrow(
      'path: "0"',
    );
  });

  it("fails a property that does not reach its number of runs in time", async () => {
    const never = fc.asyncProperty(fc.integer(), () => new Promise<void>(() => {}));
    await expect(assertWith({ searchMs: 20 })(never)).rejects.toThrow(
      /interrupted after 0 tests[\s\S]*seed: 7/,
    );
    let left = 3;
    const stuckLater = fc.asyncProperty(fc.integer(), () =>
      left-- > 0 ? Promise.resolve() : new Promise<void>(() => {}),
    );
    await expect(assertWith({ searchMs: 20 })(stuckLater)).rejects.toThrow(
      "interrupted after 3 tests",
    );
    expect(() => assertWith({ searchMs: 0 })(fc.property(fc.integer(), () => true))).toThrow(
      "interrupted after 0",
    );
  });

  it("makes as many runs as fit if asked to, and reports how many", async () => {
    const updates: number[] = [];
    let runs = 0;
    const property = fc.asyncProperty(fc.integer(), async () => void runs++);
    await assertWith({ searchMs: 200, asManyAsFit: (all) => updates.push(all) })(property, {
      numRuns: 1,
    });
    expect(runs).toBeGreaterThan(1);
    expect(updates).toEqual([runs]);
  });
});
