/** Reads the JSON Schema of the configuration as sections of keys, for the tables of the reference. */
import * as z from "zod";
import { formatDefault, formatType, type JsonSchema, sharedTypes } from "./key-type.ts";
import { escapeProse } from "./markdown.ts";

/** The keys of one object. A section with `kind` is a union: the value of that key says which of `variants` it is. */
export type Section = {
  name: string;
  level: number;
  description: string;
  kind: string | undefined;
  variants: Variant[];
};
type Variant = { name: string; description: string; schema: JsonSchema };

/** The sections in the order of the schema, each followed by those of the unions in it. A union with a name comes once. */
export function sectionsOf(schema: JsonSchema): Section[] {
  const sections: Section[] = [];
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (name !== "$schema") addSections({ sections, name, level: 2, schema: property });
  }
  return sections;
}

type Adding = { sections: Section[]; name: string; level: number; schema: JsonSchema };

function addSections({ sections, name, level, schema }: Adding): void {
  if (sections.some((section) => section.name === name)) return;
  const variants = variantsOf(elementOf(schema));
  const kind = kindOf(elementOf(schema));
  sections.push({ name, level, description: schema.description ?? "", kind, variants });
  const inner = variants
    .flatMap((variant) => keysOf(variant.schema))
    .filter((key) => key.union !== undefined);
  for (const { path, union } of inner) {
    if (union === undefined) continue;
    const sharedType = sharedTypes.get(union);
    const text = sharedType ?? { name: `${name}.${path}`, description: union.description ?? "" };
    addSections({
      sections,
      name: text.name,
      level: 3,
      schema: { ...union, description: text.description },
    });
  }
}

/** The objects in a list or behind a name. */
function elementOf(schema: JsonSchema): JsonSchema {
  const { items, additionalProperties } = schema;
  return items ?? (typeof additionalProperties === "object" ? additionalProperties : schema);
}

/** The objects of a union, or the object itself. */
function variantsOf(schema: JsonSchema): Variant[] {
  const kind = kindOf(schema);
  if (kind === undefined) return [{ name: "", description: "", schema }];
  return unionOf(schema).map((member) => {
    const { [kind]: discriminator, ...properties } = member.properties ?? {};
    const name = String(discriminator?.const);
    return { name, description: member.description ?? "", schema: { ...member, properties } };
  });
}

/** The key that tells the objects of a union apart; undefined if the schema is none. */
function kindOf(schema: JsonSchema): string | undefined {
  const [first] = unionOf(schema);
  return Object.entries(first?.properties ?? {}).find(
    ([, { const: value }]) => value !== undefined,
  )?.[0];
}

/** The members of a discriminated union, which may itself be one of several choices. */
function unionOf({ oneOf, anyOf = [] }: JsonSchema): JsonSchema[] {
  return oneOf ?? anyOf.find((member) => member.oneOf !== undefined)?.oneOf ?? [];
}

type Key = { path: string; schema: JsonSchema; isRequired: boolean; union: JsonSchema | undefined };

/** All keys below a schema: `command`, `command.name`, `admins[].user`. A union is not entered; it has a section of its own. */
function keysOf(schema: JsonSchema, prefix = ""): Key[] {
  const { properties = {}, required: requiredNames = [] } = schema;
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = `${prefix}${name}`;
    const isUnion = kindOf(property) !== undefined;
    const key = {
      path,
      schema: property,
      isRequired: requiredNames.includes(name),
      union: isUnion ? property : undefined,
    };
    return isUnion || sharedTypes.has(property) ? [key] : [key, ...innerKeys(property, path)];
  });
}

function innerKeys(schema: JsonSchema, path: string): Key[] {
  const { items, additionalProperties, anyOf } = schema;
  if (items !== undefined) return sharedTypes.has(items) ? [] : innerKeys(items, `${path}[]`);
  if (typeof additionalProperties === "object")
    return innerKeys(additionalProperties, `${path}.NAME`);
  if (anyOf !== undefined && !sharedTypes.has(schema)) {
    const inner = anyOf.flatMap((member) => innerKeys(member, path));
    // With several objects to choose from, none of their keys is always required.
    const isChoice = anyOf.filter(({ properties }) => properties !== undefined).length > 1;
    return inner.map((key) => ({ ...key, isRequired: key.isRequired && !isChoice }));
  }
  return keysOf(schema, `${path}.`);
}

type Row = {
  paths: string[];
  variants: string[];
  type: string;
  meaning: string;
  defaults: Map<string, string[]>;
};

/**
 * The cells of a section's table. Keys of one name, type and meaning share a row, in all variants and below all parents. Where
 * their defaults differ, the row says which variant has which.
 */
export function keyRows({ name, kind, variants }: Section): string[][] {
  const rows = new Map<string, Row>();
  for (const variant of variants) {
    for (const key of keysOf(variant.schema)) {
      const [type = "", fallback = "", meaning = ""] = cellsOf({ key, section: name });
      // Below several parents a key shares a row only if it has the same default there.
      const lastName = key.path.split(".").at(-1);
      const id = JSON.stringify([lastName, type, meaning, key.path === lastName ? "" : fallback]);
      const row = rows.get(id) ?? { paths: [], variants: [], type, meaning, defaults: new Map() };
      row.paths = [...new Set([...row.paths, key.path])];
      row.variants = [...new Set([...row.variants, variant.name])];
      row.defaults.set(fallback, [...(row.defaults.get(fallback) ?? []), variant.name]);
      rows.set(id, row);
    }
  }
  const names = [...new Set([...rows.values()].map(({ paths: [path] }) => path))];
  const sortedRows = names.flatMap((path) =>
    [...rows.values()].filter(({ paths: [first] }) => first === path),
  );
  return sortedRows.map(({ paths, variants: rowVariants, type, meaning, defaults }) => {
    const isForAll = rowVariants.length === variants.length;
    const kinds = isForAll ? "all" : codeList(rowVariants);
    const fallbacks = [...defaults].map(([fallback, names]) =>
      defaults.size === 1 ? fallback : `${codeList(names)}: ${fallback}`,
    );
    const cells = [type, fallbacks.join("; "), meaning];
    return [codeList(paths), ...(kind === undefined ? [] : [kinds]), ...cells];
  });
}

const codeList = (names: readonly string[]) => names.map((one) => `\`${one}\``).join(", ");

function cellsOf({ key, section }: { key: Key; section: string }): string[] {
  const { path, schema, isRequired, union } = key;
  const { description = "" } = schema;
  const [, meaning = "", statedDefault] =
    /^([\s\S]*?)(?:\s*\bDefault: ([\s\S]*?)\.?)?$/.exec(description) ?? [];
  const unionName =
    union === undefined ? undefined : (sharedTypes.get(union)?.name ?? `${section}.${path}`);
  const fallback = isRequired
    ? "required"
    : (formatDefault({ path, schema }) ?? statedDefault ?? "");
  return [
    formatType(schema, unionName),
    escapeProse(fallback === "none" ? "" : fallback),
    escapeProse(meaning),
  ];
}

/** The cells of a table of environment variables. */
export function variableRows(variables: Record<string, z.ZodType>): string[][] {
  const { properties = {} } = z.toJSONSchema(z.object(variables), { io: "input" }) as JsonSchema;
  return Object.entries(properties).map(([name, schema]) => {
    const [, fallback = "", meaning = ""] = cellsOf({
      key: { path: name, schema, isRequired: false, union: undefined },
      section: "",
    });
    return [`\`${name}\``, fallback, meaning];
  });
}
