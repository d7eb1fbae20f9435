/** Tells whoever waits in this process that a task's record changed; other processes find out by reading the store. */

import { setTimeout as sleep } from "node:timers/promises";
import { SekishoError } from "../../../contracts/errors.ts";
import { backoffMs } from "../../shared/async/retry-delay.ts";
import { conflict, retryOnConflict } from "../../shared/engine/change-record.ts";
import { type Change, isAsking, isOver, leaving } from "./changes.ts";
import type { ExecutionTask } from "./execution-task.ts";
import type { ExecutionStore } from "./guarded-store.ts";

type Listener = (task: ExecutionTask) => void;

export type ChangeSignal = {
  ring(task: ExecutionTask): void;
  /** Returns what ends the listening. */
  listen(request: { id: string; listener: Listener }): () => void;
};

export function createChangeSignal(): ChangeSignal {
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

// Changes a task's record by compare-and-set: whoever loses reads again and decides anew.

/** `task` is the record as it stands now; undefined where it has expired. `changed` is false where its state forbade the change. */
type Changed = { task: ExecutionTask | undefined; changed: boolean };
export type ChangeTask = (request: { task: ExecutionTask; change: Change }) => Promise<Changed>;

/** Whoever loses often waits a little, by chance: of many writers at once one wins each time. */
const pause = { baseMs: 1, capMs: 50 };
const attemptsAtOnce = 3;

/** Rejects with `unavailable` where the store does. */
export function createChangeTask({
  store,
  changeSignal,
  now,
  random = Math.random,
}: {
  store: Pick<ExecutionStore, "get" | "replace">;
  changeSignal: ChangeSignal;
  now: () => number;
  random?: () => number;
}): ChangeTask {
  return ({ task, change }) => {
    let known: ExecutionTask | undefined = task;
    return retryOnConflict<Changed>({
      async attempt(count) {
        if (count > attemptsAtOnce) await sleep(backoffMs({ ...pause, attempt: count - 1, random }));
        if (count > 0) known = await store.get({ id: task.id });
        const next: ExecutionTask | undefined = known && change(known);
        if (known === undefined || next === undefined) return { task: known, changed: false };
        const item =
          next.state === known.state ? next : entered({ task: leaving({ from: known, task: next }), nowMs: now() });
        const stored = await store.replace({ item });
        if (stored === undefined) return conflict;
        changeSignal.ring(stored);
        return { task: stored, changed: true };
      },
      exhausted: () => new SekishoError("unavailable"),
    });
  };
}

/** The moment of a change of state is in the record, and in the listing where the task is in one. */
function entered({ task, nowMs }: { task: ExecutionTask; nowMs: number }): ExecutionTask {
  return { ...task, changedAtMs: nowMs, ...(task.listedAtMs !== undefined && { listedAtMs: nowMs }) };
}

// A long poll on one task: woken by the bell for what runs in this process, by reading the store for what runs elsewhere.

const firstPollMs = 100;
const slowestPollMs = 1000;

/** Resolves to the record when `until` holds for it, after `timeoutMs`, or when the host stops. Rejects as `reread` does. */
export async function waitForChange(request: {
  task: ExecutionTask;
  until: (task: ExecutionTask) => boolean;
  timeoutMs: number;
  changeSignal: ChangeSignal;
  isRunningHere: () => boolean;
  isStopped: () => boolean;
  reread: () => Promise<ExecutionTask>;
}): Promise<ExecutionTask> {
  const { task, until, timeoutMs, changeSignal, isRunningHere, isStopped, reread } = request;
  if (timeoutMs <= 0 || until(task)) return task;
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  let latest = task;
  let pollTimer: NodeJS.Timeout | undefined;
  let isOver = false;

  function see(seen: ExecutionTask): void {
    latest = seen;
    if (until(seen)) resolve();
  }

  /** Reads at once the first time: the run may have ended before anyone listened. */
  async function poll(nextMs: number): Promise<void> {
    if (isStopped()) return resolve();
    if (!isRunningHere()) see(await reread());
    if (!isOver) pollTimer = setTimeout(() => poll(Math.min(2 * nextMs, slowestPollMs)).catch(reject), nextMs);
  }

  const stopListening = changeSignal.listen({ id: task.id, listener: see });
  const timer = setTimeout(resolve, timeoutMs);
  try {
    poll(firstPollMs).catch(reject);
    await over;
    return latest;
  } finally {
    isOver = true;
    clearTimeout(timer);
    clearTimeout(pollTimer);
    stopListening();
  }
}

// Follows one task: its records as they are stored, in order, from any instance, until its turn or the task is over.

const firstLookMs = 100;
const slowestLookMs = 1000;

/**
 * Yields the task, then every newer record that is seen; of changes that follow each other faster than they are read the last
 * one. Ends after a record for which `until` holds, when `signal` aborts, and when the host stops. Throws as `reread` does.
 */
export async function* watchTask(request: {
  task: ExecutionTask;
  changeSignal: ChangeSignal;
  isRunningHere: () => boolean;
  isStopped: () => boolean;
  reread: () => Promise<ExecutionTask>;
  /** The turn's end where it is not given: the task is over, or asks a question. */
  until?: ((task: ExecutionTask) => boolean) | undefined;
  signal: AbortSignal;
}): AsyncGenerator<ExecutionTask> {
  const { task, changeSignal, isRunningHere, isStopped, reread, until = isTurnOver, signal } = request;
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
      // What changed before anyone listened, or elsewhere, is in the store alone.
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

function isTurnOver(task: ExecutionTask): boolean {
  return isOver(task) || isAsking(task);
}
