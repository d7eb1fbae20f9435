/** What the methods do with tasks: submit, find, cancel, and wait for a change. All of it is scoped to the principal. */
import type { RequestId } from "../../../contracts/envelope.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import type { ExecuteTaskParams } from "../../../contracts/methods.ts";
import type { Log } from "../../shared/log.ts";
import type { Trace } from "../../shared/trace.ts";
import type { Bell } from "./bell.ts";
import type { ChangeTask } from "./change-task.ts";
import { cancel, giveUp, isLost, isOver } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import type { ExecutionStore } from "./guarded-store.ts";
import type { Runs } from "./runs.ts";
import { fingerprintOf, taskIdOf } from "./task-id.ts";
import { waitForChange } from "./wait-for-change.ts";

type TaskName = { principal: string; taskId?: string | undefined; requestId?: string | undefined };

type Submission = {
  principal: string;
  requestId: RequestId;
  params: ExecuteTaskParams;
  trace: Trace;
  receivedAtMs: number;
};

export type Tasks = {
  /** Creates the task, or finds the one of the same request id; starts it where nobody has. */
  submit(submission: Submission): Promise<ExecutionTask>;
  /** The task as it stands, after it was started or given up where that was due. Rejects with `task_not_found`. */
  find(name: TaskName): Promise<ExecutionTask>;
  cancel(name: TaskName): Promise<ExecutionTask>;
  /** Resolves to the record when `until` holds for it, or as it stands after `timeoutMs`. */
  wait(request: {
    task: ExecutionTask;
    until: (task: ExecutionTask) => boolean;
    timeoutMs: number;
  }): Promise<ExecutionTask>;
};

export type TaskSettings = {
  store: ExecutionStore;
  runs: Runs;
  bell: Bell;
  changeTask: ChangeTask;
  maxTaskMs: number;
  lostAfterMs: number;
  retentionMs: number;
  now: () => number;
  newId: () => string;
  log: Log;
  /** Whether the host has stopped: then nobody waits any longer. */
  isStopped: () => boolean;
};

export function createTasks(settings: TaskSettings): Tasks {
  const { store, runs, bell, changeTask, maxTaskMs, lostAfterMs, retentionMs, now, newId, log, isStopped } = settings;

  async function read({ principal, taskId, requestId }: TaskName): Promise<ExecutionTask> {
    const id = taskId ?? (requestId === undefined ? undefined : taskIdOf({ principal, requestId }));
    const task = id === undefined ? undefined : await store.get({ id });
    if (task?.principal !== principal) throw new SekishoError("task_not_found");
    return task;
  }

  /** Does what is due to a task that nobody works on: start it, or give it up. One that runs here is fine, however late. */
  async function tend(task: ExecutionTask, submission?: Submission): Promise<ExecutionTask> {
    const botToken = submission?.params.bot_token;
    const isSubmission = submission !== undefined;
    if (task.state === "submitted") return (await runs.start({ task, isSubmission, botToken })) ?? gone();
    const doubt = { nowMs: now(), lostAfterMs };
    if (runs.has(task.id) || !isLost({ task, ...doubt })) return task;
    const given = await changeTask({ task, change: giveUp({ ...doubt, expiresAtMs: doubt.nowMs + retentionMs }) });
    if (given.changed) log.error("task_lost", { request_id: String(task.requestId), task_id: task.id });
    return given.task ?? gone();
  }

  /** The deadline counts from the receipt, since the clocks of the zones may differ. */
  function newTask({ principal, requestId, params, trace, receivedAtMs }: Submission): ExecutionTask {
    const { bot_token: _secret, ...kept } = params;
    const deadlineAtMs = receivedAtMs + Math.min(params.timeout_ms ?? maxTaskMs, maxTaskMs);
    return {
      id: taskIdOf({ principal, requestId }) ?? newId(),
      revision: 1,
      state: "submitted",
      principal,
      requestId,
      correlationId: params.correlation_id ?? String(requestId),
      fingerprint: fingerprintOf(params),
      trace,
      createdAtMs: receivedAtMs,
      deadlineAtMs,
      expiresAtMs: deadlineAtMs + retentionMs,
      ...(params.callback === true && { callback: true }),
      params: kept,
    };
  }

  async function createAndStart(wanted: ExecutionTask, submission: Submission): Promise<ExecutionTask> {
    const task = (await store.create({ item: wanted })) ?? (await store.get({ id: wanted.id }));
    // It expired between the two: the next attempt creates it.
    if (task === undefined) throw new SekishoError("unavailable");
    if (task.fingerprint !== wanted.fingerprint)
      throw new SekishoError("already_exists", { details: { task_id: task.id } });
    return tend(task, submission);
  }

  return {
    async submit(submission) {
      const wanted = newTask(submission);
      return createAndStart(wanted, submission).catch((thrown: unknown) => {
        const isUnavailable = thrown instanceof SekishoError && thrown.reason === "unavailable";
        // The task may be stored, and be started by whoever reads it: who asked is not to ask elsewhere.
        throw isUnavailable
          ? new SekishoError("unavailable", { details: { task_id: wanted.id }, cause: thrown })
          : thrown;
      });
    },
    async find(name) {
      return tend(await read(name));
    },
    async cancel(name) {
      const task = await read(name);
      const { task: current = gone(), changed } = await changeTask({
        task,
        change: cancel({ expiresAtMs: now() + retentionMs }),
      });
      if (changed) runs.stop({ id: task.id, cause: "canceled" });
      if (current.state === "canceled") return current;
      throw new SekishoError("invalid_state", {
        details: { task_id: task.id, current: current.state, target: "canceled" },
      });
    },
    wait({ task, until, timeoutMs }) {
      const isRunningHere = () => runs.has(task.id);
      const reread = async () => tend((await store.get({ id: task.id })) ?? gone());
      const untilOver = (seen: ExecutionTask) => isOver(seen) || until(seen);
      return waitForChange({ task, until: untilOver, timeoutMs, bell, isRunningHere, isStopped, reread });
    },
  };
}

/** The record expired between two looks. */
function gone(): never {
  throw new SekishoError("task_not_found");
}
