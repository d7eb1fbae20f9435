/** Reads parts, messages and artifacts of A2A 0.3 (sections 6.4, 6.5 and 6.7) as those of 1.0, and writes them back. */
import * as z from "zod";
import {
  type A2aArtifact,
  a2aArtifactSchema,
  type Message,
  messageSchema,
  type Part,
  partSchema,
  wrappedKey,
} from "../part.ts";
import { valueSchema } from "../values.ts";

type Metadata = Record<string, unknown> | null | undefined;
type Text = string | null | undefined;

export type V03Part =
  | { kind: "text"; text: string; metadata?: Metadata }
  | {
      kind: "file";
      file: { bytes?: Text; uri?: Text; mimeType?: Text; name?: Text };
      metadata?: Metadata;
    }
  | { kind: "data"; data: Record<string, unknown>; metadata?: Metadata };

const { raw, url, mediaType, filename, metadata } = partSchema.shape;
const fileSchema = z
  .object({ bytes: raw, uri: url, mimeType: mediaType, name: filename })
  .refine(
    ({ bytes, uri }) => (bytes === undefined) !== (uri === undefined),
    "exactly one of bytes, uri",
  );

const v03PartSchema: z.ZodType<Part, V03Part> = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("text"), text: z.string(), metadata }),
    z.object({ kind: z.literal("file"), file: fileSchema, metadata }),
    z.object({ kind: z.literal("data"), data: z.record(z.string(), valueSchema), metadata }),
  ])
  .transform((part): Part => {
    if (part.kind === "text") return { text: part.text, metadata: part.metadata };
    if (part.kind === "data") return readData(part);
    const { bytes, uri, mimeType, name } = part.file;
    return { raw: bytes, url: uri, mediaType: mimeType, filename: name, metadata: part.metadata };
  });

function readData({
  data,
  metadata,
}: {
  data: Record<string, unknown>;
  metadata?: Part["metadata"];
}): Part {
  const { [wrappedKey]: isWrapped, ...others } = metadata ?? {};
  if (isWrapped !== true || !Object.hasOwn(data, "value")) return { data, metadata };
  return { data: data.value, metadata: Object.keys(others).length === 0 ? undefined : others };
}

/** Drops `mediaType` and `filename` of text and data parts, which 0.3 lacks. */
export function partToV03(part: Part): V03Part {
  const { text, raw, url, data, mediaType, filename, metadata } = part;
  if (text !== undefined) return { kind: "text", text, metadata };
  if (raw !== undefined || url !== undefined) {
    return {
      kind: "file",
      file: { bytes: raw, uri: url, mimeType: mediaType, name: filename },
      metadata,
    };
  }
  if (isObject(data)) return { kind: "data", data, metadata };
  return { kind: "data", data: { value: data }, metadata: { ...metadata, [wrappedKey]: true } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const roles = { user: "ROLE_USER", agent: "ROLE_AGENT" } as const;

const v03RoleSchema = z.enum(["user", "agent"]).transform((role) => roles[role]);

/** `kind` may be missing, as in the specification's own examples. */
export const v03MessageSchema = messageSchema.extend({
  role: v03RoleSchema,
  parts: z.array(v03PartSchema).min(1).max(100),
});

export const v03ArtifactSchema = a2aArtifactSchema.extend({ parts: z.array(v03PartSchema).min(1) });

export function messageToV03(
  message: Message,
): z.input<typeof v03MessageSchema> & { kind: "message" } {
  const role = message.role === "ROLE_USER" ? "user" : "agent";
  return { kind: "message", ...message, role, parts: message.parts.map(partToV03) };
}

export function artifactToV03(artifact: A2aArtifact): z.input<typeof v03ArtifactSchema> {
  return { ...artifact, parts: artifact.parts.map(partToV03) };
}
