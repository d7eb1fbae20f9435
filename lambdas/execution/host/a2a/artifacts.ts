/** What an agent made, as A2A's artifacts: the same ids whoever reads them, and whenever. Pure. */
import type { A2aArtifact, Part } from "../../../../contracts/a2a/part.ts";
import type { Artifact } from "../../../../contracts/methods.ts";

/** In the order in which they were made; of the answer's text one more, the last. */
export function artifactsOf({ made, answer }: { made: readonly Artifact[]; answer: string }): A2aArtifact[] {
  const own = made.map((artifact, index) => ({
    artifactId: `artifact-${index + 1}`,
    ...(artifact.name && { name: artifact.name }),
    parts: partsOf(artifact),
  }));
  return answer === "" ? own : [...own, { artifactId: "answer", parts: [{ text: answer }] }];
}

/** One for each content; what has none of the known ones is data as it stands. */
export function partsOf({ name: filename, mimetype: mediaType, ...artifact }: Artifact): Part[] {
  const { text, base64, url, data } = artifact;
  const about = { ...(mediaType && { mediaType }), ...(filename && { filename }) };
  const parts = [
    ...(text === undefined ? [] : [{ text, ...about }]),
    ...(base64 === undefined ? [] : [{ raw: base64, ...about }]),
    ...(url === undefined ? [] : [{ url, ...about }]),
    ...(data === undefined ? [] : [{ data, ...about }]),
  ];
  return parts.length > 0 ? parts : [{ data: artifact, ...about }];
}
