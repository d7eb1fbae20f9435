/** Listings of the tasks in the local run's file. */
import { dirname } from "node:path";
import type { Database } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { isFolderLocked } from "../../local/engine.ts";
import { listItems, openStates } from "./items.ts";
import { mergeOldestFirst } from "./oldest-first.ts";
import type { TaskListings, TaskPlace } from "./stored-task.ts";

export function localTasks({
  file,
  database,
  store,
  signal,
}: {
  file: string;
  database: Pick<Database, "prepare">;
  store: TaskPlace["store"];
  signal: AbortSignal;
}): TaskListings {
  return {
    openTasks: () => mergeOldestFirst(openStates.map((key) => listItems({ store, index: "state", key, signal }))),
    newestIds: newestInFile({ database }),
    async idsLike({ state, prefix }) {
      const ids: string[] = [];
      for await (const { id } of listItems({ store, index: "state", key: state, signal })) {
        if (id.startsWith(prefix)) ids.push(id);
      }
      return ids;
    },
    costOfSearch: undefined,
    whyLater() {
      if (isFolderLocked({ folder: dirname(file) })) return undefined;
      return "No `sekisho start` is at work here. Unless `sekisho verification` is, this is carried out at the next start.";
    },
  };
}

/** The newest tasks of a state, which listings of the store, oldest first, would reach last. */
function newestInFile({
  database,
  now = Date.now,
}: {
  database: Pick<Database, "prepare">;
  now?: () => number;
}): TaskPlace["newestIds"] {
  const select = database.prepare(
    "SELECT seq, id FROM tasks WHERE state = ? AND seq < ? AND expires_at_ms > ? ORDER BY seq DESC LIMIT ?",
  );
  return async ({ state, cursor = String(Number.MAX_SAFE_INTEGER), limit }) => {
    if (!/^\d{1,16}$/.test(cursor)) throw new RangeError("not a cursor of this listing");
    const rows = select.all(state, Number(cursor), now(), limit) as { seq: number; id: string }[];
    const last = rows.at(-1);
    const ids = rows.map(({ id }) => id);
    return rows.length < limit || last === undefined ? { ids } : { ids, cursor: String(last.seq) };
  };
}
