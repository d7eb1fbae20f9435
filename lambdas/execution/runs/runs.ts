/** The runs of this process: starts a task by winning its lease, stops it, queues it for a worker, and ends expired or lost tasks. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { waitAtMost } from "@sekisho/runtime/async/deadline.ts";
import { createTimeLimit } from "@sekisho/runtime/async/time-limit.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Metrics } from "@sekisho/runtime/telemetry/telemetry.ts";
import { type RunSlots, unlimitedSlots } from "../limits.ts";
import {
  expiryChange,
  isLost,
  isUnanswered,
  isUnstarted,
  lossChange,
  requeueChange,
  startChange,
} from "../tasks/changes.ts";
import { createLogIds, type ExecutionTask } from "../tasks/execution-task.ts";
import { endlessLifetime, type Lifetime } from "../tasks/lifetime.ts";
import { deriveCallerGroup, encodeExecutionMessage } from "../tasks/task-message.ts";
import { type ChangeTask, throwTaskGone } from "../tasks/task-store.ts";
import type { AdvanceIfDue, Start, TaskRuns } from "../tasks/tasks.ts";
import { type Activity, createActivityRecord } from "./activity.ts";
import type { RunInput } from "./agent-input.ts";
import { type Run, type RunSettings, startRun } from "./run.ts";

/** Runs tasks: in this process (`createRuns`), or in the worker that receives their ids from a queue (`createQueuedRuns`). */
export type Runs = TaskRuns & {
  /** Says if tasks run in this process, and since when. */
  activity(): Activity;
  /** Gives the runs `graceMs` to end, then stops them; resolves when all outcomes are stored, or `settleMs` later. */
  stopAll(request: { graceMs: number; settleMs: number }): Promise<void>;
};

type AgentRuns = Runs & {
  /** Resolves when the run of this task is over and its outcome stored, or at once if it does not run here. Never rejects. */
  waitForEnd(id: string): Promise<void>;
};

/** `start` starts the agent if this process wins the task's lease. */
export function createRuns(
  settings: RunSettings & {
    log: Log;
    /** Counts the runs of each caller. The limit is checked before `start`. */
    slots?: RunSlots;
  },
): AgentRuns {
  const {
    agentName,
    newId,
    metrics,
    log,
    changeTask,
    now,
    leaseMs,
    slots = unlimitedSlots,
  } = settings;
  /** Keeps only the latest run per task, because an answer can arrive before the run that asked has finished. */
  const runs = new Map<string, Run>();
  const underWay = new Set<Run>();
  const activity = createActivityRecord({ now });
  const noteActivity = () => {
    activity.set(underWay.size > 0);
    metrics.set("sekisho_runs_under_way", {}, underWay.size);
  };
  /** Starts under way, each of which may lead to a run. */
  const pendingStarts = new Set<Promise<unknown>>();
  let isStopping = false;

  async function startOne({
    task,
    botToken,
    askerToken,
  }: Start): Promise<ExecutionTask | undefined> {
    const owner = newId();
    const claim = () =>
      changeTask({ task, change: startChange({ owner, untilMs: now() + leaseMs }) });
    // Tried twice, because the store may have granted the lease although the call failed. No other process would then start the task.
    const claimResult = await claim().catch(claim);
    if (!claimResult.isChanged || claimResult.task?.params === undefined) return claimResult.task;
    const params: RunInput = {
      ...claimResult.task.params,
      ...(botToken !== undefined && { bot_token: botToken }),
    };
    const taskLog = log.with({ ...createLogIds(task), agent: task.agent ?? agentName });
    taskLog.info("task_started");
    const run = startRun({
      ...{ settings, task: claimResult.task, owner, params, log: taskLog },
      askerToken,
    });
    runs.set(task.id, run);
    const release = slots.occupy(task);
    // The slot is held until the agent has returned. Otherwise a caller could run any number of agents that ignore their signal.
    void run.agentEnd.then(release);
    underWay.add(run);
    noteActivity();
    void run.end.then(() => {
      underWay.delete(run);
      noteActivity();
      if (runs.get(task.id) === run) runs.delete(task.id);
    });
    return claimResult.task;
  }

  async function waitForRuns(): Promise<void> {
    await Promise.allSettled(pendingStarts);
    await Promise.all([...underWay].map(({ end }) => end));
  }

  return {
    start(request) {
      if (isStopping) return Promise.resolve(request.task);
      const taskStart = startOne(request);
      pendingStarts.add(taskStart);
      const forgetStart = () => pendingStarts.delete(taskStart);
      taskStart.then(forgetStart, forgetStart);
      return taskStart;
    },
    stop: ({ id, cause }) => runs.get(id)?.stop(cause),
    waitForEnd: async (id) => runs.get(id)?.end,
    has: (id) => runs.has(id),
    latest: (id) => runs.get(id)?.latest(),
    activity: activity.read,
    async stopAll({ graceMs, settleMs }) {
      isStopping = true;
      await waitAtMost({ work: waitForRuns(), timeoutMs: graceMs });
      for (const run of underWay) run.stop("stopped");
      await waitAtMost({ work: waitForRuns(), timeoutMs: settleMs });
    },
  };
}

