/** `anyOf` and `oneOf`: a schema with one of its variants, and whether variants can be told apart. */
import { isDeepStrictEqual } from "node:util";
import type { Schema } from "./json-schema.ts";

export const unionKeywords = ["anyOf", "oneOf"] as const;
export type UnionKeyword = (typeof unionKeywords)[number];

/** Without unions on the outside: each way in which a value may fit the schema. */
export function listVariants(schema: Schema): Schema[] {
  const keyword = unionKeywords.find((one) => schema[one] !== undefined);
  if (keyword === undefined) return [schema];
  const rest = withoutUnion(schema, keyword);
  return (schema[keyword] ?? []).flatMap((branch) => listVariants(combineSchemas(rest, branch)));
}

export function withoutUnion(schema: Schema, keyword: UnionKeyword): Schema {
  const { [keyword]: _union, ...rest } = schema;
  return rest;
}

/** What holds where both hold. Of two limits of one kind the first is kept: a little too much is allowed, never too little. */
export function combineSchemas(a: Schema, b: Schema): Schema {
  const required = [...new Set([...(a.required ?? []), ...(b.required ?? [])])];
  const properties: Record<string, Schema> = { ...b.properties };
  for (const [name, schema] of Object.entries(a.properties ?? {})) {
    properties[name] = combineSchemas(schema, b.properties?.[name] ?? {});
  }
  return {
    ...b,
    ...a,
    ...(required.length > 0 && { required }),
    ...(Object.keys(properties).length > 0 && { properties }),
  };
}

/** By a field that each has and that has another value in each: then no value fits two of them. */
export function isDiscriminated(variants: readonly Schema[]): boolean {
  const [first] = variants;
  return Object.keys(first?.properties ?? {}).some((name) => {
    if (!variants.every(({ required }) => required?.includes(name))) return false;
    const values = variants.flatMap(({ properties }) => properties?.[name]?.enum ?? [undefined]);
    return values.every(
      (value, index) => value !== undefined && values.findIndex((other) => isDeepStrictEqual(other, value)) === index,
    );
  });
}
