/** Parts of A2A 0.3 (section 6.5), which name their kind: read as parts of 1.0, and written from them. */
import * as z from "zod";
import { type Part, partSchema } from "../part.ts";

const { raw, url, mediaType, filename, metadata } = partSchema.shape;

const fileSchema = z
  .object({ bytes: raw, uri: url, mimeType: mediaType, name: filename })
  .refine(({ bytes, uri }) => (bytes === undefined) !== (uri === undefined), "exactly one of bytes, uri");

/**
 * Marks a part whose `data` is no object in 1.0: 0.3 has room for objects only, so that it stands there as `{ value }`.
 * The official SDK writes and reads the same mark.
 */
const wrappedKey = "data_part_compat";

export const v03PartSchema = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("text"), text: z.string(), metadata }),
    z.object({ kind: z.literal("file"), file: fileSchema, metadata }),
    z.object({ kind: z.literal("data"), data: z.record(z.string(), z.unknown()), metadata }),
  ])
  .transform((part): Part => {
    if (part.kind === "text") return { text: part.text, metadata: part.metadata };
    if (part.kind === "data") return readData(part);
    const { bytes, uri, mimeType, name } = part.file;
    return { raw: bytes, url: uri, mediaType: mimeType, filename: name, metadata: part.metadata };
  });

function readData({ data, metadata }: { data: Record<string, unknown>; metadata?: Part["metadata"] }): Part {
  const { [wrappedKey]: wrapped, ...others } = metadata ?? {};
  if (wrapped !== true || !Object.hasOwn(data, "value")) return { data, metadata };
  return { data: data.value, metadata: Object.keys(others).length === 0 ? undefined : others };
}

/** What is known of a text or of data besides (`mediaType`, `filename`) has no place in 0.3. */
export function partToV03(part: Part): z.input<typeof v03PartSchema> {
  const { text, raw, url, data, mediaType, filename, metadata } = part;
  if (text !== undefined) return { kind: "text", text, metadata };
  if (raw !== undefined || url !== undefined) {
    return { kind: "file", file: { bytes: raw, uri: url, mimeType: mediaType, name: filename }, metadata };
  }
  if (isObject(data)) return { kind: "data", data, metadata };
  return { kind: "data", data: { value: data }, metadata: { ...metadata, [wrappedKey]: true } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
