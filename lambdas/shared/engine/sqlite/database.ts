/** One sqlite file, shared by the task store and the queues of a zone: prepared statements, durable writes, a bell. */
import type { StatementSync } from "node:sqlite";
import { type Bell, createBell } from "./bell.ts";
import { removeExpiredTasks } from "./expired-tasks.ts";
import { createGroupCommit, type Write } from "./group-commit.ts";
import { openFile } from "./open-file.ts";

export type Database = {
  /** Statements that read may be run at any time and see what was committed last, by whatever process. */
  prepare(sql: string): StatementSync;
  /** Statements that write are run in here only. */
  write: Write;
  bell: Bell;
  /** Commits what is under way; every later call fails. */
  close(): Promise<void>;
};

/**
 * Several processes may have the file open. One that meets the lock of another waits up to `busyTimeoutMs`, blocking its
 * event loop; a transaction takes about a millisecond. Throws EngineFileError where the file cannot be used.
 */
export function openDatabase({ file, busyTimeoutMs = 5000 }: { file: string; busyTimeoutMs?: number }): Database {
  const database = openFile({ file, busyTimeoutMs });
  const { write, flush } = createGroupCommit({ database });
  const prepare = (sql: string) => database.prepare(sql);
  const expired = removeExpiredTasks({ database: { prepare, write } });
  return {
    prepare,
    write,
    bell: createBell(),
    async close() {
      expired.stop();
      flush();
      if (database.isOpen) database.close();
    },
  };
}
