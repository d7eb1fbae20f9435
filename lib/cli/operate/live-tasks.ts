/** The live list of tasks. One poll serves all viewers, and no poll runs without a viewer. */
import { setTimeout } from "node:timers/promises";
import type { TaskListUpdate, TaskRow } from "@sekisho/local/web/operators-api.ts";
import { openStates } from "@sekisho/verification/task/buckets.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { TaskZone } from "../tasks/stored-task.ts";
import { toTaskRow } from "./task-row.ts";

export type LiveTasks = {
  /** Calls back with all that is known, then with each change, until the returned function is called. */
  watch(listener: (update: TaskListUpdate) => void): () => void;
  close(): void;
};

const maxPerOpenState = 50;
/** The most open tasks that one poll reads. */
const maxOpen = 350;
const maxDone = 100;
/** Includes tasks that ended while somebody looked. */
const maxRows = 500;
/** Finished tasks are read again only after this time. They seldom change, but their data may be deleted. */
const trustedMs = 60_000;

type ListedTasks = Pick<TaskZone, "store" | "newestIds" | "openTasks">;

/** `readAtMs` has, by task id, when the row of a finished task was read. */
type Seen = { rows: Map<string, TaskRow>; more: string[]; readAtMs: ReadonlyMap<string, number> };
const nothing: Seen = { rows: new Map(), more: [], readAtMs: new Map() };

type LiveOptions = {
  zone: ListedTasks;
  explain: (error: unknown) => string;
  pollMs?: number;
  now?: () => number;
};

/** `explain` turns what a poll throws into a text for a person. A poll begins `pollMs` after the previous one has ended. */
export function createLiveTasks({
  zone,
  explain,
  pollMs = 2000,
  now = Date.now,
}: LiveOptions): LiveTasks {
  const listeners = new Set<(update: TaskListUpdate) => void>();
  let seenTasks: Seen | undefined;
  let trouble: string | undefined;
  let polling: AbortController | undefined;

  function notify(update: TaskListUpdate): void {
    for (const listener of listeners) listener(update);
  }

  async function poll(stop: AbortSignal): Promise<void> {
    try {
      const foundTasks = await readList(zone, seenTasks ?? nothing, now());
      // Nobody is looking any more.
      if (stop.aborted) return;
      const previousTasks = seenTasks;
      seenTasks = foundTasks;
      const isRecovered = trouble !== undefined;
      trouble = undefined;
      if (previousTasks === undefined || isRecovered) return notify(allOf(foundTasks));
      const rows = [...foundTasks.rows.values()].filter(
        (row) => !isSame(previousTasks.rows.get(row.id), row),
      );
      const goneIds = [...previousTasks.rows.keys()].filter((id) => !foundTasks.rows.has(id));
      if (rows.length + goneIds.length > 0)
        notify({ type: "change", rows, gone: goneIds, more: foundTasks.more });
    } catch (error) {
      if (stop.aborted) return;
      const text = explain(error);
      if (text !== trouble) notify({ type: "trouble", text });
      trouble = text;
    }
  }

  async function pollWhileWatched(stop: AbortController): Promise<void> {
    const { signal } = stop;
    while (!signal.aborted) {
      await poll(signal);
      await setTimeout(pollMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  return {
    watch(listener) {
      listeners.add(listener);
      if (seenTasks !== undefined) listener(allOf(seenTasks));
      if (trouble !== undefined) listener({ type: "trouble", text: trouble });
      if (polling === undefined) {
        polling = new AbortController();
        void pollWhileWatched(polling);
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        polling?.abort();
        polling = undefined;
        // The next one to look gets a fresh list.
        seenTasks = undefined;
        trouble = undefined;
      };
    },
    close() {
      listeners.clear();
      polling?.abort();
    },
  };
}

function allOf({ rows, more }: Seen): TaskListUpdate {
  return { type: "all", rows: [...rows.values()], more };
}

/** Reads the list. A task that was listed and is no longer found in its state is read by its id. */
async function readList(
  { store, newestIds, openTasks }: ListedTasks,
  previousTasks: Seen,
  nowMs: number,
): Promise<Seen> {
  const rows = new Map<string, TaskRow>();
  const readAtMs = new Map<string, number>();
  const more = new Set<string>();
  const add = (task: Task | undefined) => task && rows.set(task.id, toTaskRow({ task, nowMs }));
  const counts = new Map<string, number>();
  let readCount = 0;
  for await (const task of openTasks()) {
    if (readCount === maxOpen) {
      for (const state of openStates) more.add(state);
      break;
    }
    readCount += 1;
    const count = counts.get(task.state) ?? 0;
    counts.set(task.state, count + 1);
    if (count < maxPerOpenState) add(task);
    else more.add(task.state);
  }
  const { ids, cursor } = await newestIds({ state: "done", limit: maxDone });
  if (cursor !== undefined) more.add("done");
  const missedRows = [...previousTasks.rows.values()].filter(
    ({ id }) => !rows.has(id) && !ids.includes(id),
  );
  for (const id of [...ids, ...missedRows.map((row) => row.id)]) {
    const knownRow = previousTasks.rows.get(id);
    const knownAtMs = previousTasks.readAtMs.get(id) ?? Number.NEGATIVE_INFINITY;
    // An operator may redrive an undelivered answer, so its task is read each time.
    const isTrusted =
      knownRow?.state === "done" && !knownRow.undelivered && nowMs - knownAtMs < trustedMs;
    if (isTrusted) rows.set(id, knownRow);
    else add((await store.get({ id }))?.task);
    readAtMs.set(id, isTrusted ? knownAtMs : nowMs);
  }
  const newestFirst = [...rows.values()].sort(
    (a, b) => b.receivedAtMs - a.receivedAtMs || (a.id < b.id ? -1 : 1),
  );
  const open = newestFirst.filter(({ state }) => state !== "done");
  const over = newestFirst
    .filter(({ state }) => state === "done")
    .slice(0, Math.max(maxDone, maxRows - open.length));
  return {
    rows: new Map([...open, ...over].map((row) => [row.id, row])),
    more: [...more],
    readAtMs,
  };
}

function isSame(one: TaskRow | undefined, other: TaskRow): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
