/** Parts, messages and artifacts (A2A 1.0, section 4.1: Part, Message, Artifact). */
import * as z from "zod";
import {
  bytesSchema,
  idSchema,
  optionalList,
  optionalText,
  optionalValue,
  structSchema,
  valueSchema,
} from "./values.ts";

/** The first one counts if all are unset. */
export const contentNames = ["text", "raw", "url", "data"] as const;

/**
 * In the metadata of a part of A2A 0.3: marks one whose `data` is not an object. 0.3 allows objects only, so it is written as `{ value }`.
 * The official SDK uses the same mark.
 */
export const wrappedKey = "data_part_compat";

/** Exactly one of `text`, `raw` (bytes in base64), `url` and `data` (any JSON). */
export const partSchema = z
  .object({
    text: optionalValue(z.string()),
    raw: optionalValue(bytesSchema),
    url: optionalValue(z.string().min(1).max(4096)),
    /** `null` is a value here. */
    data: valueSchema.optional(),
    mediaType: optionalText(255),
    filename: optionalText(255),
    metadata: structSchema,
  })
  .refine(
    (part) => contentNames.filter((name) => part[name] !== undefined).length === 1,
    "exactly one of text, raw, url, data",
  );
export type Part = z.infer<typeof partSchema>;

export const roleSchema = z.enum(["ROLE_USER", "ROLE_AGENT"]);

/** `taskId` continues a task. Without it the message begins one. */
export const messageSchema = z.object({
  messageId: idSchema,
  contextId: optionalText(256),
  taskId: optionalText(256),
  role: roleSchema,
  parts: z.array(partSchema).min(1).max(100),
  metadata: structSchema,
  extensions: optionalList(z.string().max(2048), 50),
  referenceTaskIds: optionalList(idSchema, 50),
});
export type Message = z.infer<typeof messageSchema>;

/** Its id is unique within the task. */
export const a2aArtifactSchema = z.object({
  artifactId: idSchema,
  name: optionalText(1024),
  description: optionalText(10_000),
  parts: z.array(partSchema).min(1),
  metadata: structSchema,
  extensions: optionalList(z.string().max(2048), 50),
});
export type A2aArtifact = z.infer<typeof a2aArtifactSchema>;

/** The text of a message or an artifact: one line per text part. */
export function joinTextParts(parts: readonly Part[]): string {
  return parts.flatMap(({ text }) => (text === undefined ? [] : [text])).join("\n");
}
