/** The tasks of the local run: its sqlite file, which may be in use by the zone itself at the same time. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Database, openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { isFolderLocked, openSqliteEngine } from "../../local/engine.ts";
import { listItems, openStates } from "./items.ts";
import { mergeOldestFirst } from "./oldest-first.ts";
import type { TaskPlace } from "./stored-task.ts";
import { parseStored } from "./stored-task.ts";

/** Throws where there is no file, which is not made, or where it cannot be used. */
export function openLocalPlace({
  directory,
  file: named,
  busyTimeoutMs,
  signal,
}: {
  directory: string;
  file: string | undefined;
  /** As of a database; a server that waits longer answers nobody meanwhile. */
  busyTimeoutMs?: number | undefined;
  signal: AbortSignal;
}): TaskPlace {
  const file = named === undefined ? join(directory, ".sekisho", "verification.db") : resolve(directory, named);
  if (!existsSync(file)) {
    throw new Error(
      `There is no ${file}: the local run keeps its tasks there. Name its file by --store, or a stage on AWS by --stage.`,
    );
  }
  const engine = openSqliteEngine({ file, busyTimeoutMs });
  const database = openDatabase({ file });
  const store = engine.taskStore({ parse: parseStored });
  // It only sends, so that what the file's zone thinks of deliveries does not matter.
  const { queue } = engine.taskQueue({ maxReceiveCount: 1 });
  return {
    where: `in ${file}`,
    store,
    queue,
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
    async close() {
      await database.close();
      await engine.close();
    },
  };
}

// The newest tasks of a state in the local run's file: what listings of the store, oldest first, would reach last.

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
