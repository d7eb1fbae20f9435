/** The fields of a question: what a person fills in when buttons do not suffice, and the values that come back. */
import * as z from "zod";
import { isJsonWithin } from "./json-size.ts";
import { maxFieldTextLength } from "./limits.ts";
import { boundedMembers, optionalField } from "./optional-field.ts";

/** Fields of one question, and choices of one field. Slack shows at most 100 choices. */
const maxFields = 20;
const maxFieldOptions = 100;
/** In bytes of UTF-8. A task's record holds the fields. */
const maxFieldsBytes = 32 * 1024;

/** Begins with a letter or a digit, so that no id is a name that JavaScript or JSON readers treat in a special way. */
const fieldIdPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const fieldId = z.string().regex(fieldIdPattern);
/** At least one character that is no blank. */
const label = z.string().max(200).regex(/\S/);
const optionId = z.string().min(1).max(128);

const options = z
  .array(z.object({ id: optionId, label }))
  .min(1)
  .max(maxFieldOptions)
  .refine(hasUniqueIds, "two options have one id");

const common = { id: fieldId, label, required: optionalField(z.boolean()) };

export const questionFieldSchema = z.discriminatedUnion("type", [
  z.object({ ...common, type: z.literal("choice"), options }),
  z.object({ ...common, type: z.literal("choices"), options }),
  z.object({
    ...common,
    type: z.literal("text"),
    multiline: optionalField(z.boolean()),
    max_length: optionalField(z.int().min(1).max(maxFieldTextLength)),
  }),
  z
    .object({
      ...common,
      type: z.literal("number"),
      min: optionalField(z.number()),
      max: optionalField(z.number()),
    })
    .refine(
      ({ min, max }) => min === undefined || max === undefined || min <= max,
      "min is above max",
    ),
  z.object({ ...common, type: z.literal("date") }),
]);
export type QuestionField = z.infer<typeof questionFieldSchema>;

export const questionFieldsSchema = z
  .array(questionFieldSchema)
  .min(1)
  .max(maxFields)
  .refine(hasUniqueIds, "two fields have one id")
  .refine((value) => isJsonWithin({ value, maxBytes: maxFieldsBytes }), "more than 32 KiB");

/** An option's id, several of them, a text, a number, or a date such as `2026-03-31`. */
const fieldValueSchema = z.union([
  z.string().max(maxFieldTextLength),
  z.number(),
  z.array(optionId).max(maxFieldOptions),
  z.null(),
]);
export type FieldValue = z.infer<typeof fieldValueSchema>;

/** By the ids of the fields. A key that no id can be is refused without being repeated in the error. */
export const fieldValuesSchema = boundedMembers(
  z
    .record(z.string(), fieldValueSchema)
    .refine(
      (values) => Object.keys(values).every((id) => fieldIdPattern.test(id)),
      "names a field that cannot be",
    )
    .refine((values) => Object.keys(values).length <= maxFields, `more than ${maxFields} fields`)
    .meta({
      propertyNames: { type: "string", pattern: fieldIdPattern.source },
      maxProperties: maxFields,
    }),
  maxFields + 1,
);
export type FieldValues = z.infer<typeof fieldValuesSchema>;

function hasUniqueIds(list: readonly { id: string }[]): boolean {
  return new Set(list.map(({ id }) => id)).size === list.length;
}
