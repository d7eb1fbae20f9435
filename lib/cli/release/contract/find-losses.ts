/**
 * Whether one JSON Schema takes all that another allows, and if not, what is lost and where. It knows the keywords that the
 * contract's schemas use; a change of any other one, and whatever it cannot judge, counts as a loss.
 */
import { isDeepStrictEqual } from "node:util";
import type { Schema, SchemaLoss, SchemaPair } from "./json-schema.ts";
import { boundKeywords, lostBounds } from "./lost-bounds.ts";
import { lostFields } from "./lost-fields.ts";
import { combineSchemas, isDiscriminated, type UnionKeyword, unionKeywords, withoutUnion } from "./unions.ts";

const judged = ["type", "properties", "required", "additionalProperties", "items", "enum", "pattern", "default"];

export function findLosses({ from, to, path }: SchemaPair): SchemaLoss[] {
  if (isDeepStrictEqual(from, to) || isDeepStrictEqual(from.not, {})) return [];
  if (isDeepStrictEqual(to.not, {})) return [{ path, what: "is refused" }];
  for (const keyword of unionKeywords) {
    const branches = from[keyword];
    if (branches === undefined) continue;
    if (isDeepStrictEqual(branches, to[keyword])) {
      return findLosses({ from: withoutUnion(from, keyword), to: withoutUnion(to, keyword), path });
    }
    const rest = withoutUnion(from, keyword);
    return unique(branches.flatMap((branch) => findLosses({ from: combineSchemas(rest, branch), to, path })));
  }
  const question = { from, to, path };
  return unique([
    ...lostTypes(question),
    ...lostValues(question),
    ...lostBounds(question),
    ...lostPattern(question),
    ...lostFields({ ...question, typesOf, findLosses }),
    ...lostElements(question),
    ...unionKeywords.flatMap((keyword) => lostVariants(question, keyword)),
    ...changedDefault(question),
    ...notJudged(question),
  ]);
}

function lostTypes({ from, to, path }: SchemaPair): SchemaLoss[] {
  const taken = to.type;
  if (taken === undefined) return [];
  const lost = typesOf(from).filter(
    (type) => !taken.includes(type) && !(type === "integer" && taken.includes("number")),
  );
  return lost.length === 0 ? [] : [{ path, what: `is to be ${taken.join(" or ")}, not ${lost.join(" or ")}` }];
}

const allTypes = ["null", "boolean", "integer", "number", "string", "array", "object"];

function typesOf(schema: Schema): readonly string[] {
  return schema.type ?? (schema.enum ? [...new Set(schema.enum.map(typeOf))] : allTypes);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function lostValues({ from, to, path }: SchemaPair): SchemaLoss[] {
  const taken = to.enum;
  if (taken === undefined) return [];
  const sent = from.enum ?? (isDeepStrictEqual(from.type, ["boolean"]) ? [true, false] : undefined);
  const words = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).join(", ");
  if (sent === undefined) return [{ path, what: `may only be one of ${words(taken)}` }];
  const lost = sent.filter((value) => !taken.some((one) => isDeepStrictEqual(one, value)));
  return lost.length === 0 ? [] : [{ path, what: `may not be ${words(lost)}` }];
}

function lostPattern({ from, to, path }: SchemaPair): SchemaLoss[] {
  const { pattern } = to;
  if (pattern === undefined || pattern === from.pattern || !typesOf(from).includes("string")) return [];
  const texts = from.enum?.filter((value) => typeof value === "string");
  if (texts?.every((text) => new RegExp(pattern, "u").test(text))) return [];
  return [{ path, what: `must fit another pattern, ${pattern}` }];
}

function lostElements({ from, to, path }: SchemaPair): SchemaLoss[] {
  if (to.items === undefined || !typesOf(from).includes("array")) return [];
  return findLosses({ from: from.items ?? {}, to: to.items, path: `${path}/*` });
}

/** One of the variants must take it as a whole; where none does, the one that comes nearest says why. */
function lostVariants({ from, to, path }: SchemaPair, keyword: UnionKeyword): SchemaLoss[] {
  const variants = to[keyword];
  if (variants === undefined) return [];
  if (keyword === "oneOf" && !isDiscriminated(variants))
    return [{ path, what: "has other variants, which may overlap" }];
  const attempts = variants.map((variant) => findLosses({ from, to: variant, path }));
  return attempts.sort((a, b) => a.length - b.length)[0] ?? [];
}

function changedDefault({ from, to, path }: SchemaPair): SchemaLoss[] {
  const isChanged = from.default !== undefined && to.default !== undefined;
  if (!isChanged || isDeepStrictEqual(from.default, to.default)) return [];
  return [
    { path, what: `means ${JSON.stringify(to.default)} where it is left out, not ${JSON.stringify(from.default)}` },
  ];
}

function notJudged({ from, to, path }: SchemaPair): SchemaLoss[] {
  return Object.keys(to)
    .filter((keyword) => ![...judged, ...boundKeywords, ...unionKeywords].includes(keyword))
    .filter((keyword) => !isDeepStrictEqual(from[keyword], to[keyword]))
    .map((keyword) => ({ path, what: `has another "${keyword}", which this comparison cannot judge` }));
}

function unique(losses: readonly SchemaLoss[]): SchemaLoss[] {
  return losses.filter((loss, index) => losses.findIndex((other) => isDeepStrictEqual(other, loss)) === index);
}
