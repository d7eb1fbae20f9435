/**
 * Queues a notice for each push configuration when the state of its task changes. Also queues looks, which ask a worker to check the task
 * later: a task that was not started, was lost or has expired is otherwise noticed only when a client reads it.
 */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createTimeLimit } from "@sekisho/runtime/async/time-limit.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { isAsking, isOver, isUnstarted, questionEndsAtMs } from "../tasks/changes.ts";
import { createCompletionPush } from "../tasks/completion-push.ts";
import {
  createLogIds,
  type ExecutionTask,
  type RunTimes,
  type StoredPushConfig,
} from "../tasks/execution-task.ts";
import { deriveCallerGroup, encodeExecutionMessage, type TaskLook } from "../tasks/task-message.ts";
import {
  type ChangeTask,
  createChangeTask,
  createGuardedStore,
  createTaskSignal,
  type ExecutionStore,
} from "../tasks/task-store.ts";
import type { AdvanceIfDue } from "../tasks/tasks.ts";

export type PushOutbox = {
  /** Wraps `changeTask`. A change of state resolves when its notices are queued. A failure to queue them is only logged. */
  wrapChangeTask(changeTask: ChangeTask): ChangeTask;
  /** Queues a notice of the task's current state for one configuration. Rejects with `unavailable`. */
  notify(request: { task: ExecutionTask; configId: string }): Promise<void>;
  /** Queues the next look at a task that is not over. Rejects with `unavailable`. */
  watch(request: {
    task: ExecutionTask;
    config: Pick<StoredPushConfig, "id" | "registrationId">;
  }): Promise<void>;
  /** Wraps the store, so that the first look at a task is queued before the task is created. A failure is only logged. */
  wrapStore(store: ExecutionStore): ExecutionStore;
};

/** After this time, an unstarted task may have lost its queue message. */
const defaultUnstartedAfterMs = 10_000;
/** Avoids a busy loop when the clocks of two processes differ. */
const minDelayMs = 250;

/**
 * Store and queue cannot be written together, so a process that dies between a change and its notice loses the notice. A client that
 * polls still sees the change.
 */
export function createPushOutbox(options: {
  queue: TaskQueue;
  lostAfterMs: number;
  unstartedAfterMs?: number | undefined;
  /** The limit for each of two attempts. */
  timeoutMs?: number;
  now: () => number;
  log: Log;
}): PushOutbox {
  const {
    queue,
    lostAfterMs,
    unstartedAfterMs = defaultUnstartedAfterMs,
    timeoutMs = 2000,
    now,
    log,
  } = options;
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });

  async function notify({
    task,
    configId,
  }: {
    task: ExecutionTask;
    configId: string;
  }): Promise<void> {
    const { id: taskId, state, changedAtMs } = task;
    const body = encodeExecutionMessage({
      push: { taskId, configId, state, changedAtMs, attempt: 0 },
    });
    return sendMessage({ task, message: { body } });
  }

  async function watch({ task, config }: Parameters<PushOutbox["watch"]>[0]): Promise<void> {
    const { id: taskId, state, changedAtMs } = task;
    const { id: configId, registrationId } = config;
    const body = encodeExecutionMessage({
      look: { taskId, configId, registrationId, state, changedAtMs },
    });
    const nowMs = now();
    return sendMessage({
      task,
      message: { body, delayMs: Math.max(minDelayMs, attentionAtMs(task, nowMs) - nowMs) },
    });
  }

  /** The time of the next look: when the question expires, the queue message may be lost, or the lease is overdue for so long that the task is lost. */
  function attentionAtMs(task: ExecutionTask, nowMs: number): number {
    if (isAsking(task)) return questionEndsAtMs(task);
    return isUnstarted(task) || task.lease === undefined
      ? nowMs + unstartedAfterMs
      : task.lease.untilMs + lostAfterMs;
  }

  async function watchAll(task: ExecutionTask): Promise<void> {
    if (isOver(task)) return;
    await Promise.allSettled(
      (task.a2a?.pushConfigs ?? []).map((config) => watch({ task, config })),
    );
  }

  async function sendMessage(request: {
    task: ExecutionTask;
    message: Parameters<TaskQueue["send"]>[0];
  }): Promise<void> {
    const { task, message } = request;
    const send = async () => withinTime(queue.send({ ...message, group: deriveCallerGroup(task) }));
    try {
      await send().catch(send);
    } catch (cause) {
      const ids = { ...createLogIds(task), operation: "push" };
      log.error("push_not_queued", { ...ids, state: task.state, cause_kind: errorKind(cause) });
      throw new SekishoError("unavailable", { cause });
    }
  }

  return {
    wrapChangeTask: (changeTask) => async (request) => {
      let entersState = false;
      const result = await changeTask({
        ...request,
        change(task) {
          const nextTask = request.change(task);
          entersState = nextTask !== undefined && nextTask.state !== task.state;
          return nextTask;
        },
      });
      const { task, isChanged } = result;
      const configs = (isChanged && entersState && task?.a2a?.pushConfigs) || [];
      if (task !== undefined && configs.length > 0) {
        await Promise.allSettled([
          ...configs.map(({ id }) => notify({ task, configId: id })),
          watchAll(task),
        ]);
      }
      return result;
    },
    wrapStore: (store) => ({
      ...store,
      async create(request) {
        await watchAll(request.item);
        return store.create(request);
      },
    }),
    notify,
    watch,
  };
}

