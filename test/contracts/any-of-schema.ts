/** Random values of a JSON Schema of the contract. A validator drops the values that its unions exclude. */
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";

type Schema = {
  readonly type?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly [keyword: string]: unknown;
};

const forPeople = ["$schema", "$id", "$comment", "title", "description", "examples", "deprecated"];

/** One spelling of a JSON Schema: `const` becomes an `enum` of one, `type` a list, `false` the schema that takes nothing. */
function normalize(json: unknown): Schema {
  if (json === false) return { not: {} };
  const entries = Object.entries(Object(json)).flatMap(([keyword, value]): [string, unknown][] => {
    if (forPeople.includes(keyword)) return [];
    if (keyword === "const") return [["enum", [value]]];
    if (keyword === "type") return [["type", [value].flat()]];
    if (keyword === "properties") {
      return [
        [
          keyword,
          Object.fromEntries(
            Object.entries(Object(value)).map(([name, one]) => [name, normalize(one)]),
          ),
        ],
      ];
    }
    if (keyword === "anyOf" || keyword === "oneOf")
      return [[keyword, (value as unknown[]).map(normalize)]];
    return [
      [
        keyword,
        keyword === "items" || keyword === "additionalProperties" ? normalize(value) : value,
      ],
    ];
  });
  return Object.fromEntries(entries);
}

type Known = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** `known` makes the values of fields by name, at any depth. */
export function anyOfSchema(json: unknown, knownNames: Known = {}): fc.Arbitrary<unknown> {
  const isValid = validatorOf(json);
  return valueFor(normalize(json), knownNames).filter(isValid);
}

export function validatorOf(json: unknown): (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false, formats: { "date-time": true, base64: true } });
  const validate = ajv.compile(json as object);
  return (value) => validate(value) === true;
}

function valueFor(schema: Schema, knownNames: Known): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const union = schema.oneOf ?? schema.anyOf;
  const ofVariants =
    union
      ?.filter(({ type }) => type !== undefined)
      .map((variant) => valueFor(variant, knownNames)) ?? [];
  if (ofVariants.length > 0) return fc.oneof(...ofVariants);
  switch (schema.type?.[0]) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer(limits(schema, "minimum", "maximum"));
    case "number":
      return fc.double({
        ...limits(schema, "minimum", "maximum"),
        min: numberOf(schema.minimum) ?? 0,
        noNaN: true,
      });
    case "string":
      return textOf(schema);
    case "array":
      return fc.array(valueFor(schema.items ?? {}, knownNames), {
        maxLength: Math.min(numberOf(schema.maxItems) ?? 5, 5),
        minLength: numberOf(schema.minItems) ?? 0,
      });
    case "object":
      return objectOf(schema, knownNames);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objectOf(schema: Schema, knownNames: Known): fc.Arbitrary<unknown> {
  const fields: [string, fc.Arbitrary<unknown>][] = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => [name, knownNames[name] ?? valueFor(field, knownNames)],
  );
  const model: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(fields);
  const made = fc.record(model, { requiredKeys: [...(schema.required ?? [])] });
  // Fields of later versions, which a receiver ignores.
  const more = fc.dictionary(fc.stringMatching(/^x_[a-z]{1,8}$/), fc.jsonValue({ maxDepth: 1 }), {
    maxKeys: 2,
  });
  return fc.tuple(more, made).map(([others, own]) => ({ ...others, ...own }));
}

function textOf(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === "date-time")
    return fc
      .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
      .map((date) => date.toISOString());
  if (schema.format === "base64") return fc.base64String();
  const maxLength = Math.min(numberOf(schema.maxLength) ?? 200, 50_000);
  if (schema.pattern !== undefined)
    return fc.stringMatching(new RegExp(schema.pattern)).filter((text) => text.length <= maxLength);
  const minLength = numberOf(schema.minLength) ?? 0;
  // A changed limit fails at the limit first.
  const longest = fc.constant("関".repeat(maxLength));
  const short = fc
    .string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, 60) })
    .filter((text) => text.length <= maxLength);
  return fc.oneof({ weight: 8, arbitrary: short }, { weight: 1, arbitrary: longest });
}

function limits(schema: Schema, lowest: string, highest: string): { min?: number; max?: number } {
  const [min, max] = [numberOf(schema[lowest]), numberOf(schema[highest])];
  return {
    ...(min !== undefined && { min: Math.max(min, -(2 ** 31)) }),
    ...(max !== undefined && { max: Math.min(max, 2 ** 31 - 1) }),
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
