/** The tasks of a zone, for the commands and the operators' page: of a file on this machine, or of a stage. */
import { dirname } from "node:path";
import { isFolderLocked } from "@sekisho/local/folder-lock.ts";
import { openStates } from "@sekisho/verification/task/buckets.ts";
import { slackConnectionOf } from "../names/connect.ts";
import { createSlackNames, type SlackNames } from "../names/slack-names.ts";
import type { ExecutionTarget } from "../zone/execution-store.ts";
import { listItems } from "../zone/list-items.ts";
import type { LocalZone } from "../zone/local-zone.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { withZone, type ZoneRun, type ZoneValues } from "../zone/zone.ts";
import { mergeOldestFirst, parseStored, type TaskZone } from "./stored-task.ts";

/** With the names of what the tasks name by ids, and where the Execution zone's record is. */
export type NamedTaskZone = TaskZone & { names: SlackNames; at: ExecutionTarget };

/** Runs `work` on the tasks of the zone that the options name, and closes it. */
export async function withTaskZone<T>(
  run: ZoneRun,
  values: ZoneValues,
  work: (zone: NamedTaskZone) => Promise<T>,
) {
  return withZone(run, values, async (zone) => {
    const tasks = await openTaskZone({ zone, signal: run.signal });
    const names = createSlackNames({ connect: slackConnectionOf(zone) });
    try {
      return await work({
        ...tasks,
        names,
        at: zone.at,
        sampleRatio: () => zone.config().telemetry.traces.sampleRatio,
      });
    } finally {
      names.close();
    }
  });
}

/** Closing it closes the zone. */
export async function openTaskZone({
  zone,
  signal,
}: {
  zone: OpenZone;
  signal: AbortSignal;
}): Promise<TaskZone> {
  const { at } = zone;
  if ("file" in at) return openLocalTaskZone({ zone: { ...zone, at }, signal });
  const { listStageTasks } = await import("./stage-tasks.ts");
  const common = openTaskStore(zone);
  return { ...common, ...listStageTasks({ ...at, store: common.store, signal }) };
}

/** Closing it closes the zone. */
export function openLocalTaskZone({
  zone,
  signal,
}: {
  zone: LocalZone;
  signal: AbortSignal;
}): TaskZone {
  const { file, database } = zone.at;
  const common = openTaskStore(zone);
  const listState = (key: string) =>
    listItems({ store: common.store, index: "state", key, signal });
  // A listing of the store is oldest first, and would reach the newest tasks last.
  const newestFirst = database.prepare(
    "SELECT seq, id FROM tasks WHERE state = ? AND seq < ? AND expires_at_ms > ? ORDER BY seq DESC LIMIT ?",
  );
  return {
    ...common,
    openTasks: () => mergeOldestFirst(openStates.map(listState)),
    async newestIds({ state, cursor = String(Number.MAX_SAFE_INTEGER), limit }) {
      if (!/^\d{1,16}$/.test(cursor)) throw new RangeError("not a cursor of this listing");
      const rows = newestFirst.all(state, Number(cursor), Date.now(), limit) as {
        seq: number;
        id: string;
      }[];
      const last = rows.at(-1);
      const ids = rows.map(({ id }) => id);
      return rows.length < limit || last === undefined
        ? { ids }
        : { ids, cursor: String(last.seq) };
    },
    async findIdsByPrefix(prefix) {
      const ids: string[] = [];
      // In the order in which tasks pass the states, so that a task that moves during the search is not missed.
      for (const state of [...openStates, "done"]) {
        for await (const { id } of listState(state)) if (id.startsWith(prefix)) ids.push(id);
      }
      return ids;
    },
    costOfSearch: undefined,
    describeDelay() {
      if (isFolderLocked({ folder: dirname(file) })) return undefined;
      return "sekisho start does not run here. Unless sekisho verification runs, this takes effect at the next start.";
    },
  };
}

function openTaskStore({ where, queue, close, store }: OpenZone) {
  const doing = { read: "read a task's record", list: "list tasks" };
  return { where, queue, close, store: store({ parse: parseStored, doing }) };
}
