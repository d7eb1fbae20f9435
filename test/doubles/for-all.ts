/** A property in one breath: `forAll(values).hold(check)` is `fc.assert(fc.property(values, check))`. */
import fc from "fast-check";

type Arbitraries<Values extends [unknown, ...unknown[]]> = {
  [Index in keyof Values]: fc.Arbitrary<Values[Index]>;
};

export function forAll<Values extends [unknown, ...unknown[]]>(...values: Arbitraries<Values>) {
  const all = fc.tuple(...values) as unknown as fc.Arbitrary<Values>;
  const runs = (numRuns: number | undefined) => (numRuns === undefined ? {} : { numRuns });
  return {
    hold(check: (...args: Values) => void, numRuns?: number): void {
      fc.assert(
        fc.property(all, (args) => check(...args)),
        runs(numRuns),
      );
    },
    holdAsync(check: (...args: Values) => Promise<void>, numRuns?: number): Promise<void> {
      return fc.assert(
        fc.asyncProperty(all, (args) => check(...args)),
        runs(numRuns),
      );
    },
  };
}
