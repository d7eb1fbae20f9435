/** The runs of this process: starts them by winning the lease, stops them, and knows whether any is under way. */
import type { Log } from "../../shared/log.ts";
import { start } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import { loggedIds } from "./logged-ids.ts";
import { type Run, type RunInput, type RunSettings, type StopCause, startRun } from "./run.ts";

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

export type AgentRuns = Runs & {
  /** Resolves when the run of this task is over and its outcome stored; at once where it does not run here. Never rejects. */
  ended(id: string): Promise<void>;
};

/** `start` starts the agent if this process wins the task's lease. */
export function createRuns(settings: RunSettings & { log: Log }): AgentRuns {
  const { agentName, newId, metrics, log, changeTask, now, leaseMs } = settings;
  /** Of each task the latest: one that asked may be answered before its run knows that it is over. */
  const runs = new Map<string, Run>();
  const underWay = new Set<Run>();
  /** Leases that are being asked for: a run may come of each. */
  const starting = new Set<Promise<unknown>>();
  let stopping = false;

  async function startOne({ task, botToken }: Start): Promise<ExecutionTask | undefined> {
    const owner = newId();
    const claim = () => changeTask({ task, change: start({ owner, untilMs: now() + leaseMs }) });
    // The store may have given the lease and not have said so: then nobody else would ever start the task.
    const won = await claim().catch(claim);
    if (!won.changed || won.task?.params === undefined) return won.task;
    const params: RunInput = { ...won.task.params, ...(botToken !== undefined && { bot_token: botToken }) };
    const ofTask = log.with({ ...loggedIds(task), agent: agentName });
    ofTask.info("task_started");
    const run = startRun({ ...settings, task: won.task, owner, params, log: ofTask });
    runs.set(task.id, run);
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
      await atMost({ work: allEnded(), ms: graceMs });
      for (const run of underWay) run.stop("stopped");
      await atMost({ work: allEnded(), ms: settleMs });
    },
  };
}

async function atMost({ work, ms }: { work: Promise<void>; ms: number }): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([late, work]);
  clearTimeout(timer);
}
