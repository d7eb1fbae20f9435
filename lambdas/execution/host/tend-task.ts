/** Does what is due to a task that nobody works on: starts it, gives it up, or ends it where its question was not answered. */
import { SekishoError } from "../../../contracts/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Metrics } from "../../shared/telemetry/metrics.ts";
import type { ChangeTask } from "./change-task.ts";
import { expire, giveUp, isLost, isUnanswered, isUnstarted } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import { loggedIds } from "./logged-ids.ts";
import type { Runs } from "./runs.ts";

/** Resolves to the record as it stands then. Rejects with `task_not_found` where it has expired. */
export type TendTask = (task: ExecutionTask) => Promise<ExecutionTask>;

/** One that runs here is fine, however late. */
export function createTendTask({
  runs,
  changeTask,
  lostAfterMs,
  retentionMs,
  metrics,
  now,
  log,
}: {
  runs: Pick<Runs, "start" | "has">;
  changeTask: ChangeTask;
  lostAfterMs: number;
  retentionMs: number;
  metrics: Metrics;
  now: () => number;
  log: Log;
}): TendTask {
  return async (task) => {
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
