/** The sqlite file of a zone, shared by its task store and its queues: tables, migrations, durable writes, and change signals. */

import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { EngineFileError, findRemedy, toFileError } from "./file-error.ts";

export type Database = {
  /** Reading statements may run at any time. They see the latest commit of any process. */
  prepare(sql: string): StatementSync;
  /** Writing statements must run in here. */
  write: Write;
  changeSignal: QueueSignal;
  /** Commits pending writes. Later calls fail. */
  close(): Promise<void>;
};

/**
 * Several processes may open the file. A process that meets another's lock waits up to `busyTimeoutMs` and blocks its event loop; a
 * transaction takes about a millisecond. Throws EngineFileError if the file cannot be used.
 */
export function openDatabase({
  file,
  busyTimeoutMs = 5000,
}: {
  file: string;
  busyTimeoutMs?: number;
}): Database {
  const database = openFile({ file, busyTimeoutMs });
  const { write, flush } = createGroupCommit({ database });
  const prepare = (sql: string) => database.prepare(sql);
  const expiryLoop = removeExpiredTasks({ prepare, write });
  return {
    prepare,
    write,
    changeSignal: createQueueSignal(),
    async close() {
      expiryLoop.stop();
      flush();
      if (database.isOpen) database.close();
    },
  };
}

export type QueueSignal = {
  ring(name: string): void;
  /** Resolves at the next ring of that name, after `ms`, or when the signal aborts. Never rejects. */
  wait(request: { name: string; ms: number; signal: AbortSignal | undefined }): Promise<void>;
};

/** Wakes waiters in this process when a queue changes. Other processes notice by polling. */
export function createQueueSignal(): QueueSignal {
  const waiters = new Map<string, Set<() => void>>();
  return {
    ring(name) {
      for (const wake of waiters.get(name) ?? []) wake();
    },
    wait({ name, ms, signal }) {
      if (signal?.aborted) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const those = waiters.get(name) ?? new Set();
      waiters.set(name, those.add(wake));
      const timer = setTimeout(wake, ms);
      signal?.addEventListener("abort", wake);
      function wake() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        those.delete(wake);
        resolve();
      }
      return promise;
    },
  };
}

/** A limit for each run, so that its transaction stays short. */
const removedPerRun = 1000;
const removeEveryMs = 60_000;

/** Runs every minute until `stop` is called. After a failure, such as a lock or a full disk, the next run catches up. */
function removeExpiredTasks({ prepare, write }: Pick<Database, "prepare" | "write">): {
  stop(): void;
} {
  const anyExpired = prepare("SELECT 1 FROM tasks WHERE expires_at_ms <= ? LIMIT 1");
  const remove = prepare(
    `DELETE FROM tasks WHERE seq IN
     (SELECT seq FROM tasks WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ${removedPerRun})`,
  );
  async function removeSome(): Promise<void> {
    const nowMs = Date.now();
    if (anyExpired.get(nowMs) !== undefined) await write(() => remove.run(nowMs));
    emptyWriteAheadLog();
  }

  /** The write-ahead log keeps old pages with deleted texts until it is emptied. If another process uses the file, the next run tries again. */
  function emptyWriteAheadLog(): void {
    const timeoutMs = Number(prepare("PRAGMA busy_timeout").get()?.timeout);
    // Does not wait for the other process, which would block the event loop.
    prepare("PRAGMA busy_timeout = 0").get();
    try {
      prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    } finally {
      prepare(`PRAGMA busy_timeout = ${timeoutMs}`).get();
    }
  }

  const timer = setInterval(() => removeSome().catch(() => {}), removeEveryMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}

/** sqlite's name for a database without a file. */
const inMemory = ":memory:";

/** The file is private to its user (mode 0600, and 0700 for a new folder). Throws EngineFileError. */
function openFile({ file, busyTimeoutMs }: { file: string; busyTimeoutMs: number }): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    if (file !== inMemory) createPrivate(file);
    database = new DatabaseSync(file, { timeout: busyTimeoutMs });
    // Checked before anything is written, because the file may belong to another program.
    const version = checkVersion({ database, file });
    // Overwrites deleted data with zeros. Otherwise its text stays in the file until the space is used again.
    database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON",
    );
    if (version < migrations.length) migrate({ database, file });
    return database;
  } catch (error) {
    database?.close();
    throw (
      toFileError({ error, file }) ??
      new EngineFileError(findRemedy({ error, file }), { cause: error })
    );
  }
}

/**
 * Creates the file only if it is missing. Closing any descriptor of an existing file would release all locks of this process on it
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2), and another program could take it for abandoned.
 */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function checkVersion({ database, file }: { database: DatabaseSync; file: string }): number {
  const version = pragma(database, "user_version");
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
  if (!isEmpty && pragma(database, "application_id") !== applicationId) {
    throw new EngineFileError(
      `${file} is a database of another program. Name another file, or move it away.`,
    );
  }
  if (version > migrations.length) {
    throw new EngineFileError(
      `${file} was written by a newer version of Sekisho. Run that version, or move it away.`,
    );
  }
  return version;
}

