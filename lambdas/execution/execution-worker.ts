/** The Execution worker: runs each task whose id it receives from the queue, and checks tasks that have push configurations. */
import { setTimeout as sleep } from "node:timers/promises";
import { abortable, backoffMs } from "@sekisho/runtime/async/waiting.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { isNewerRecord } from "@sekisho/runtime/engine/record-version.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  createHandleLook,
  type HandleLook,
  openTaskChanges,
  type PushOutbox,
} from "./a2a/push-outbox.ts";
import type { Agent } from "./agents/agent.ts";
import { withDefaults } from "./host-settings.ts";
import { createPassVote } from "./runs/feedback.ts";
import { createAdvanceIfDue, createQueuedRuns, createRuns } from "./runs/runs.ts";
import { isUnstarted } from "./tasks/changes.ts";
import type { ConversationStore } from "./tasks/conversation-record.ts";
import { createLogIds, type RunTimes } from "./tasks/execution-task.ts";
import type { ExecutionStore } from "./tasks/task-store.ts";

export type ExecutionWorker = {
  /**
   * Resolves when the task's run is over, its outcome is stored and its push is sent. Resolves at once for a task that is over, unknown or
   * run by another worker. When `signal` aborts, the agent is stopped and the task is stored as lost. Rejects with `unavailable` if the
   * store is unavailable, and with the signal's reason if it aborted before the start.
   */
  run(request: { taskId: string; signal: AbortSignal }): Promise<void>;
  /** Starts or ends a task with push configurations if that is due. Does nothing without `notifications`. */
  look: HandleLook;
  /** Passes a vote to the agent. Rejects if the store is unavailable or the agent failed. */
  vote(request: { taskId: string; voterId: string }): Promise<void>;
};

type WorkerOptions = Partial<RunTimes> & {
  agent: Agent;
  agentName?: string;
  store: ExecutionStore;
  /** Keeps the values of conversations. Default: nothing is kept. */
  conversations?: ConversationStore | undefined;
  /** The queue for completion pushes. */
  completions?: TaskQueue | undefined;
  /** The task queue itself, which also carries push notices and looks. */
  notifications?: TaskQueue | undefined;
  log?: Log;
  telemetry?: Telemetry;
  now?: () => number;
  newId?: () => string;
  random?: () => number;
};

/** With these pauses, starting a task is given up after about half a minute of an unavailable store. */
const maxStarts = 7;
const startPause = { baseMs: 1000, capMs: 15_000 };

/** The times must be those of the host that queues the tasks. */
export function createExecutionWorker(options: WorkerOptions): ExecutionWorker {
  const settings = withDefaults(options);
  const { telemetry, storeTimeoutMs, notifications, log, random } = settings;
  const { guardedStore, changeSignal, push, outbox, changeTask } = openTaskChanges(settings);
  const common = { ...settings, ...telemetry, changeTask, changeSignal };
  const runs = createRuns(common);

  function createLook({ queue, outbox }: { queue: TaskQueue; outbox: PushOutbox }): HandleLook {
    const queuedRuns = createQueuedRuns({ ...common, taskQueue: queue, timeoutMs: storeTimeoutMs });
    return createHandleLook({
      store: guardedStore,
      advanceIfDue: createAdvanceIfDue({ ...common, runs: queuedRuns }),
      outbox,
    });
  }

  /**
   * Reads the task and starts it. False if it is not due. Retries while the store is unavailable, because a failed message stays hidden for
   * six times the function's time limit, and the task would be out of time.
   */
  async function startTask({
    taskId,
    signal,
  }: {
    taskId: string;
    signal: AbortSignal;
  }): Promise<boolean> {
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      try {
        // A task that is started after the abort would be stored as lost, although its agent never ran.
        const task = await abortable({ promise: guardedStore.get({ id: taskId }), signal });
        const isDue = task !== undefined && isUnstarted(task);
        if (isDue) await runs.start({ task, isSubmission: false });
        else
          log.info("task_not_due", {
            task_id: taskId,
            ...(task && createLogIds(task)),
            state: task?.state,
          });
        return isDue;
      } catch (error) {
        signal.throwIfAborted();
        if (attempt === maxStarts - 1 || isNewerRecord(error)) throw error;
      }
      await abortable({
        promise: sleep(backoffMs({ ...startPause, attempt, random }), undefined, { signal }),
        signal,
      });
    }
  }

  const passVote = createPassVote(settings);
  return {
    async vote({ taskId, voterId }) {
      const task = await guardedStore.get({ id: taskId });
      if (task !== undefined) await passVote({ task, voterId });
    },
    look: notifications && outbox ? createLook({ queue: notifications, outbox }) : async () => {},
    async run({ taskId, signal }) {
      const stop = () => runs.stop({ id: taskId, cause: "stopped" });
      signal.addEventListener("abort", stop);
      try {
        if (!(await startTask({ taskId, signal }))) return;
        if (signal.aborted) stop();
        await runs.waitForEnd(taskId);
        await push.waitForPushes();
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
  };
}
