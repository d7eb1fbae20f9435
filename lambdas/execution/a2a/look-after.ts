/** Looks after tasks whose callers wait for notifications: such a task is started, given up and expired although nobody reads it. */

import type { AdvanceIfDue } from "../runs/advance-if-due.ts";
import type { ExecutionTask } from "../tasks/execution-task.ts";
import type { ExecutionStore } from "../tasks/guarded-store.ts";
import type { Look } from "../tasks/task-message.ts";
import type { PushOutbox } from "./push-outbox.ts";

/** Resolves when the task was tended, and where it stays as it is, when the next look at it is queued. Rejects with `unavailable`. */
export type LookAfter = (look: Look) => Promise<void>;

/** A look is at one state of a task on behalf of one registration; what ends either ends its looks. */
export function createLookAfter({
  store,
  advanceIfDue,
  outbox,
}: {
  store: Pick<ExecutionStore, "get">;
  advanceIfDue: AdvanceIfDue;
  outbox: Pick<PushOutbox, "watch">;
}): LookAfter {
  return async (look) => {
    const found = await store.get({ id: look.taskId });
    if (found === undefined || !isAt({ task: found, look })) return;
    // What fails now may be possible at the next look.
    const task = await advanceIfDue(found).catch(() => found);
    if (isAt({ task, look })) await outbox.watch({ task, config: { id: look.configId, ...look } });
  };
}

function isAt({ task, look }: { task: ExecutionTask; look: Look }): boolean {
  const config = task.a2a?.pushConfigs?.find(({ id }) => id === look.configId);
  if (config === undefined || config.registrationId !== look.registrationId) return false;
  return task.state === look.state && task.changedAtMs === look.changedAtMs;
}
