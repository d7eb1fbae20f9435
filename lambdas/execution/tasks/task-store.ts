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
  const { store, timeoutMs, log } = options;
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "timeout" });
  function guarded<T>(request: {
    work: Promise<T>;
    operation: string;
    item?: { id: string; requestId?: unknown };
  }): Promise<T> {
    const { work, operation, item } = request;
    return withinTime(work, (error) => {
      // An unknown cursor is the caller's mistake.
      if (operation === "store_list" && error instanceof RangeError) return error;
      const ids = { task_id: item?.id, request_id: toLoggableId(item?.requestId) };
      log.error("store_failed", {
        ...ids,
        operation,
        reason: "unavailable",
        cause_kind: errorKind(error),
      });
      return new SekishoError("unavailable", { cause: error });
    });
  }
  return {
    get: (request) => guarded({ work: store.get(request), operation: "store_get", item: request }),
    create: (request) =>
      guarded({ work: store.create(request), operation: "store_create", item: request.item }),
    replace: (request) =>
      guarded({ work: store.replace(request), operation: "store_replace", item: request.item }),
    list: (request) => guarded({ work: store.list(request), operation: "store_list" }),
  };
}

/** `task` is the current record, or undefined if it has expired. `changed` is false if its state forbids the change. */
type ChangeResult = { task: ExecutionTask | undefined; changed: boolean };

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
    let known: ExecutionTask | undefined = task;
    return retryOnConflict<ChangeResult>({
      async attempt(count) {
        if (count > attemptsAtOnce)
          await sleep(backoffMs({ ...pause, attempt: count - 1, random }));
        if (count > 0) known = await store.get({ id: task.id });
        const next: ExecutionTask | undefined = known && change(known);
        if (known === undefined || next === undefined) return { task: known, changed: false };
        const item =
          next.state === known.state ? next : enterState({ from: known, task: next, nowMs: now() });
        const stored = await store.replace({ item });
        if (stored === undefined) return conflict;
        changeSignal.ring(stored);
        return { task: stored, changed: true };
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
      const ofTask = listeners.get(id) ?? new Set();
      listeners.set(id, ofTask.add(listener));
      return () => {
        ofTask.delete(listener);
        if (ofTask.size === 0 && listeners.get(id) === ofTask) listeners.delete(id);
      };
    },
  };
}

const firstPollMs = 100;

const slowestPollMs = 1000;

/** Resolves to the record once `until` holds for it, after `timeoutMs`, or when the host stops. Rejects as `reread` does. */
export async function waitForChange(request: {
  task: ExecutionTask;
  until: (task: ExecutionTask) => boolean;
  timeoutMs: number;
  changeSignal: TaskSignal;
  isRunningHere: () => boolean;
  isStopped: () => boolean;
  reread: () => Promise<ExecutionTask>;
}): Promise<ExecutionTask> {
  const { task, until, timeoutMs, changeSignal, isRunningHere, isStopped, reread } = request;
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  const endMs = performance.now() + timeoutMs;
  let latest = task;
  let timer: NodeJS.Timeout | undefined;
  let reading: Promise<void> | undefined;

  function see(seen: ExecutionTask): void {
    latest = seen;
    if (until(seen)) resolve();
  }

  /** Reads at once the first time, because a run that is not here may have ended before the listener was added. */
  function poll(nextMs: number): void {
    const leftMs = endMs - performance.now();
    if (isStopped() || leftMs <= 0) {
      void end();
      return;
    }
    timer = setTimeout(poll, Math.min(nextMs, leftMs), Math.min(2 * nextMs, slowestPollMs));
    if (reading === undefined && !isRunningHere()) void read();
  }

  async function read(): Promise<void> {
    reading = reread().then(see).catch(reject);
    await reading;
    reading = undefined;
  }

  /** Reads a last time, because what another process stored before the end of the wait is not pushed. */
  async function end(): Promise<void> {
    if (!isStopped()) await reading;
    if (!isStopped() && !isRunningHere()) await read();
    resolve();
  }

  const stopListening = changeSignal.listen({ id: task.id, listener: see });
  try {
    poll(firstPollMs);
    await over;
    return latest;
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

const firstLookMs = 100;

const slowestLookMs = 1000;

/**
 * Yields the task and then each newer record that it sees. If records change faster than the consumer reads, it yields only the latest.
 * Ends after a record for which `until` holds, when `signal` aborts, and when the host stops. Throws as `reread` does.
 */
export async function* watchTask(request: {
  task: ExecutionTask;
  changeSignal: TaskSignal;
  isRunningHere: () => boolean;
  isStopped: () => boolean;
  reread: () => Promise<ExecutionTask>;
  /** Default: the end of the turn, when the task is over or asks a question. */
  until?: ((task: ExecutionTask) => boolean) | undefined;
  signal: AbortSignal;
}): AsyncGenerator<ExecutionTask> {
  const {
    task,
    changeSignal,
    isRunningHere,
    isStopped,
    reread,
    until = isTurnOver,
    signal,
  } = request;
  let latest = task;
  let wake = () => {};
  const see = (seen: ExecutionTask) => {
    if (seen.revision > latest.revision) latest = seen;
    wake();
  };
  const stopListening = changeSignal.listen({ id: task.id, listener: see });
  const abort = () => wake();
  signal.addEventListener("abort", abort);
  let pollMs = firstLookMs;
  let shown = 0;
  try {
    while (!signal.aborted) {
      if (latest.revision > shown) {
        shown = latest.revision;
        pollMs = firstLookMs;
        yield latest;
        if (until(latest)) {
          if (latest.revision === shown) return;
          continue;
        }
      }
      if (isStopped()) return;
      // Changes from before the listener was added, or from other processes, are only in the store.
      if (shown === task.revision || !isRunningHere()) see(await reread());
      if (latest.revision > shown) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, pollMs);
      if (!signal.aborted) await promise;
      clearTimeout(timer);
      pollMs = Math.min(2 * pollMs, slowestLookMs);
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
