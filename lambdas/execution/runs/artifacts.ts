/** Reads the artifacts that an agent yields: mends what is harmless, and leaves out what the Verification zone would not read. */

import { type Artifact, artifactSchema } from "@sekisho/contracts/methods.ts";
import { boundedMembers } from "@sekisho/contracts/optional-field.ts";
import { isJsonObject, truncate } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";

/** The most artifacts of one task. Clients leave out further ones. */
const maxArtifacts = 100;
/** The members of one artifact: those of the contract, and others of the agent's own. */
const maxMembers = 100;
const maxNameLength = 255;

/** Drops members that are null, cuts a long name, and removes the line breaks that some encoders write into base64. */
function repairArtifact(artifact: unknown): unknown {
  if (!isJsonObject(artifact)) return artifact;
  const { name, base64, ...others } = Object.fromEntries(
    Object.entries(artifact).filter(([, member]) => member !== null && member !== undefined),
  );
  return {
    ...others,
    ...(name !== undefined && {
      name: typeof name === "string" ? truncate(name, maxNameLength) : name,
    }),
    ...(base64 !== undefined && {
      base64: typeof base64 === "string" ? base64.replaceAll(/[\r\n]/g, "") : base64,
    }),
  };
}

function hasOneContent({ text, base64, data, url }: Artifact): boolean {
  return [text, base64, data, url].filter((content) => content !== undefined).length === 1;
}

export const yieldedArtifactSchema = boundedMembers(
  z.preprocess(
    repairArtifact,
    artifactSchema.refine(
      hasOneContent,
      "must have exactly one of `text`, `base64`, `data` and `url`",
    ),
  ),
  maxMembers,
);

/** Why the artifact cannot be sent beside `artifactCount` others, for the log; undefined if it can. */
export function refuseArtifact(request: {
  artifact: Artifact;
  artifactCount: number;
  isReadableUrl: (url: string) => boolean;
}): string | undefined {
  const { artifact, artifactCount, isReadableUrl } = request;
  if (artifactCount >= maxArtifacts) return "artifact: too_many";
  return artifact.url === undefined || isReadableUrl(artifact.url)
    ? undefined
    : "artifact.url: not_public_https";
}
