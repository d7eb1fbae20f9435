/** The runs of this process: starts them by winning the lease, stops them, and does what is due to a task that nobody works on. */
import { SekishoError } from "../../../contracts/errors.ts";
import { waitAtMost } from "../../shared/async/deadline.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { errorKind } from "../../shared/telemetry/error-kind.ts";
import type { Metrics } from "../../shared/telemetry/telemetry.ts";
import { type PlaceCount, unlimitedPlaces } from "../http/admission.ts";
import {
  expiryChange,
  isAsking,
  isLost,
  isUnanswered,
  isUnstarted,
  lossChange,
  requeueChange,
  startChange,
} from "../tasks/changes.ts";
import { createLogIds, type ExecutionTask } from "../tasks/execution-task.ts";

import { deriveCallerGroup, encodeExecutionMessage } from "../tasks/task-message.ts";
import type { ChangeTask } from "../tasks/task-store.ts";
import { type Run, type RunInput, type RunSettings, type StopCause, startRun } from "./run.ts";
import { createTimeLimit } from "./time-limit.ts";

type Start = {
  task: ExecutionTask;
  /** Whether it is the task's own request that asks, and not a read that finds the task unstarted. */
  isSubmission: boolean;
  /** There only while the request that brought it is at hand. */
  botToken?: string | undefined;
};

/** Where tasks run: in this process, or (queued-runs.ts) wherever their ids are received. */
export type Runs = {
  /** Does what starts a task that nobody has started. Resolves to the record as it stands then, undefined where it expired. */
  start(request: Start): Promise<ExecutionTask | undefined>;
  stop(request: { id: string; cause: StopCause }): void;
  has(id: string): boolean;
  count(): number;
  /** Gives the runs `graceMs` to end, then stops them; resolves when all outcomes are stored, or `settleMs` later. */
  stopAll(request: { graceMs: number; settleMs: number }): Promise<void>;
};

type AgentRuns = Runs & {
  /** Resolves when the run of this task is over and its outcome stored; at once where it does not run here. Never rejects. */
  ended(id: string): Promise<void>;
};

/** `start` starts the agent if this process wins the task's lease. */
export function createRuns(
  settings: RunSettings & {
    log: Log;
    /** Counts the runs of each caller. Whoever asks for a start has looked there before. */
    places?: PlaceCount;
  },
): AgentRuns {
  const { agentName, newId, metrics, log, changeTask, now, leaseMs, places = unlimitedPlaces } = settings;
  /** Keeps only the latest run per task, because an answer can arrive before the run that asked has finished. */
  const runs = new Map<string, Run>();
  const underWay = new Set<Run>();
  /** Leases that are being asked for: a run may come of each. */
  const starting = new Set<Promise<unknown>>();
  let stopping = false;

  async function startOne({ task, botToken }: Start): Promise<ExecutionTask | undefined> {
    const owner = newId();
    const claim = () => changeTask({ task, change: startChange({ owner, untilMs: now() + leaseMs }) });
    // The store may have given the lease and not have said so: then nobody else would ever start the task.
    const won = await claim().catch(claim);
    if (!won.changed || won.task?.params === undefined) return won.task;
    const params: RunInput = { ...won.task.params, ...(botToken !== undefined && { bot_token: botToken }) };
    const ofTask = log.with({ ...createLogIds(task), agent: agentName });
    ofTask.info("task_started");
    const run = startRun({ ...settings, task: won.task, owner, params, log: ofTask });
    runs.set(task.id, run);
    const release = places.occupy(task);
    // Not at its end: a caller that cancels agents which ignore their signal would have any number of them at work.
    void run.returned.then(release);
    underWay.add(run);
    metrics.set("sekisho_runs_under_way", {}, underWay.size);
    void run.ended.then(() => {
      underWay.delete(run);
      metrics.set("sekisho_runs_under_way", {}, underWay.size);
      if (runs.get(task.id) === run) runs.delete(task.id);
    });
    return won.task;
  }

  async function allEnded(): Promise<void> {
    await Promise.allSettled(starting);
    await Promise.all([...underWay].map(({ ended }) => ended));
  }

  return {
    async start(request) {
      if (stopping) return request.task;
      const started = startOne(request);
      starting.add(started);
      try {
        return await started;
      } finally {
        starting.delete(started);
      }
    },
    stop: ({ id, cause }) => runs.get(id)?.stop(cause),
    ended: async (id) => runs.get(id)?.ended,
    has: (id) => runs.has(id),
    count: () => underWay.size,
    async stopAll({ graceMs, settleMs }) {
      stopping = true;
      await waitAtMost({ work: allEnded(), timeoutMs: graceMs });
      for (const run of underWay) run.stop("stopped");
      await waitAtMost({ work: allEnded(), timeoutMs: settleMs });
    },
  };
}

