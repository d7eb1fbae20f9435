/** The simulation notices each safeguard that is removed from the product. */
import { expect, it } from "@jest/globals";
import { faults, figuresOf } from "./command.ts";
import { mutants } from "./mutants.ts";

it.each(mutants.map(({ name }) => name))("finds the removed safeguard: %s", async (name) => {
  const results = await faults("--mutant", name);
  expect(results.stderr.replace(/^all .*\n/gm, "")).toBe("");
  expect(figuresOf(results)).toMatchObject({ failures: 1 });
  expect(results.stdout).toMatch(
    /VIOLATED: .+\n(As a scenario:\n({.+},\n)+)?Repeat it with: npm run faults -- .*--replay '[^']+'/,
  );
  expect(results.code).toBe(1);
});
