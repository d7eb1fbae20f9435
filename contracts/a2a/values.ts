/** Values as ProtoJSON writes them (A2A 1.0, section 5.5): a field that is unset may be absent, null, or the type's default. */
import * as z from "zod";
import { maxTaskIdLength } from "../limits.ts";

/** A field that may be left out; `null` is as good as absent. */
export function optionalValue<T extends z.ZodType>(schema: T) {
  return schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();
}

/** An id or a name; the empty text is none. */
export function optionalText(maxLength: number) {
  return optionalValue(
    z
      .string()
      .max(maxLength)
      .transform((text) => (text === "" ? undefined : text)),
  );
}

/** A list that may be left out; the empty one is none. */
export function optionalList<T extends z.ZodType>(item: T, maxItems: number) {
  return optionalValue(
    z
      .array(item)
      .max(maxItems)
      .transform((items) => (items.length === 0 ? undefined : items)),
  );
}

/** The last entries of a list. An entry that does not fit is left out, and the others stay. */
export function readableList<T extends z.ZodType>(item: T) {
  return z.array(z.unknown()).transform((entries) =>
    entries.slice(-maxReadable).flatMap((entry) => {
      const { success, data } = item.safeParse(entry);
      return success ? [data] : [];
    }),
  );
}

/** More than are asked for in any list. */
export const maxReadable = 1000;

/** Bytes in base64 or base64url, padded or not; taken as padded base64. */
export const bytesSchema = z
  .string()
  .refine((text) => /^[\w+/-]*={0,2}$/.test(text) && text.replace(/=+$/, "").length % 4 !== 1, "must be base64")
  .transform((text) => padded(text.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/")));

function padded(text: string): string {
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}

/** As deep as parsers of Protocol Buffers go. */
const maxDepth = 100;

/** `google.protobuf.Value`: any JSON, `null` too. Deeper than anybody means it, it could be read but not written again. */
export const valueSchema = z.unknown().refine((value) => isWithin({ value, depth: maxDepth }), "nested too deeply");

/** `google.protobuf.Struct`: an object whose members are any JSON. */
export const structSchema = optionalValue(z.record(z.string(), valueSchema));

function isWithin({ value, depth }: { value: unknown; depth: number }): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((member) => isWithin({ value: member, depth: depth - 1 }));
}

/** Of a task, a context, a message: as long as a task's may be in the zone contract. */
export const idSchema = z.string().min(1).max(maxTaskIdLength);
