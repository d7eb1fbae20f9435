/** The tasks of the local run: its sqlite file, which may be in use by the zone itself at the same time. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { openDatabase } from "../../lambdas/shared/engine/sqlite/database.ts";
import { openSqliteEngine } from "../local/engine.ts";
import { isFolderLocked } from "../local/lock-folder.ts";
import { itemsOf } from "./items.ts";
import { newestInFile } from "./newest-local.ts";
import type { TaskPlace } from "./place.ts";
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
    newestIds: newestInFile({ database }),
    async idsLike({ state, prefix }) {
      const ids: string[] = [];
      for await (const { id } of itemsOf({ store, index: "state", key: state, signal })) {
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
