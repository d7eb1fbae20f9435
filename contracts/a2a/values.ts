/** Values in ProtoJSON (A2A 1.0, section 5.5), where an unset field may be absent, null, or the type's default. */
import * as z from "zod";
import { maxTaskIdLength } from "../limits.ts";

/** Reads `null` as absent. */
export function optionalValue<T extends z.ZodType>(schema: T) {
  return schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();
}

/** Reads the empty text as absent. */
export function optionalText(maxLength: number) {
  return optionalValue(
    z
      .string()
      .max(maxLength)
      .transform((text) => (text === "" ? undefined : text)),
  );
}

/** Reads the empty list as absent. */
export function optionalList<T extends z.ZodType>(item: T, maxItems: number) {
  return optionalValue(
    z
      .array(item)
      .max(maxItems)
      .transform((items) => (items.length === 0 ? undefined : items)),
  );
}

/** Reads the last entries of a list, without those that do not fit. */
export function readableList<T extends z.ZodType>(item: T) {
  return z.array(z.unknown()).transform((entries) =>
    entries.slice(-maxReadable).flatMap((entry) => {
      const { success, data } = item.safeParse(entry);
      return success ? [data] : [];
    }),
  );
}

/** More than Sekisho requests in any list. */
export const maxReadable = 1000;

/** Reads base64 and base64url, padded or not, as padded base64. Some encoders break it into lines. */
export const bytesSchema = z
  .string()
  .transform((text) => text.replaceAll(/[\r\n]/g, ""))
  .refine(
    (text) => /^[\w+/-]*={0,2}$/.test(text) && text.replace(/={1,2}$/, "").length % 4 !== 1,
    "must be base64",
  )
  .transform((text) =>
    padBase64(
      text
        .replace(/={1,2}$/, "")
        .replaceAll("-", "+")
        .replaceAll("_", "/"),
    ),
  );

function padBase64(text: string): string {
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}

/** The limit of Protocol Buffers parsers. */
const maxDepth = 100;

/** `google.protobuf.Value`: any JSON, including `null`. A deeper value could be read but not written again. */
export const valueSchema = z
  .unknown()
  .refine((value) => isWithin({ value, depth: maxDepth }), "nested too deeply");

/** `google.protobuf.Struct`. */
export const structSchema = optionalValue(z.record(z.string(), valueSchema));

function isWithin({ value, depth }: { value: unknown; depth: number }): boolean {
  if (typeof value !== "object" || value === null) return true;
  return (
    depth > 0 &&
    Object.values(value).every((member) => isWithin({ value: member, depth: depth - 1 }))
  );
}

/** The id of a task, a context or a message, with the length of a task id between the zones. */
export const idSchema = z.string().min(1).max(maxTaskIdLength);