/** A task that is unstarted for this long gets another queue message, because the first may have been lost. */
const requeueAfterMs = 60_000;

/**
 * Starts tasks by enqueueing their ids for a worker. A submission always enqueues, and rejects with `unavailable` if that fails, so
 * that its repetition enqueues again. A read enqueues again after a while and ignores a failure. Duplicate messages are harmless, because
 * only the winner of the lease starts. A worker notices a cancel when it renews its lease.
 */
export function createQueuedRuns(options: {
  taskQueue: TaskQueue;
  changeTask: ChangeTask;
  timeoutMs: number;
  now: () => number;
  log: Log;
}): Runs {
  const { taskQueue, changeTask, timeoutMs, now, log } = options;
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });
  const activity = createActivityRecord({ now });

  async function enqueue(task: ExecutionTask): Promise<void> {
    try {
      await withinTime(
        taskQueue.send({
          body: encodeExecutionMessage({ taskId: task.id }),
          group: deriveCallerGroup(task),
        }),
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
      const { task: currentTask, isChanged } = await changeTask({ task, change });
      if (isChanged) await enqueue(task).catch(() => {});
      return currentTask;
    },
    stop() {},
    has: () => false,
    latest: () => undefined,
    activity: activity.read,
    async stopAll() {},
  };
}

/** Starts an unstarted task, ends one whose question expired, and ends one that was lost. A task that runs here is never lost. */
export function createAdvanceIfDue(options: {
  runs: Pick<Runs, "start" | "has">;
  changeTask: ChangeTask;
  lifetime?: Lifetime;
  lostAfterMs: number;
  retentionMs: number;
  metrics: Metrics;
  now: () => number;
  log: Log;
}): AdvanceIfDue {
  const {
    runs,
    changeTask,
    lifetime = endlessLifetime,
    lostAfterMs,
    retentionMs,
    metrics,
    now,
    log,
  } = options;
  return async (task) => {
    // The next read in another process starts it there.
    if (isUnstarted(task) && !lifetime.canFinish(task)) return task;
    if (isUnstarted(task))
      return (await runs.start({ task, isSubmission: false })) ?? throwTaskGone();
    const nowMs = now();
    const expiresAtMs = nowMs + retentionMs;
    if (isUnanswered({ task, nowMs })) {
      return (
        (await changeTask({ task, change: expiryChange({ nowMs, expiresAtMs }) })).task ??
        throwTaskGone()
      );
    }
    if (runs.has(task.id) || !isLost({ task, nowMs, lostAfterMs })) return task;
    const lossResult = await changeTask({
      task,
      change: lossChange({ nowMs, lostAfterMs, expiresAtMs }),
    });
    if (lossResult.isChanged) {
      metrics.add("sekisho_executions_total", { state: "failed", reason: "lost" });
      log.error("task_lost", { ...createLogIds(task), reason: "execution_failed" });
    }
    return lossResult.task ?? throwTaskGone();
  };
}
