/** Two versions of the product side by side: nothing is lost, and nothing is done twice. */
import { expect, it } from "@jest/globals";
import { faults, figuresOf } from "./command.ts";

/** Each story and engine once with each of these, and with faults that chance draws. `npm run faults:versions` has the other mixes. */
const searches = [
  ["turns", "upgrade", "rollback", "ingress_next", "execution_old"].map((name) => `${name}:minor`),
  [
    "next_first:records",
    "seldom:records",
    "turns:messages",
    "ingresses:messages",
    "upgrade:messages",
  ],
];

it("keeps the guarantees while one version replaces another", async () => {
  const results = await Promise.all(
    searches.map((names) => {
      const runs = String(74 * names.length);
      return faults(...names.flatMap((name) => ["--mix", name]), "--runs", runs, "--seed", "1");
    }),
  );
  for (const { code, stdout } of results) expect(code === 0 ? "" : stdout).toBe("");
  const figures = results.map(figuresOf);
  expect(figures.map(({ failures }) => failures)).toEqual([0, 0]);
  expect(figures.map(({ runs }) => runs)).toEqual(searches.map((names) => 74 * names.length));
});
