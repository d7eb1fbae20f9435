/** The Execution worker: runs each task whose id it receives from the queue to its stored outcome, and does what is due for other tasks. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../shared/async/waiting.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import { type Log, silentLog } from "../../shared/log.ts";
import { noTelemetry, type Telemetry } from "../../shared/telemetry/telemetry.ts";
import { createHandleLook, createPushOutbox, type HandleLook, type PushOutbox } from "../a2a/push-outbox.ts";
import type { Agent } from "../agents/agent.ts";
import { isUnstarted } from "../tasks/changes.ts";
import { createCompletionPush } from "../tasks/completion-push.ts";
import { createLogIds, runDefaults } from "../tasks/execution-task.ts";
import { createChangeTask, createGuardedStore, createTaskSignal, type ExecutionStore } from "../tasks/task-store.ts";
import { createAdvanceIfDue, createQueuedRuns, createRuns } from "./runs.ts";

export type ExecutionWorker = {
  /**
   * Resolves when the task's run is over, its outcome is stored and its push is sent; at once for a task that is over, unknown or run by
   * another worker. When `signal` aborts, the agent is stopped and the task is stored as lost. Rejects with `unavailable` where the store
   * is away, and with the signal's reason where it aborted before anything was started.
   */
  run(request: { taskId: string; signal: AbortSignal }): Promise<void>;
  /** Does what is due for a task whose caller waits for notifications; nothing without `notifications`. */
  look: HandleLook;
};

/** About half a minute in all, while the store is away. */
const maxReads = 7;
const readPause = { baseMs: 1000, capMs: 15_000 };

/** The times must be those of the host that queues the tasks. */
export function createExecutionWorker({
  agent,
  agentName = "agent",
  store,
  completions,
  notifications,
  syncBudgetMs = runDefaults.syncBudgetMs,
  leaseMs = runDefaults.leaseMs,
  renewMs = leaseMs / 2,
  lostAfterMs = runDefaults.lostAfterMs,
  retentionMs = runDefaults.retentionMs,
  questionMs = runDefaults.questionMs,
  progressMs = runDefaults.progressMs,
  storeTimeoutMs = runDefaults.storeTimeoutMs,
  log = silentLog,
  telemetry: { metrics, spans } = noTelemetry,
  now = Date.now,
  newId = randomUUID,
  random = Math.random,
}: {
  agent: Agent;
  agentName?: string;
  store: ExecutionStore;
  /** The queue for completion pushes. */
  completions?: TaskQueue | undefined;
  /** The task queue itself, which also carries notices for A2A push configurations. */
  notifications?: TaskQueue | undefined;
  /** How long the host waits before it accepts a task. */
  syncBudgetMs?: number;
  leaseMs?: number;
  renewMs?: number;
  lostAfterMs?: number;
  retentionMs?: number;
  questionMs?: number;
  progressMs?: number;
  storeTimeoutMs?: number;
  log?: Log;
  telemetry?: Telemetry | undefined;
  now?: () => number;
  newId?: () => string;
  random?: () => number;
}): ExecutionWorker {
  const guarded = createGuardedStore({ store, timeoutMs: storeTimeoutMs, log });
  const push = createCompletionPush({ queue: completions, syncBudgetMs, now, log });
  const pushed = push.after(createChangeTask({ store: guarded, changeSignal: createTaskSignal(), now }));
  const outbox = notifications && createPushOutbox({ queue: notifications, lostAfterMs, now, log });
  const changeTask = outbox?.after(pushed) ?? pushed;
  const times = { leaseMs, renewMs, lostAfterMs, retentionMs, questionMs, progressMs };
  const runs = createRuns({ ...times, agent, agentName, changeTask, metrics, spans, log, now, newId, random });

  function createLook({ queue, outbox }: { queue: TaskQueue; outbox: PushOutbox }): HandleLook {
    const queued = createQueuedRuns({ taskQueue: queue, changeTask, timeoutMs: storeTimeoutMs, now, log });
    const advanceIfDue = createAdvanceIfDue({ runs: queued, changeTask, lostAfterMs, retentionMs, metrics, now, log });
    return createHandleLook({ store: guarded, advanceIfDue, outbox });
  }

  /** A single failed read must not fail the message: it would stay hidden for six times the function's time, and the task be out of time. */
  async function readTask({ taskId, signal }: { taskId: string; signal: AbortSignal }) {
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await guarded.get({ id: taskId });
      } catch (error) {
        if (attempt === maxReads - 1) throw error;
      }
      await sleep(backoffMs({ ...readPause, attempt, random }), undefined, { signal });
    }
  }

  return {
    look: notifications && outbox ? createLook({ queue: notifications, outbox }) : async () => {},
    async run({ taskId, signal }) {
      const task = await readTask({ taskId, signal });
      if (task === undefined || !isUnstarted(task)) {
        log.info("task_not_due", { task_id: taskId, ...(task && createLogIds(task)), state: task?.state });
        return;
      }
      const stop = () => runs.stop({ id: taskId, cause: "stopped" });
      signal.addEventListener("abort", stop);
      try {
        await runs.start({ task, isSubmission: false });
        if (signal.aborted) stop();
        await runs.ended(taskId);
        await push.settled();
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
  };
}
