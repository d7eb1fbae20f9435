/** Changes a task's record by compare-and-set: whoever loses reads again and decides anew. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Bell } from "./bell.ts";
import type { Change } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import type { ExecutionStore } from "./guarded-store.ts";
import { leaving } from "./passed-states.ts";

/** `task` is the record as it stands now; undefined where it has expired. `changed` is false where its state forbade the change. */
type Changed = { task: ExecutionTask | undefined; changed: boolean };
export type ChangeTask = (request: { task: ExecutionTask; change: Change }) => Promise<Changed>;

/** So many writers at once never meet; more is a store that does not keep its word. */
const maxAttempts = 20;

/** Rejects with `unavailable` where the store does. */
export function createChangeTask({
  store,
  bell,
  now,
}: {
  store: Pick<ExecutionStore, "get" | "replace">;
  bell: Bell;
  now: () => number;
}): ChangeTask {
  return async ({ task, change }) => {
    let known: ExecutionTask | undefined = task;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const next: ExecutionTask | undefined = known && change(known);
      if (known === undefined || next === undefined) return { task: known, changed: false };
      const item =
        next.state === known.state ? next : entered({ task: leaving({ from: known, task: next }), nowMs: now() });
      const stored = await store.replace({ item });
      if (stored !== undefined) {
        bell.ring(stored);
        return { task: stored, changed: true };
      }
      known = await store.get({ id: task.id });
    }
    throw new SekishoError("unavailable");
  };
}

/** The moment of a change of state is in the record, and in the listing where the task is in one. */
function entered({ task, nowMs }: { task: ExecutionTask; nowMs: number }): ExecutionTask {
  return { ...task, changedAtMs: nowMs, ...(task.listedAtMs !== undefined && { listedAtMs: nowMs }) };
}
