/** Values as ProtoJSON writes them (A2A 1.0, section 5.5): a field that is unset may be absent, null, or the type's default. */
import * as z from "zod";

/** An id or a name; the empty text is none. */
export function optionalText(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .nullish()
    .transform((text) => (text === null || text === "" ? undefined : text));
}

/** A list that may be left out; the empty one is none. */
export function optionalList<T extends z.ZodType>(item: T, maxItems: number) {
  return z
    .array(item)
    .max(maxItems)
    .nullish()
    .transform((items) => (items === null || items?.length === 0 ? undefined : items));
}

export function optionalFlag() {
  return z
    .boolean()
    .nullish()
    .transform((flag) => flag ?? undefined);
}

export function optionalCount(max: number) {
  return z
    .int()
    .min(0)
    .max(max)
    .nullish()
    .transform((count) => count ?? undefined);
}

/** `google.protobuf.Struct`: an object whose members are any JSON. */
export const structSchema = z
  .record(z.string(), z.unknown())
  .nullish()
  .transform((struct) => struct ?? undefined);

export const idSchema = z.string().min(1).max(256);
