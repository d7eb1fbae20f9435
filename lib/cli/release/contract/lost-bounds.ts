/** Limits that became narrower: of lengths, of counts, of numbers. */
import type { SchemaLoss, SchemaPair } from "./json-schema.ts";

const lower = ["minLength", "minItems", "minProperties", "minimum"];
const upper = ["maxLength", "maxItems", "maxProperties", "maximum"];
export const boundKeywords: readonly string[] = [...lower, ...upper];

export function lostBounds({ from, to, path }: SchemaPair): SchemaLoss[] {
  return boundKeywords.flatMap((keyword) => {
    const [sent, taken] = [numberOf(from[keyword]), numberOf(to[keyword])];
    if (taken === undefined || !concerns(keyword, from.type)) return [];
    const holds = sent !== undefined && (lower.includes(keyword) ? sent >= taken : sent <= taken);
    return holds ? [] : [{ path, what: `${keyword} is ${taken}, against ${sent ?? "none"}` }];
  });
}

/** A limit of one type says nothing of values of another. */
function concerns(keyword: string, types: readonly string[] | undefined): boolean {
  if (types === undefined) return true;
  if (keyword.endsWith("Length")) return types.includes("string");
  if (keyword.endsWith("Items")) return types.includes("array");
  if (keyword.endsWith("Properties")) return types.includes("object");
  return types.includes("number") || types.includes("integer");
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
