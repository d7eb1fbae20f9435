/** Rewrites a sqlite file without what was deleted or has expired: sqlite itself only marks the space of it as free. */
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const busyTimeoutMs = 5000;

/** Throws with what to do where another process does not leave the file alone for long enough. */
export function rewriteFile({ file, nowMs }: { file: string; nowMs: number }): void {
  if (!existsSync(file)) return;
  const database = new DatabaseSync(file, { timeout: busyTimeoutMs });
  try {
    // What is past its time is listed nowhere, and so nobody finds in it whom it names.
    database.prepare("DELETE FROM tasks WHERE expires_at_ms <= ?").run(nowMs);
    database.exec("VACUUM");
    // The old pages are in the log of writes, too, until it is emptied.
    const done = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (done?.busy !== 0) throw new Error("busy");
  } catch (cause) {
    throw new Error(
      `All of it is deleted, but traces of it are still in the free space of ${file}, which is in use. Stop what uses it, and run the command once more.`,
      { cause },
    );
  } finally {
    database.close();
  }
}
