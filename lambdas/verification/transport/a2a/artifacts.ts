/** Files and data of an agent's answer, as the zone contract's artifacts. Pure. */
import type { Part } from "../../../../contracts/a2a/part.ts";
import type { Artifact } from "../../../../contracts/methods.ts";

const maxNameLength = 255;

/** Text is not among them: it is the answer itself. Absent where there are none. */
export function artifactsIn(sources: readonly { name?: string | undefined; parts: readonly Part[] }[]): {
  artifacts?: Artifact[];
} {
  const artifacts = sources.flatMap(({ name, parts }) => parts.flatMap((part) => toArtifact({ name, part })));
  return artifacts.length === 0 ? {} : { artifacts };
}

function toArtifact({ name: given, part }: { name: string | undefined; part: Part }): Artifact[] {
  const { filename = given, mediaType: mimetype, url, raw: base64, data } = part;
  if (part.text !== undefined) return [];
  const name = filename?.slice(0, maxNameLength);
  return [
    {
      ...(name !== undefined && { name }),
      ...(mimetype !== undefined && { mimetype }),
      ...(url !== undefined && { url }),
      ...(base64 !== undefined && { base64 }),
      ...(data !== undefined && { data }),
    },
  ];
}
