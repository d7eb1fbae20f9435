/**
 * Fields that a receiver knew and knows no longer: they are ignored now, and what was asked for, or told, by them is lost.
 * Renaming a field is that, too.
 */
import { isDeepStrictEqual } from "node:util";
import type { Schema } from "./json-schema.ts";
import { listVariants } from "./unions.ts";

type Comparison = { released: Schema; current: Schema; path: string };

/** Their paths, each once. */
export function goneFields({ released, current, path }: Comparison): string[] {
  const known = listVariants(current);
  const gone = listVariants(released).flatMap((variant) => {
    const readers = known.filter((reader) => mayRead({ variant, reader }));
    // That a variant is not taken at all is told by `findLosses`.
    return readers.length === 0 ? [] : goneOfVariant({ variant, readers, path });
  });
  return [...new Set(gone)];
}

type Reading = { variant: Schema; readers: readonly Schema[]; path: string };

function goneOfVariant({ variant, readers, path }: Reading): string[] {
  const ofFields = Object.entries(variant.properties ?? {}).flatMap(([name, released]) => {
    if (isForbidden(released)) return [];
    const now = readers.map(({ properties }) => properties?.[name]).filter((one) => one !== undefined);
    const at = `${path}/${name}`;
    return now.length === 0 ? [at] : goneFields({ released, current: { anyOf: now }, path: at });
  });
  if (variant.items === undefined) return ofFields;
  const now = readers.map(({ items }) => items ?? {});
  return [...ofFields, ...goneFields({ released: variant.items, current: { anyOf: now }, path: `${path}/*` })];
}

/** Not so where a field, such as `status`, has no value that fits both, or one demands what the other forbids. */
function mayRead({ variant, reader }: { variant: Schema; reader: Schema }): boolean {
  return Object.entries(variant.properties ?? {}).every(([name, sent]) => {
    const read = reader.properties?.[name];
    if (read === undefined) return true;
    if (isForbidden(sent)) return isForbidden(read) || !reader.required?.includes(name);
    if (isForbidden(read)) return !variant.required?.includes(name);
    return (
      !sent.enum || !read.enum || sent.enum.some((value) => read.enum?.some((one) => isDeepStrictEqual(one, value)))
    );
  });
}

function isForbidden(schema: Schema): boolean {
  return isDeepStrictEqual(schema.not, {});
}
