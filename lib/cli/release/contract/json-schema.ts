/** A JSON Schema in one spelling: without words for people, and without keywords that forbid nothing. */
import { isDeepStrictEqual } from "node:util";

/** `path` as a JSON Pointer into the value: `/attachments/*` is every element. */
export type SchemaLoss = { path: string; what: string };

/** `from`: what is sent. `to`: what is taken. Both normalized. */
export type SchemaPair = { from: Schema; to: Schema; path: string };

export type Schema = {
  readonly type?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly default?: unknown;
  /** Whatever else was said, bounds among it. */
  readonly [keyword: string]: unknown;
};

const forPeople = ["$schema", "$id", "$comment", "title", "description", "examples", "deprecated"];
const ofOneSchema = ["items", "not", "additionalProperties"];
const ofSchemas = ["anyOf", "oneOf"];

/** `const` becomes an `enum` of one, `type` a list, `true` the empty schema and `false` the one that takes nothing. */
export function normalize(json: unknown): Schema {
  if (json === false) return { not: {} };
  if (!isRecord(json)) return {};
  const entries = Object.entries(json).flatMap(([keyword, value]): [string, unknown][] => {
    if (forPeople.includes(keyword)) return [];
    if (keyword === "const") return [["enum", [value]]];
    if (keyword === "type") return [["type", [value].flat()]];
    if (keyword === "properties" && isRecord(value)) {
      return [["properties", Object.fromEntries(Object.entries(value).map(([name, one]) => [name, normalize(one)]))]];
    }
    if (ofSchemas.includes(keyword) && Array.isArray(value)) return [[keyword, value.map(normalize)]];
    return [[keyword, ofOneSchema.includes(keyword) ? normalize(value) : value]];
  });
  return Object.fromEntries(entries.filter(([keyword, value]) => !forbidsNothing(keyword, value)));
}

function forbidsNothing(keyword: string, value: unknown): boolean {
  const isEmpty = isDeepStrictEqual(value, {}) || isDeepStrictEqual(value, []);
  if (isEmpty) return ["properties", "required", "items", "additionalProperties"].includes(keyword);
  return value === 0 && ["minLength", "minItems", "minProperties"].includes(keyword);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
