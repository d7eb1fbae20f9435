/** Fields as foreign code may write them: unset in several ways, or too large. The schemas describe senders, so their JSON Schemas offer neither `null` nor `""`. */
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

/** Reads the first `maxMembers` members of an object only. A schema would check each of a hundred thousand. */
export function boundedMembers<T extends z.ZodType>(schema: T, maxMembers: number) {
  return z.preprocess((value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const names = Object.keys(value);
    if (names.length <= maxMembers) return value;
    return Object.fromEntries(
      names.slice(0, maxMembers).map((name) => [name, value[name as keyof typeof value]]),
    );
  }, schema);
}
