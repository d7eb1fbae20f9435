/** A task as a stream of A2A's events: the task itself, then what changes. */
import type { A2aTask, StreamEvent } from "../../../../contracts/a2a/task.ts";
import type { ExecutionTask } from "../execution-task.ts";
import { recordsBetween } from "../passed-states.ts";
import type { Tasks } from "../tasks.ts";
import { eventsBetween } from "./events.ts";

/**
 * `shown` is the first event's record, `task` the newest that is known. Ends where `until` holds, or where it is not given with
 * the event that says that the task is over or asks; when `signal` aborts, and when the host stops.
 */
export async function* follow({
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
    for (const next of recordsBetween({ previous: known, next: latest })) {
      yield* eventsBetween({ previous: view(known), next: view(next) });
      known = next;
    }
  }
}
