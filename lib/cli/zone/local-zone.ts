/** The Verification zone of the local run: its sqlite file, which may be in use by the zone itself at the same time. */
import { existsSync, statSync } from "node:fs";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import type { OpenFile, OpenZone } from "./open-zone.ts";

export type LocalZone = OpenZone & { at: OpenFile };

/** Throws where there is no file or an empty one, neither of which becomes a database here, or where it cannot be used. */
export function openLocalZone({
  file,
  config,
  busyTimeoutMs,
}: {
  file: string;
  config: () => Config;
  /** As of a database; a server that waits longer answers nobody meanwhile. */
  busyTimeoutMs?: number;
}): LocalZone {
  if (!existsSync(file)) {
    throw new Error(
      `There is no ${file}: the local run keeps its records there, from its first start on. Name its file by --store, or a stage on AWS by --stage.`,
    );
  }
  if (statSync(file).size === 0) {
    throw new Error(
      `${file} is empty: the local run has kept no records there. Name its file by --store, or a stage on AWS by --stage.`,
    );
  }
  const database = openDatabase({ file, ...(busyTimeoutMs !== undefined && { busyTimeoutMs }) });
  return {
    where: `in ${file}`,
    store: ({ parse }) => createSqliteTaskStore({ database, parse }),
    // It only sends, so that what the file's zone thinks of deliveries does not matter.
    queue: createSqliteQueue({ database, name: "tasks" }),
    at: { file, database },
    config,
    close: () => database.close(),
  };
}
