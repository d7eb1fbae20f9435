/** Opens or creates the sqlite file of a zone, checks that it is one, and brings it to the newest version. */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { applicationId, migrations } from "./schema.ts";

/** The file cannot be used. The message names it and says what to do. */
export class EngineFileError extends Error {
  override name = "EngineFileError";
}

/** Private to the user who runs it (0600, the folder 0700 where it is created). Throws EngineFileError. */
export function openFile({ file, busyTimeoutMs }: { file: string; busyTimeoutMs: number }): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    createPrivate(file);
    database = new DatabaseSync(file, { timeout: busyTimeoutMs });
    // Before anything is written: the file may be somebody's other database.
    const version = checkedVersion({ database, file });
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    if (version < migrations.length) migrate({ database, file });
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof EngineFileError ? error : new EngineFileError(remedyFor({ error, file }), { cause: error });
  }
}

/**
 * Only where there is none: to close any descriptor of a file ends all locks that this process has on it, those of its open databases
 * too (https://www.sqlite.org/howtocorrupt.html, section 2.2), and the next program to look at the file would take it for abandoned.
 */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function checkedVersion({ database, file }: { database: DatabaseSync; file: string }): number {
  const version = pragma(database, "user_version");
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
  if (!isEmpty && pragma(database, "application_id") !== applicationId) {
    throw new EngineFileError(`${file} is a database of another program. Name another file, or move it away.`);
  }
  if (version > migrations.length) {
    throw new EngineFileError(`${file} was written by a newer version of Sekisho. Run that version, or move it away.`);
  }
  return version;
}

/** Another process may be doing the same; whoever comes second finds it done. */
function migrate({ database, file }: { database: DatabaseSync; file: string }): void {
  database.exec("BEGIN IMMEDIATE");
  for (const step of migrations.slice(checkedVersion({ database, file }))) database.exec(step);
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}; COMMIT`);
}

function pragma(database: DatabaseSync, name: "user_version" | "application_id"): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** sqlite's primary result codes, see https://www.sqlite.org/rescode.html */
const resultCodes = { busy: 5, corrupt: 11, notADatabase: 26 };

function remedyFor({ error, file }: { error: unknown; file: string }): string {
  const code = Number((error as { errcode?: unknown } | null)?.errcode) & 0xff;
  if (code === resultCodes.notADatabase || code === resultCodes.corrupt) {
    return `${file} is not a database, or it is damaged. Restore it from a copy, or move it away to start with an empty one.`;
  }
  if (code === resultCodes.busy) {
    return `${file} is locked by another program. Close what has it open (a backup, a database browser) and start again.`;
  }
  return `${file} cannot be opened for writing. Check that its folder exists on a local disk with space, and who owns both.`;
}