/** A task that nobody has started for so long may have lost its message; one that merely waits its turn gets few too many. */
const requeueAfterMs = 60_000;

/**
 * A request of its own always enqueues a task that nobody has started, and rejects with `unavailable` where that fails, so
 * that its repetition enqueues again. A read does so once in a while and bears a failure. A message too many is harmless:
 * only the winner of the lease starts. A cancel needs nothing here: the worker sees it when it renews its lease.
 */
export function createQueuedRuns({
  taskQueue,
  changeTask,
  timeoutMs,
  now,
  log,
}: {
  taskQueue: TaskQueue;
  changeTask: ChangeTask;
  timeoutMs: number;
  now: () => number;
  log: Log;
}): Runs {
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });

  async function enqueue(task: ExecutionTask): Promise<void> {
    try {
      await withinTime(
        taskQueue.send({ body: encodeExecutionMessage({ taskId: task.id }), group: deriveCallerGroup(task) }),
      );
    } catch (error) {
      const fields = { reason: "unavailable", cause_kind: errorKind(error) };
      log.error("enqueue_failed", { ...createLogIds(task), ...fields });
      throw new SekishoError("unavailable", { cause: error });
    }
  }

  return {
    async start({ task, isSubmission }) {
      if (isSubmission) {
        await enqueue(task);
        return task;
      }
      const change = requeueChange({ nowMs: now(), everyMs: requeueAfterMs });
      const { task: current, changed } = await changeTask({ task, change });
      if (changed) await enqueue(task).catch(() => {});
      return current;
    },
    stop() {},
    has: () => false,
    count: () => 0,
    async stopAll() {},
  };
}

/** Resolves to the record as it stands then. Rejects with `task_not_found` where it has expired. */
export type AdvanceIfDue = (task: ExecutionTask) => Promise<ExecutionTask>;

/** One that runs here is fine, however late. */
export function createAdvanceIfDue({
  runs,
  changeTask,
  lifetime = endlessLifetime,
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
    if (isUnstarted(task)) return (await runs.start({ task, isSubmission: false })) ?? throwTaskGone();
    const nowMs = now();
    const expiresAtMs = nowMs + retentionMs;
    if (isUnanswered({ task, nowMs })) {
      return (await changeTask({ task, change: expiryChange({ nowMs, expiresAtMs }) })).task ?? throwTaskGone();
    }
    if (runs.has(task.id) || !isLost({ task, nowMs, lostAfterMs })) return task;
    const given = await changeTask({ task, change: lossChange({ nowMs, lostAfterMs, expiresAtMs }) });
    if (given.changed) {
      metrics.add("sekisho_executions_total", { state: "failed", reason: "lost" });
      log.error("task_lost", { ...createLogIds(task), reason: "execution_failed" });
    }
    return given.task ?? throwTaskGone();
  };
}

/** The record expired between two looks. */
export function throwTaskGone(): never {
  throw new SekishoError("task_not_found");
}

/** How long this process lives. A platform that ends its machines would end their tasks with them. */
export type Lifetime = {
  /** How long a task that begins now may take; infinite where nothing ends the process. */
  leftMs(): number;
  /** Whether the task can be run to its end here. */
  canFinish(task: Pick<ExecutionTask, "state" | "deadlineAtMs" | "changedAtMs">): boolean;
};

/** Between the end of a task's time and the end of the process: the outcome is stored, and the process is a little older than it knows. */
const marginMs = 60_000;

/** The process's own clock and the clock of deadlines tick in different steps. */
const clockStepMs = 1000;

/** Least time for a task whose request names none. */
export const leastUnnamedMs = 15 * 60_000;

/** `processLeftMs` says how long the platform lets the process live from now on. */
export function createLifetime({ processLeftMs, now }: { processLeftMs: () => number; now: () => number }): Lifetime {
  const leftMs = () => Math.max(0, processLeftMs() - marginMs);
  return {
    leftMs,
    canFinish({ state, deadlineAtMs, changedAtMs }) {
      // While a task waits for a person, its time stands still.
      const sinceMs = isAsking({ state }) ? changedAtMs : now();
      return deadlineAtMs - sinceMs <= leftMs() + clockStepMs;
    },
  };
}

/** The lifetime of a process that only its owner ends. */
export const endlessLifetime: Lifetime = { leftMs: () => Number.POSITIVE_INFINITY, canFinish: () => true };

/** Nothing was begun and nothing stored: another session may be asked. */
export function createSessionEndingError(): SekishoError {
  return new SekishoError("session_ending");
}
