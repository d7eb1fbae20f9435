/** A stream's events as the differences between a task's views: whoever sees the same records tells the same. Pure. */
import type { A2aTask, StreamEvent } from "../../../../contracts/a2a/task.ts";

/**
 * What a client that has seen `previous` must hear to know `next`: every artifact that is new or another, whole, and then the
 * status where it or what is noted beside it differs. None where nothing visible changed.
 */
export function eventsBetween({ previous, next }: { previous: A2aTask; next: A2aTask }): StreamEvent[] {
  const { id: taskId, contextId, status, metadata } = next;
  const known = new Map((previous.artifacts ?? []).map((artifact) => [artifact.artifactId, artifact]));
  const made = (next.artifacts ?? []).filter((artifact) => !isSame(artifact, known.get(artifact.artifactId)));
  const isKnown = isSame([previous.status, previous.metadata], [status, metadata]);
  return [
    ...made.map((artifact) => ({ artifactUpdate: { taskId, contextId, artifact, append: false, lastChunk: true } })),
    ...(isKnown ? [] : [{ statusUpdate: { taskId, contextId, status, ...(metadata && { metadata }) } }]),
  ];
}

/** A view is always written in the same order. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
