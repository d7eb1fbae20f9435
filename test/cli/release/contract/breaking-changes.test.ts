/** The comparison of contracts on copies of the real one, each with one change. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { generatedFiles } from "../../../../contracts/generated-files.ts";
import { breakingChanges, type ContractFiles } from "../../../../lib/cli/release/contract/breaking-changes.ts";
import { parseTexts } from "../../../../lib/cli/release/contract/read-contract.ts";
import { anyOfSchema, validatorOf } from "../../../contracts/any-of-schema.ts";
import { breaking, compatible } from "./changes.ts";

const texts = generatedFiles();
const released = parseTexts(texts);

function changed(change: (files: Map<string, never>) => void): ContractFiles {
  const copy = parseTexts(texts) as Map<string, never>;
  change(copy);
  return copy;
}

describe("a change that breaks the contract is found, and named with its place", () => {
  it.each(breaking)("$name", ({ change, found }) => {
    const changes = breakingChanges({ released, current: changed(change) });
    expect(changes).toEqual(found);
  });
});

describe("a change that every peer can live with is none", () => {
  it.each(compatible)("$name", ({ change }) => {
    const current = changed(change);
    expect(current).not.toEqual(released);
    expect(breakingChanges({ released, current })).toEqual([]);
  });

  it.each(compatible)("and the params of before are taken after it: $name", ({ change }) => {
    const current = changed(change);
    for (const file of [...released.keys()].filter((path) => path.endsWith(".params.json"))) {
      const isTaken = validatorOf(current.get(file));
      fc.assert(
        fc.property(anyOfSchema(released.get(file)), (params) => expect(isTaken(params)).toBe(true)),
        { numRuns: 10 },
      );
    }
  });
});

it("nothing is found where nothing changed, in whatever order the keywords stand", () => {
  expect(breakingChanges({ released, current: reversed(released) as ContractFiles })).toEqual([]);
});

function reversed(value: unknown): unknown {
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [key, reversed(one)]));
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, one]) => [key, reversed(one)]));
}
