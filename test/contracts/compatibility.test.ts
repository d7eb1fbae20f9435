/** The contract against the last released one: by its schemas, and by random messages of either one. */

import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { canRepeat } from "@sekisho/contracts/certainty.ts";
import { decodeError } from "@sekisho/contracts/error-data.ts";
import { generatedFiles } from "@sekisho/contracts/generated-files.ts";
import { type MethodName, methods } from "@sekisho/contracts/methods.ts";
import { contractVersion } from "@sekisho/contracts/version.ts";
import fc from "fast-check";
import { anyOfSchema, validatorOf } from "./any-of-schema.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "contracts/released");
const last = readdirSync(folder).sort(compareVersions).at(-1) ?? "";
const releasedTexts = readTexts(join(folder, last));
const releasedSchemas = parseTexts(releasedTexts);
const current = parseTexts(generatedFiles());
const names = Object.keys(methods) as MethodName[];

it("requires a higher version if the contract differs from the released one", () => {
  const isSame = isDeepStrictEqual(readTexts(join(root, "contracts/generated")), releasedTexts);
  expect(compareVersions(contractVersion, last)).toBeGreaterThanOrEqual(isSame ? 0 : 1);
});

const isSameMajor = numbersOf(contractVersion)[0] === numbersOf(last)[0];
const suite = isSameMajor ? describe : describe.skip;
suite(`beside a peer of ${last}`, () => {
  const schemasOf = (file: string) =>
    [releasedSchemas.get(`schemas/${file}.json`), current.get(`schemas/${file}.json`)] as const;
  const ofReleased = names.filter((name) => releasedSchemas.has(`schemas/${name}.params.json`));

  it.each(ofReleased)("a new host accepts an old client's params of %s", (name) => {
    const [old] = schemasOf(`${name}.params`);
    fc.assert(
      fc.property(anyOfSchema(old, knownRules), (params) => {
        expect(methods[name].params.safeParse(params)).toMatchObject({ success: true });
      }),
      { numRuns: 100 },
    );
  });

  it.each(ofReleased)("a new client understands an old host's results of %s", (name) => {
    const [old] = schemasOf(`${name}.result`);
    fc.assert(
      fc.property(anyOfSchema(old, resultRules), (result) => {
        expect(methods[name].result.safeParse(result)).toMatchObject({ success: true });
      }),
      { numRuns: 100 },
    );
  });

  it.each(ofReleased)("an old client understands a new host's results of %s", (name) => {
    const [old, now] = schemasOf(`${name}.result`);
    const isUnderstood = validatorOf(old);
    fc.assert(
      fc.property(anyOfSchema(now, resultRules), (result) =>
        expect(isUnderstood(result)).toBe(true),
      ),
      { numRuns: 100 },
    );
  });

  it("an old client treats an unknown reason and number as internal, and never repeats the call", () => {
    const error = {
      code: -32079,
      message: "",
      data: { reason: "of_a_later_version", retryable: true },
    };
    const decodedError = decodeError({ error, dialect: "zone" });
    expect(decodedError).toMatchObject({ reason: "internal", certainty: "guessed" });
    expect(canRepeat(decodedError)).toBe(false);
  });
});

/** Rules that JSON Schema cannot express: addresses of attachments, the bytes of a history, and ids and limits of a question's fields. */
const knownRules = {
  url: fc.nat().map((n) => `https://files.example/${n}`),
  history: fc.array(
    fc.record({ role: fc.constantFrom("user", "assistant"), text: fc.string({ maxLength: 400 }) }),
    {
      maxLength: 20,
    },
  ),
};

const optionsOfField = fc.uniqueArray(
  fc.record({ id: fc.stringMatching(/^[a-z]{1,8}$/), label: fc.constant("One") }),
  {
    selector: ({ id }) => id,
    minLength: 1,
    maxLength: 4,
  },
);
const idOfField = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,8}$/);
const fieldOf = fc.oneof(
  fc.record({
    id: idOfField,
    label: fc.constant("Where"),
    type: fc.constantFrom("choice", "choices"),
    options: optionsOfField,
  }),
  fc.record({
    id: idOfField,
    label: fc.constant("How many"),
    type: fc.constant("number"),
    min: fc.nat(),
    max: fc.integer({ min: 2 ** 31 - 1, max: 2 ** 32 }),
  }),
  fc.record({
    id: idOfField,
    label: fc.constant("When"),
    type: fc.constantFrom("date", "text"),
    required: fc.boolean(),
  }),
);
const resultRules = {
  ...knownRules,
  fields: fc.uniqueArray(fieldOf, { selector: ({ id }) => id, minLength: 1, maxLength: 5 }),
};

/** The texts of all files below the folder, by path with forward slashes. */
function readTexts(folder: string): ReadonlyMap<string, string> {
  const paths = globSync("**/*.json", { cwd: folder }).sort();
  return new Map(
    paths.map((path) => [path.replaceAll("\\", "/"), readFileSync(join(folder, path), "utf8")]),
  );
}

function parseTexts(texts: ReadonlyMap<string, string>): ReadonlyMap<string, unknown> {
  return new Map([...texts].map(([path, text]) => [path, JSON.parse(text) as unknown]));
}

function numbersOf(version: string): number[] {
  return version.split(".").map(Number);
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  const place = left.findIndex((number, index) => number !== right[index]);
  return place === -1 ? 0 : (left[place] ?? 0) - (right[place] ?? 0);
}
