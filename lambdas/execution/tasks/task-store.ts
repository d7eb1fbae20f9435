/** The task store as the host uses it: every call has a deadline, changes are compare-and-set, and callers can wait for a change. */
import { setTimeout as sleep } from "node:timers/promises";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createTimeLimit } from "@sekisho/runtime/async/time-limit.ts";
import { backoffMs } from "@sekisho/runtime/async/waiting.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { conflict, retryOnConflict } from "@sekisho/runtime/engine/records.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { enterState, isTurnOver, type TaskChange } from "./changes.ts";
import { type ExecutionTask, toLoggableId } from "./execution-task.ts";

export type ExecutionStore = Pick<TaskStore<ExecutionTask>, "get" | "create" | "replace" | "list">;

/**
 * Limits the time of every call and maps failures to `unavailable`, except for the RangeError of an unknown cursor. After the deadline a
 * write may still happen; repeating it is harmless, because writes compare revisions.
 */
export function createGuardedStore(options: {
  store: ExecutionStore;
  timeoutMs: number;
  log: Log;
}): ExecutionStore {
  const { store } = options;
  const guard = createStoreGuard(options);
  return {
    get: (request) => guard({ work: store.get(request), operation: "store_get", item: request }),
    create: (request) =>
      guard({ work: store.create(request), operation: "store_create", item: request.item }),
    replace: (request) =>
      guard({ work: store.replace(request), operation: "store_replace", item: request.item }),
    list: (request) => guard({ work: store.list(request), operation: "store_list" }),
  };
}

/** Limits the time of a call of a store, and maps its failure to `unavailable`. `item` is the task that the log line names. */
export function createStoreGuard({ timeoutMs, log }: { timeoutMs: number; log: Log }) {
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });
  return <T>(request: {
    work: Promise<T>;
    operation: string;
    item?: { id: string; requestId?: unknown };
  }): Promise<T> => {
    const { work, operation, item } = request;
    return withinTime(work, (error) => {
      // An unknown cursor is the caller's mistake.
      if (operation === "store_list" && error instanceof RangeError) return error;
      log.error("store_failed", {
        ...(item && { task_id: item.id, request_id: toLoggableId(item.requestId) }),
        operation,
        reason: "unavailable",
        cause_kind: errorKind(error),
      });
      return new SekishoError("unavailable", { cause: error });
    });
  };
}

/** `task` is the current record, or undefined if it has expired. `isChanged` is false if its state forbids the change. */
type ChangeResult = { task: ExecutionTask | undefined; isChanged: boolean };

export type ChangeTask = (request: {
  task: ExecutionTask;
  change: TaskChange;
}) => Promise<ChangeResult>;

/** The random delay of a writer that lost several times, so that one of many writers wins each round. */
const pause = { baseMs: 1, capMs: 50 };

const attemptsAtOnce = 3;

/** Rejects with `unavailable` if the store is unavailable. */
export function createChangeTask(options: {
  store: Pick<ExecutionStore, "get" | "replace">;
  changeSignal: TaskSignal;
  now: () => number;
  random?: () => number;
}): ChangeTask {
  const { store, changeSignal, now, random = Math.random } = options;
  return ({ task, change }) => {
    let currentTask: ExecutionTask | undefined = task;
    return retryOnConflict<ChangeResult>({
      async attempt(count) {
        if (count > attemptsAtOnce)
          await sleep(backoffMs({ ...pause, attempt: count - 1, random }));
        if (count > 0) currentTask = await store.get({ id: task.id });
        const nextTask: ExecutionTask | undefined = currentTask && change(currentTask);
        if (currentTask === undefined || nextTask === undefined)
          return { task: currentTask, isChanged: false };
        const item =
          nextTask.state === currentTask.state
            ? nextTask
            : enterState({ from: currentTask, task: nextTask, nowMs: now() });
        const storedTask = await store.replace({ item });
        if (storedTask === undefined) return conflict;
        changeSignal.ring(storedTask);
        return { task: storedTask, isChanged: true };
      },
      exhausted: () => new SekishoError("unavailable"),
    });
  };
}

type Listener = (task: ExecutionTask) => void;

/** Notifies waiters in this process that a task's record changed. Other processes read the store. */
export type TaskSignal = {
  ring(task: ExecutionTask): void;
  /** Returns a function that removes the listener. */
  listen(request: { id: string; listener: Listener }): () => void;
};

