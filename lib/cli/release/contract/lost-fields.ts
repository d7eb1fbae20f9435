/** Fields of an object: those that must be there, those that may not, and what each of them takes. */
import type { Schema, SchemaLoss, SchemaPair } from "./json-schema.ts";

export function lostFields({
  from,
  to,
  path,
  typesOf,
  findLosses,
}: SchemaPair & {
  typesOf: (schema: Schema) => readonly string[];
  findLosses: (question: SchemaPair) => SchemaLoss[];
}): SchemaLoss[] {
  if (!typesOf(from).includes("object")) return [];
  const sent = from.properties ?? {};
  const taken = to.properties ?? {};
  const at = (name: string) => `${path}/${name}`;
  const missing = (to.required ?? []).filter((name) => !from.required?.includes(name));
  const others = Object.keys(sent).filter((name) => !(name in taken));
  const { additionalProperties: rest } = to;
  return [
    ...missing.map((name) => ({ path: at(name), what: "must be there" })),
    // A field that only the receiver knows: nobody has sent it yet, since unknown ones are ignored.
    ...Object.entries(taken).flatMap(([name, schema]) => {
      const before = sent[name];
      return before === undefined ? [] : findLosses({ from: before, to: schema, path: at(name) });
    }),
    ...(rest === undefined
      ? []
      : others.flatMap((name) => findLosses({ from: sent[name] ?? {}, to: rest, path: at(name) }))),
    ...(rest === undefined ? [] : findLosses({ from: from.additionalProperties ?? {}, to: rest, path: at("*") })),
  ];
}
