/** A task as a stream of A2A's events: the task itself, then what changes. */
import type { A2aTask, StreamEvent } from "../../../contracts/a2a/task.ts";
import { listRecordsBetween } from "../tasks/changes.ts";
import type { ExecutionTask } from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";

/**
 * `shown` is the first event's record, `task` the newest that is known. Ends where `until` holds, or where it is not given with
 * the event that says that the task is over or asks; when `signal` aborts, and when the host stops.
 */
export async function* streamTaskEvents({
  tasks,
  shown,
  task,
  view,
  until,
  signal,
}: {
  tasks: Pick<Tasks, "watch">;
  shown: ExecutionTask;
  task: ExecutionTask;
  view: (task: ExecutionTask) => A2aTask;
  until?: ((task: ExecutionTask) => boolean) | undefined;
  signal: AbortSignal;
}): AsyncGenerator<StreamEvent> {
  let known = shown;
  yield { task: view(known) };
  for await (const latest of tasks.watch({ task, until, signal })) {
    for (const next of listRecordsBetween({ previous: known, next: latest })) {
      yield* diffTaskEvents({ previous: view(known), next: view(next) });
      known = next;
    }
  }
}

/**
 * What a client that has seen `previous` must hear to know `next`: every artifact that is new or another, whole, and then the
 * status where it or what is noted beside it differs. None where nothing visible changed.
 */
export function diffTaskEvents({ previous, next }: { previous: A2aTask; next: A2aTask }): StreamEvent[] {
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
