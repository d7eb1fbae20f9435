/** Does what is due to a task that nobody works on: starts it, gives it up, or ends it where its question was not answered. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Metrics } from "../../shared/telemetry/metrics.ts";
import type { ChangeTask } from "../tasks/change-task.ts";
import { expire, giveUp, isLost, isUnanswered, isUnstarted } from "../tasks/changes.ts";
import { type ExecutionTask, loggedIds } from "../tasks/execution-task.ts";
import { endless, type Lifetime } from "../tasks/submission.ts";
import type { Runs } from "./runs.ts";

/** Resolves to the record as it stands then. Rejects with `task_not_found` where it has expired. */
export type AdvanceIfDue = (task: ExecutionTask) => Promise<ExecutionTask>;

/** One that runs here is fine, however late. */
export function createAdvanceIfDue({
  runs,
  changeTask,
  lifetime = endless,
  lostAfterMs,
  retentionMs,
  metrics,
  now,
  log,
}: {
  runs: Pick<Runs, "start" | "has">;
  changeTask: ChangeTask;
  lifetime?: Lifetime;
  lostAfterMs: number;
  retentionMs: number;
  metrics: Metrics;
  now: () => number;
  log: Log;
}): AdvanceIfDue {
  return async (task) => {
    // The next read in another process starts it there.
    if (isUnstarted(task) && !lifetime.canFinish(task)) return task;
    if (isUnstarted(task)) return (await runs.start({ task, isSubmission: false })) ?? gone();
    const nowMs = now();
    const expiresAtMs = nowMs + retentionMs;
    if (isUnanswered({ task, nowMs })) {
      return (await changeTask({ task, change: expire({ nowMs, expiresAtMs }) })).task ?? gone();
    }
    if (runs.has(task.id) || !isLost({ task, nowMs, lostAfterMs })) return task;
    const given = await changeTask({ task, change: giveUp({ nowMs, lostAfterMs, expiresAtMs }) });
    if (given.changed) {
      metrics.add("sekisho_executions_total", { state: "failed", reason: "lost" });
      log.error("task_lost", { ...loggedIds(task), reason: "execution_failed" });
    }
    return given.task ?? gone();
  };
}

/** The record expired between two looks. */
export function gone(): never {
  throw new SekishoError("task_not_found");
}
