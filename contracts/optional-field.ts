/** Optional fields as other languages write them. The schemas describe senders, so their JSON Schemas offer neither `null` nor `""`. */
import * as z from "zod";

/** `null` and `""` count as absent, because serializers of many languages write an unset field as one of them. */
export function optionalField<T extends z.ZodType>(schema: T) {
  const readAbsent = (value: unknown) => (value === null || value === "" ? undefined : value);
  return z.preprocess(readAbsent, schema.optional()).optional();
}

/** The content of a file: `null` counts as absent, and `""` is an empty file. */
export function optionalContent<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => value ?? undefined, schema.optional()).optional();
}
