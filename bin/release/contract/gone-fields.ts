/** Fields that a receiver knew and knows no longer: they are ignored now, and what was asked for by them is not done. */
import type { Schema } from "./json-schema.ts";

export function goneFields({ released, current, path }: { released: Schema; current: Schema; path: string }): string[] {
  const ofElements =
    released.items === undefined
      ? []
      : goneFields({ released: released.items, current: current.items ?? {}, path: `${path}/*` });
  const ofFields = Object.entries(released.properties ?? {}).flatMap(([name, schema]) => {
    const now = current.properties?.[name];
    return now === undefined
      ? [`${path}/${name}`]
      : goneFields({ released: schema, current: now, path: `${path}/${name}` });
  });
  return [...ofFields, ...ofElements];
}