/** If another process has migrated the file in the meantime, nothing is left to do. */
function migrate({ database, file }: { database: DatabaseSync; file: string }): void {
  database.exec("BEGIN IMMEDIATE");
  for (const step of migrations.slice(checkVersion({ database, file }))) database.exec(step);
  database.exec(
    `PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}; COMMIT`,
  );
}

function pragma(database: DatabaseSync, name: "user_version" | "application_id"): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** Marks the file as ours in its header: "SEKI". */
export const applicationId = 0x53454b49;

/**
 * Entry `index` migrates from version `index` to the next. Released entries never change. AUTOINCREMENT avoids reused numbers, with which
 * an old cursor would skip an item, and an old receipt would remove another message.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE tasks (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     revision INTEGER NOT NULL,
     state TEXT NOT NULL,
     thread TEXT,
     principal TEXT,
     expires_at_ms INTEGER NOT NULL,
     item TEXT NOT NULL,
     listed_at_ms INTEGER
   ) STRICT;
   CREATE INDEX tasks_by_state ON tasks (state, seq);
   CREATE INDEX tasks_by_thread ON tasks (thread, seq) WHERE thread IS NOT NULL;
   CREATE INDEX tasks_by_principal ON tasks (principal, listed_at_ms, id)
     WHERE principal IS NOT NULL AND listed_at_ms IS NOT NULL;
   CREATE INDEX tasks_by_expiry ON tasks (expires_at_ms);
   CREATE TABLE messages (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     queue TEXT NOT NULL,
     body TEXT NOT NULL,
     sent_at_ms INTEGER NOT NULL,
     visible_at_ms INTEGER NOT NULL,
     receive_count INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX messages_by_due_time ON messages (queue, visible_at_ms);`,
];

/**
 * Runs `operation`, which is synchronous, in a transaction. Resolves to its result once that is on disk. With `isSynced: false` it does not
 * wait for the disk: a power cut before the next synced write, a minute later at most, undoes the operation.
 */
export type Write = <T>(operation: () => T, options?: { isSynced?: boolean }) => Promise<T>;

type Pending = {
  isSynced: boolean;
  run(request: { isAlone: boolean }): () => void;
  reject(error: unknown): void;
};

/**
 * Commits the operations of one turn together. An operation that throws is undone and rejects alone. If the transaction fails (disk full,
 * locked for too long), all of them reject and nothing is stored.
 */
function createGroupCommit({ database }: { database: DatabaseSync }): {
  write: Write;
  flush(): void;
} {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const savepoint = database.prepare("SAVEPOINT operation");
  const release = database.prepare("RELEASE operation");
  const undo = database.prepare("ROLLBACK TO operation");
  let waiting: Pending[] = [];
  let isSynced = true;

  /** sqlite appends each commit to its log. So a commit that waits for the disk also makes the earlier ones durable. */
  function setSync(isWanted: boolean): void {
    if (isWanted === isSynced) return;
    database.exec(`PRAGMA synchronous = ${isWanted ? "FULL" : "NORMAL"}`);
    isSynced = isWanted;
  }

  /** Returns a function that settles the operation once the group is committed. */
  function runInGroup<T>(
    operation: () => T,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): () => void {
    savepoint.run();
    try {
      const value = operation();
      release.run();
      return () => resolve(value);
    } catch (error) {
      // After some errors (disk full, I/O) sqlite has ended the whole transaction.
      if (!database.isTransaction) throw error;
      undo.run();
      release.run();
      return () => reject(error);
    }
  }

  function flush(): void {
    const group = waiting;
    waiting = [];
    if (group.length === 0) return;
    let settlements: (() => void)[];
    try {
      setSync(group.some((pending) => pending.isSynced));
      begin.run();
      settlements = group.map((pending) => pending.run({ isAlone: group.length === 1 }));
      commit.run();
    } catch (error) {
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      for (const pending of group) pending.reject(error);
      return;
    }
    for (const settle of settlements) settle();
  }

  function write<T>(operation: () => T, { isSynced = true } = {}): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // Immediates run after all pending I/O callbacks, so writes of the same turn share the commit.
    if (waiting.length === 0) setImmediate(flush);
    waiting.push({
      isSynced,
      run({ isAlone }) {
        if (!isAlone) return runInGroup(operation, resolve, reject);
        // Needs no savepoint: if it throws, the whole transaction is undone, which holds nothing else.
        const value = operation();
        return () => resolve(value);
      },
      reject,
    });
    return promise;
  }

  return { write, flush };
}