/** The store with its deadline, and the function that changes a task and then sends its pushes, for a host or a worker. */
export function openTaskChanges(
  settings: Pick<
    RunTimes,
    "syncBudgetMs" | "writingBudgetMs" | "lostAfterMs" | "storeTimeoutMs"
  > & {
    store: ExecutionStore;
    completions?: TaskQueue | undefined;
    notifications?: TaskQueue | undefined;
    unstartedAfterMs?: number;
    now: () => number;
    log: Log;
  },
) {
  const { store, completions, notifications, storeTimeoutMs, now, log } = settings;
  const changeSignal = createTaskSignal();
  const guardedStore = createGuardedStore({ store, timeoutMs: storeTimeoutMs, log });
  const push = createCompletionPush({ ...settings, queue: completions });
  const outbox = notifications && createPushOutbox({ ...settings, queue: notifications });
  const changeAndPush = push.wrapChangeTask(
    createChangeTask({ store: guardedStore, changeSignal, now }),
  );
  return {
    guardedStore,
    changeSignal,
    push,
    outbox,
    changeTask: outbox?.wrapChangeTask(changeAndPush) ?? changeAndPush,
  };
}

/** Starts or ends the task if that is due. If its state stays, queues the next look. Rejects with `unavailable`. */
export type HandleLook = (look: TaskLook) => Promise<void>;

/** A look belongs to one state of a task and one registered push configuration. When either ends, the looks end too. */
export function createHandleLook(options: {
  store: Pick<ExecutionStore, "get">;
  advanceIfDue: AdvanceIfDue;
  outbox: Pick<PushOutbox, "watch">;
}): HandleLook {
  const { store, advanceIfDue, outbox } = options;
  return async (look) => {
    const storedTask = await store.get({ id: look.taskId });
    if (storedTask === undefined || !isAt({ task: storedTask, look })) return;
    // The next look tries again after a failure.
    const task = await advanceIfDue(storedTask).catch(() => storedTask);
    if (isAt({ task, look })) await outbox.watch({ task, config: { id: look.configId, ...look } });
  };
}

function isAt({ task, look }: { task: ExecutionTask; look: TaskLook }): boolean {
  const config = task.a2a?.pushConfigs?.find(({ id }) => id === look.configId);
  if (config === undefined || config.registrationId !== look.registrationId) return false;
  return task.state === look.state && task.changedAtMs === look.changedAtMs;
}
