/** Messages and artifacts of A2A 0.3 (sections 6.4 and 6.7): read as those of 1.0, and written from them. */
import * as z from "zod";
import { type A2aArtifact, a2aArtifactSchema, type Message, messageSchema } from "../part.ts";
import { partToV03, v03PartSchema } from "./part.ts";

const roles = { user: "ROLE_USER", agent: "ROLE_AGENT" } as const;

export const v03RoleSchema = z.enum(["user", "agent"]).transform((role) => roles[role]);

/** `kind` may be missing, as in the specification's own examples: what stands in a message's place is one. */
export const v03MessageSchema = messageSchema.extend({
  role: v03RoleSchema,
  parts: z.array(v03PartSchema).min(1).max(100),
});

export const v03ArtifactSchema = a2aArtifactSchema.extend({ parts: z.array(v03PartSchema).min(1) });

export function messageToV03(message: Message): z.input<typeof v03MessageSchema> & { kind: "message" } {
  const role = message.role === "ROLE_USER" ? "user" : "agent";
  return { kind: "message", ...message, role, parts: message.parts.map(partToV03) };
}

export function artifactToV03(artifact: A2aArtifact): z.input<typeof v03ArtifactSchema> {
  return { ...artifact, parts: artifact.parts.map(partToV03) };
}
