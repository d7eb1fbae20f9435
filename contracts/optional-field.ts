/** Optional fields as other languages write them. */
import * as z from "zod";

/**
 * An optional field. `null` and `""` count as absent, because serializers of many languages write an unset field as one of them.
 * The schema describes senders, so its JSON Schema does not offer them.
 */
export function optionalField<T extends z.ZodType>(schema: T) {
  const readAbsent = (value: unknown) => (value === null || value === "" ? undefined : value);
  return z.preprocess(readAbsent, schema.optional()).optional();
}
