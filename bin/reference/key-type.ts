/** Writes the type and the default of a configuration key for people. */

import { authenticatorSchema } from "@sekisho/config/authenticator-schema.ts";
import { authorizerSchema } from "@sekisho/config/authorizer-schema.ts";
import { secretSchema } from "@sekisho/config/values.ts";
import * as z from "zod";

/** The part of JSON Schema that the configuration uses. */
export type JsonSchema = {
  type?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

type SharedType = { name: string; description: string };

const sharedShapes: readonly (readonly [schema: string, type: SharedType])[] = [
  [shapeOf(toJson(secretSchema)), { name: "secret", description: "" }],
  [
    shapeOf(toJson(authorizerSchema)),
    { name: "authorizer", description: "How the calls to a destination prove who makes them." },
  ],
  [
    shapeOf(toJson(authenticatorSchema)),
    {
      name: "authenticator",
      description:
        "How `execution` authenticates its callers, and `operators` the users of the operators' page.",
    },
  ],
];

/** The types that several keys have. They are recognized by their form, because the JSON Schema repeats it at each key. */
export const sharedTypes = {
  get: (schema: JsonSchema) => sharedShapes.find(([shape]) => shape === shapeOf(schema))?.[1],
  has: (schema: JsonSchema) => sharedShapes.some(([shape]) => shape === shapeOf(schema)),
};

function toJson(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: "input" }) as JsonSchema;
}

/** The choices of a union as text, without what the key adds to it. */
function shapeOf({ anyOf, oneOf, ...otherKeys }: JsonSchema): string {
  return JSON.stringify(anyOf ?? oneOf ?? otherKeys);
}

/** `unionName` is the section of a union. */
export function formatType(schema: JsonSchema, unionName?: string): string {
  if (unionName !== undefined) return [...plainChoices(schema), linkTo(unionName)].join(" or ");
  if (sharedTypes.get(schema)?.name === "secret") return "[secret](#secrets)";
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return joinOr(schema.enum.map(code));
  if (schema.anyOf !== undefined)
    return joinOr([...new Set(schema.anyOf.map((member) => formatType(member)))]);
  switch (schema.type) {
    case "array":
      return `list of ${formatPlural(schema.items ?? {})}${range(schema.minItems, schema.maxItems, "entries")}`;
    case "string":
      return `string${range(schema.minLength, schema.maxLength, "characters")}`;
    case "integer":
    case "number":
      return `${schema.type}${range(schema.minimum, schema.maximum)}`;
    default:
      return schema.type ?? "";
  }
}

function formatPlural(items: JsonSchema): string {
  const text = formatType(items);
  const [, noun = "", condition = ""] = /^(string|object)(?:, (.+))?/.exec(text) ?? [];
  if (noun === "") return text;
  return condition === "" ? `${noun}s` : `${noun}s (${condition})`;
}

/** The choices beside the union itself, such as a path. */
function plainChoices({ anyOf = [] }: JsonSchema): string[] {
  return anyOf.filter((member) => member.oneOf === undefined).map((member) => formatType(member));
}

function linkTo(section: string): string {
  return `[object](#${section.toLowerCase().replaceAll(/[^a-z0-9-]/g, "")})`;
}

function code(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

function joinOr(texts: readonly string[]): string {
  const last = texts.at(-1) ?? "";
  return texts.length < 2 ? last : `${texts.slice(0, -1).join(", ")} or ${last}`;
}

function range(min = 0, max: number = Number.MAX_SAFE_INTEGER, unit = ""): string {
  const unitSuffix = unit === "" ? "" : ` ${unit}`;
  if (max < Number.MAX_SAFE_INTEGER)
    return min === 0 && unit !== ""
      ? `, at most ${max}${unitSuffix}`
      : `, ${min}–${max}${unitSuffix}`;
  // A text or a list that must not be empty needs no words.
  return min === 0 || (min === 1 && unit !== "") ? "" : `, at least ${min}${unitSuffix}`;
}

const units: readonly (readonly [
  ending: RegExp,
  sizes: readonly (readonly [size: number, unit: string])[],
])[] = [
  [
    /Ms$/,
    [
      [3_600_000, "hour"],
      [60_000, "minute"],
      [1000, "second"],
    ],
  ],
  [
    /Seconds$/,
    [
      [3600, "hour"],
      [60, "minute"],
    ],
  ],
  [/Bytes$/, [[1024 * 1024, "MiB"]]],
];

/** Undefined without a default. A default object is left out, because its keys say what holds without them. */
export function formatDefault({
  path,
  schema,
}: {
  path: string;
  schema: JsonSchema;
}): string | undefined {
  const { default: value, properties, anyOf } = schema;
  if (value === undefined) return undefined;
  if (typeof value === "object" && value !== null && Object.keys(value).length === 0) {
    return (properties ?? anyOf) === undefined ? undefined : "";
  }
  const text = code(value)
    .replaceAll(/([:,])(?=["{[])/g, "$1 ")
    .replaceAll(/\{(.+)\}/g, "{ $1 }");
  return typeof value === "number" ? `${text}${readableSize({ path, value })}` : text;
}

function readableSize({ path, value }: { path: string; value: number }): string {
  const [, sizes = []] = units.find(([ending]) => ending.test(path)) ?? [];
  const [size, unit] = sizes.find(([size]) => value >= size && value % size === 0) ?? [];
  if (size === undefined) return "";
  const count = value / size;
  return ` (${count} ${unit}${count === 1 || unit === "MiB" ? "" : "s"})`;
}
