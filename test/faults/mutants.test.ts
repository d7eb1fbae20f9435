/** The simulation notices each safeguard that is removed from the product. */
import { expect, it } from "@jest/globals";
import { faults, figuresOf } from "./command.ts";
import { mutants } from "./mutants.ts";

it.each(mutants.map(({ name }) => name))("finds the removed safeguard: %s", async (name) => {
  const ended = await faults("--mutant", name);
  expect(ended.stderr.replace(/^all .*\n/gm, "")).toBe("");
  expect(figuresOf(ended)).toMatchObject({ failures: 1 });
  expect(ended.stdout).toMatch(
    /VIOLATED: .+\n(As a scenario:\n({.+},\n)+)?Repeat it with: npm run faults -- .*--replay '[^']+'/,
  );
  expect(ended.code).toBe(1);
});
