/** Files and data of an agent's answer, as the zone contract's artifacts. Pure. */
import { type Part, textOf } from "../../../../contracts/a2a/part.ts";
import type { Artifact } from "../../../../contracts/methods.ts";

const maxNameLength = 255;

/** The answer itself: all text but what has a file's name. */
export function saidIn(parts: readonly Part[]): string {
  return textOf(parts.filter((part) => !isTextFile(part)));
}

/** What is said is not among them. Absent where there are none. */
export function artifactsIn(sources: readonly { name?: string | undefined; parts: readonly Part[] }[]): {
  artifacts?: Artifact[];
} {
  const artifacts = sources.flatMap(({ name, parts }) => parts.flatMap((part) => toArtifact({ name, part })));
  return artifacts.length === 0 ? {} : { artifacts };
}

function toArtifact({ name: given, part }: { name: string | undefined; part: Part }): Artifact[] {
  const { filename = given, mediaType: mimetype, text, url, raw: base64, data } = part;
  if (text !== undefined && !isTextFile(part)) return [];
  const name = filename?.slice(0, maxNameLength);
  return [
    {
      ...(name !== undefined && { name }),
      ...(mimetype !== undefined && { mimetype }),
      ...(text !== undefined && { text }),
      ...(url !== undefined && { url }),
      ...(base64 !== undefined && { base64 }),
      ...(data !== undefined && { data }),
    },
  ];
}

function isTextFile({ text, filename }: Part): boolean {
  return text !== undefined && filename !== undefined;
}