export function createTaskSignal(): TaskSignal {
  const listeners = new Map<string, Set<Listener>>();
  return {
    ring(task) {
      for (const listener of [...(listeners.get(task.id) ?? [])]) listener(task);
    },
    listen({ id, listener }) {
      const taskListeners = listeners.get(id) ?? new Set();
      listeners.set(id, taskListeners.add(listener));
      return () => {
        taskListeners.delete(listener);
        if (taskListeners.size === 0 && listeners.get(id) === taskListeners) listeners.delete(id);
      };
    },
  };
}

const firstPollMs = 100;

const maxPollMs = 1000;

/** Resolves to the record once `until` holds for it, after `timeoutMs`, or when the host stops. Rejects as `rereadTask` does. */
export async function waitForChange(request: {
  task: ExecutionTask;
  until: (task: ExecutionTask) => boolean;
  timeoutMs: number;
  changeSignal: TaskSignal;
  isRunningHere: () => boolean;
  isStopped: () => boolean;
  rereadTask: () => Promise<ExecutionTask>;
}): Promise<ExecutionTask> {
  const { task, until, timeoutMs, changeSignal, isRunningHere, isStopped, rereadTask } = request;
  const { promise: waitEnd, resolve, reject } = Promise.withResolvers<void>();
  const endMs = performance.now() + timeoutMs;
  let latestTask = task;
  let timer: NodeJS.Timeout | undefined;
  let currentRead: Promise<void> | undefined;

  function see(changedTask: ExecutionTask): void {
    latestTask = changedTask;
    if (until(changedTask)) resolve();
  }

  /** Reads at once the first time, because a run that is not here may have ended before the listener was added. */
  function poll(nextMs: number): void {
    const leftMs = endMs - performance.now();
    if (isStopped() || leftMs <= 0) {
      void end();
      return;
    }
    timer = setTimeout(poll, Math.min(nextMs, leftMs), Math.min(2 * nextMs, maxPollMs));
    if (currentRead === undefined && !isRunningHere()) void readStore();
  }

  async function readStore(): Promise<void> {
    currentRead = rereadTask().then(see).catch(reject);
    await currentRead;
    currentRead = undefined;
  }

  /** Reads a last time, because what another process stored before the end of the wait is not pushed. */
  async function end(): Promise<void> {
    if (!isStopped()) await currentRead;
    if (!isStopped() && !isRunningHere()) await readStore();
    resolve();
  }

  const stopListening = changeSignal.listen({ id: task.id, listener: see });
  try {
    poll(firstPollMs);
    await waitEnd;
    return latestTask;
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

const firstLookMs = 100;

const maxLookMs = 1000;

/**
 * Yields the task and then each newer record that it sees. If records change faster than the consumer reads, it yields only the latest.
 * Ends after a record for which `until` holds, when `signal` aborts, and when the host stops. Throws as `rereadTask` does.
 */
export async function* watchTask(request: {
  task: ExecutionTask;
  changeSignal: TaskSignal;
  isRunningHere: () => boolean;
  isStopped: () => boolean;
  rereadTask: () => Promise<ExecutionTask>;
  /** Default: the end of the turn, when the task is over or asks a question. */
  until?: ((task: ExecutionTask) => boolean) | undefined;
  signal: AbortSignal;
}): AsyncGenerator<ExecutionTask> {
  const {
    task,
    changeSignal,
    isRunningHere,
    isStopped,
    rereadTask,
    until = isTurnOver,
    signal,
  } = request;
  let latestTask = task;
  let wake = () => {};
  const see = (changedTask: ExecutionTask) => {
    if (changedTask.revision > latestTask.revision) latestTask = changedTask;
    wake();
  };
  const stopListening = changeSignal.listen({ id: task.id, listener: see });
  const abort = () => wake();
  signal.addEventListener("abort", abort);
  let pollMs = firstLookMs;
  let shownRevision = 0;
  try {
    while (!signal.aborted) {
      if (latestTask.revision > shownRevision) {
        shownRevision = latestTask.revision;
        pollMs = firstLookMs;
        yield latestTask;
        if (until(latestTask)) {
          if (latestTask.revision === shownRevision) return;
          continue;
        }
      }
      if (isStopped()) return;
      // Changes from before the listener was added, or from other processes, are only in the store.
      if (shownRevision === task.revision || !isRunningHere()) see(await rereadTask());
      if (latestTask.revision > shownRevision) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, pollMs);
      if (!signal.aborted) await promise;
      clearTimeout(timer);
      pollMs = Math.min(2 * pollMs, maxLookMs);
    }
  } finally {
    stopListening();
    signal.removeEventListener("abort", abort);
  }
}

/** For a record that expired between two reads. */
export function throwTaskGone(): never {
  throw new SekishoError("task_not_found");
}
