/** Keeps the list of tasks up to date while the tab is visible. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { TaskListUpdate, TaskRow } from "../../operators-api.ts";
import { type ConnectionState, follow } from "../server.ts";
import { count, read, useIsVisible } from "./page.tsx";

export type LiveTasks = {
  /** False until the server has read the tasks. */
  isRead: boolean;
  rows: ReadonlyMap<string, TaskRow>;
  /** The states of which there are more tasks than are listed. */
  more: readonly string[];
  /** By the id of a task that has changed: until when the list marks it. */
  freshUntilMs: ReadonlyMap<string, number>;
  /** What keeps the server from reading tasks. */
  trouble: string;
};

const noTasks: LiveTasks = {
  isRead: false,
  rows: new Map(),
  more: [],
  freshUntilMs: new Map(),
  trouble: "",
};
const freshMs = 6000;
const followAgainMs = 3000;
/** A screen reader would say every single change, so changes are announced together. */
const announceEveryMs = 10_000;

export function useLiveTasks(announce: (text: string) => void) {
  const [live, setLive] = useState(noTasks);
  const [connection, setConnection] = useState<ConnectionState>("connecting");
  const [refusals, setRefusals] = useState(0);
  const isVisible = useIsVisible();
  const changedRows = useRef<TaskRow[]>([]);

  useEffect(() => {
    if (!isVisible) return setConnection("paused");
    const timers: ReturnType<typeof setTimeout>[] = [];
    function onEvent(update: TaskListUpdate): void {
      const untilMs = Date.now() + freshMs;
      setLive((tasks) => applyUpdate(tasks, update, untilMs));
      if (update.type !== "change") return;
      changedRows.current.push(...update.rows);
      timers.push(setTimeout(() => setLive(dropStaleMarks), freshMs + 50));
    }
    async function onState(state: ConnectionState): Promise<void> {
      setConnection(state);
      if (state !== "refused") return;
      // The browser does not ask again by itself. If nobody is signed in any more, this leads to the form.
      await read("where").catch(() => {});
      timers.push(setTimeout(() => setRefusals(refusals + 1), followAgainMs));
    }
    const stop = follow("/operate/api/live", { onEvent, onState });
    return () => {
      stop();
      timers.forEach(clearTimeout);
    };
  }, [isVisible, refusals]);

  useEffect(() => {
    const timer = setInterval(() => {
      const rows = changedRows.current.splice(0);
      if (rows.length > 0) announce(describeChanges(rows));
    }, announceEveryMs);
    return () => clearInterval(timer);
  }, [announce]);

  return { live, connection };
}

function applyUpdate(tasks: LiveTasks, update: TaskListUpdate, untilMs: number): LiveTasks {
  if (update.type === "trouble") return { ...tasks, trouble: update.text };
  const isChange = update.type === "change";
  const rows = new Map(isChange ? tasks.rows : []);
  for (const id of isChange ? update.gone : []) rows.delete(id);
  const freshUntilMs = new Map(tasks.freshUntilMs);
  for (const row of update.rows) {
    rows.set(row.id, row);
    if (isChange) freshUntilMs.set(row.id, untilMs);
  }
  return { isRead: true, rows, more: update.more, freshUntilMs, trouble: "" };
}

function dropStaleMarks(tasks: LiveTasks): LiveTasks {
  const marks = [...tasks.freshUntilMs].filter(([, untilMs]) => untilMs > Date.now());
  return { ...tasks, freshUntilMs: new Map(marks) };
}

function describeChanges(rows: readonly TaskRow[]): string {
  const ids = new Set(rows.map(({ id }) => id));
  const failedIds = new Set(rows.filter(({ kind }) => kind === "bad").map(({ id }) => id));
  const failures = failedIds.size > 0 ? `, ${failedIds.size} failed` : "";
  return `${count(ids.size, "task")} changed${failures}.`;
}
