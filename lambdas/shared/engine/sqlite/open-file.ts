/** Opens or creates the sqlite file of a zone, checks that it is one, and brings it to the newest version. */
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { EngineFileError, fileErrorOf, remedyFor } from "./file-error.ts";
import { applicationId, migrations } from "./schema.ts";

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
    throw fileErrorOf({ error, file }) ?? new EngineFileError(remedyFor({ error, file }), { cause: error });
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
