/** Each field of the released contract is taken away in turn, wherever it stands: none goes unnoticed. */
import { describe, expect, it } from "@jest/globals";
import { generatedFiles } from "../../../../contracts/generated-files.ts";
import { breakingChanges } from "../../../../lib/cli/release/contract/breaking-changes.ts";
import { parseTexts } from "../../../../lib/cli/release/contract/read-contract.ts";

// biome-ignore lint/suspicious/noExplicitAny: a schema is walked whose shape its type does not know
type Json = any;
const texts = generatedFiles();
const released = parseTexts(texts);
const schemas = [...released.keys()].filter((file) => file.startsWith("schemas/"));

/** By the whole and by a variant of it: without one of them the field is still known. */
function isNamedTwice({ file, at }: { file: string; at: string[] }): boolean {
  const schema: Json = released.get(file);
  const has = (from: Json, keys: string[]) => keys.reduce((one: Json, key) => one?.[key], from) !== undefined;
  if (["anyOf", "oneOf"].includes(at[0] ?? "")) return has(schema, at.slice(2));
  return [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].some((variant) => has(variant, at));
}

/** Where fields stand, as keys from the document's root: `["oneOf", "0", "properties", "artifacts"]`. */
function fieldsOf(schema: Json, at: string[] = []): string[][] {
  if (typeof schema !== "object" || schema === null) return [];
  const inner = Object.entries(schema).flatMap(([key, value]) => fieldsOf(value, [...at, key]));
  const isField = at.at(-2) === "properties" && JSON.stringify(schema) !== '{"not":{}}';
  return isField ? [at, ...inner] : inner;
}

const fields = schemas
  .flatMap((file) => fieldsOf(released.get(file)).map((at) => ({ file, at, name: at.join("/") })))
  .filter((field) => !isNamedTwice(field));

function without({ file, at }: { file: string; at: string[] }, newName?: string) {
  const current = parseTexts(texts);
  const name = at.at(-1) ?? "";
  const owner = at.slice(0, -2).reduce((schema: Json, key) => schema[key], current.get(file));
  if (newName !== undefined) owner.properties[newName] = owner.properties[name];
  delete owner.properties[name];
  if (owner.required) owner.required = owner.required.filter((one: string) => one !== name);
  return current;
}

describe("a field that goes", () => {
  it("is one of many, of requests, results and errors", () => {
    expect(fields.length).toBeGreaterThan(100);
  });

  it.each(fields)("is noticed: $file $name", (field) => {
    expect(breakingChanges({ released, current: without(field) })).not.toEqual([]);
  });

  it("is noticed under a new name, too, once for each result that has it", () => {
    const file = "schemas/get_task.result.json";
    const field = { file, at: ["oneOf", "0", "properties", "artifacts"] };
    const line = "get_task.result/artifacts: the field is gone (an old host sends it, a new client ignores it)";
    expect(breakingChanges({ released, current: without(field, "files") })).toEqual([line]);
  });

  it("is noticed in the variant that loses it, though another one has a field of that name", () => {
    const file = "schemas/execute_task.result.json";
    const field = { file, at: ["oneOf", "1", "properties", "expires_at"] };
    const line = "execute_task.result/expires_at: the field is gone (an old host sends it, a new client ignores it)";
    expect(breakingChanges({ released, current: without(field) })).toEqual([line]);
  });
});
