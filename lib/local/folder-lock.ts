/** The lock of a folder: one `sekisho start` per folder, because two would take each other's tasks. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** sqlite's primary result code, see https://www.sqlite.org/rescode.html */
const busy = 5;
/** `isFolderLocked` holds the lock for an instant. A start waits that out. */
const lookMs = 200;

/**
 * Creates the folder if it is missing. The lock is sqlite's, on a file of its own. The operating system frees it when the
 * process dies, even by kill -9, so no stale lock is left. Throws if another process holds it.
 */
export function lockFolder({ folder }: { folder: string }): { release(): void } {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(join(folder, "lock.db"), { timeout: lookMs });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if ((Number((error as { errcode?: unknown }).errcode) & 0xff) !== busy) throw error;
    throw new Error(
      `Another \`sekisho start\` uses ${folder}. Stop it, or start in another folder.`,
      { cause: error },
    );
  }
  return { release: () => database.close() };
}

/** True if a process holds the folder's lock. Creates nothing. */
export function isFolderLocked({ folder }: { folder: string }): boolean {
  const file = join(folder, "lock.db");
  if (!existsSync(file)) return false;
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.prepare("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}
