/** Changes a task's record by compare-and-set: whoever loses reads again and decides anew. */
import { setTimeout as sleep } from "node:timers/promises";
import { SekishoError } from "../../../contracts/errors.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { Bell } from "./bell.ts";
import type { Change } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import type { ExecutionStore } from "./guarded-store.ts";
import { leaving } from "./passed-states.ts";

/** `task` is the record as it stands now; undefined where it has expired. `changed` is false where its state forbade the change. */
type Changed = { task: ExecutionTask | undefined; changed: boolean };
export type ChangeTask = (request: { task: ExecutionTask; change: Change }) => Promise<Changed>;

/** So often nobody loses; more is a store that does not keep its word. */
const maxAttempts = 30;
/** Whoever loses often waits a little, by chance: of many writers at once one wins each time. */
const pause = { baseMs: 1, capMs: 50 };
const attemptsAtOnce = 3;

/** Rejects with `unavailable` where the store does. */
export function createChangeTask({
  store,
  bell,
  now,
  random = Math.random,
}: {
  store: Pick<ExecutionStore, "get" | "replace">;
  bell: Bell;
  now: () => number;
  random?: () => number;
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
      if (attempt >= attemptsAtOnce) await sleep(backoffMs({ ...pause, attempt, random }));
      known = await store.get({ id: task.id });
    }
    throw new SekishoError("unavailable");
  };
}

/** The moment of a change of state is in the record, and in the listing where the task is in one. */
function entered({ task, nowMs }: { task: ExecutionTask; nowMs: number }): ExecutionTask {
  return { ...task, changedAtMs: nowMs, ...(task.listedAtMs !== undefined && { listedAtMs: nowMs }) };
}
