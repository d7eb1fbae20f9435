/** A sqlite file, and what is opened on it, gone after the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { closeAfterTest } from "../../../doubles/serving.ts";

export type SqliteFile = { file: string; open(): Database };

export function createSqliteFile(): SqliteFile {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-engine-"));
  const file = join(folder, "state", "zone.db");
  const closers: Database[] = [];
  closeAfterTest({
    async close() {
      for (const database of closers) await database.close();
      rmSync(folder, { recursive: true });
    },
  });
  return {
    file,
    open() {
      const database = openDatabase({ file });
      closers.push(database);
      return database;
    },
  };
}
