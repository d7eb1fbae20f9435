/** The Verification zone of the local run. The zone itself may use the sqlite file at the same time. */
import { existsSync, statSync } from "node:fs";
import type { Config } from "@sekisho/config/schema.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import type { OpenFile, OpenZone } from "./open-zone.ts";

export type LocalZone = OpenZone & { at: OpenFile };

type LocalZoneOptions = {
  file: string;
  config: () => Config;
  /** The longest wait for a lock. A server answers nobody meanwhile. */
  busyTimeoutMs?: number;
};

/** Throws if the file is missing, empty or unusable. Opening must not create a file, or tables in an empty one. */
export function openLocalZone({ file, config, busyTimeoutMs }: LocalZoneOptions): LocalZone {
  if (!existsSync(file)) {
    throw new Error(
      `There is no ${file}. The local run creates it at its first start. Name another file with --store, or a stage on AWS with --stage.`,
    );
  }
  if (statSync(file).size === 0) {
    throw new Error(
      `${file} is empty, so it is not the file of a local run. Name another file with --store, or a stage on AWS with --stage.`,
    );
  }
  const database = openDatabase({ file, ...(busyTimeoutMs !== undefined && { busyTimeoutMs }) });
  return {
    where: `in ${file}`,
    store: ({ parse }) => createSqliteTaskStore({ database, parse }),
    // It only sends, so the settings for deliveries do not matter.
    queue: createSqliteQueue({ database, name: "tasks" }),
    at: { file, database },
    config,
    close: () => database.close(),
  };
}
