/** Group commit: writes that are asked for in the same turn of the event loop share one transaction and its one fsync. */
import type { DatabaseSync } from "node:sqlite";

/** Runs `operation` (synchronous, statements only) in a transaction; resolves to its value once that is on disk. */
export type Write = <T>(operation: () => T) => Promise<T>;

type Pending = { run(): () => void; reject(error: unknown): void };

/**
 * An operation that throws is undone alone and rejects alone. Where the transaction as a whole fails (disk full, locked
 * for too long), every operation of it rejects and nothing of it is stored.
 */
export function createGroupCommit({ database }: { database: DatabaseSync }): { write: Write; flush(): void } {
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const savepoint = database.prepare("SAVEPOINT operation");
  const release = database.prepare("RELEASE operation");
  const undo = database.prepare("ROLLBACK TO operation");
  let waiting: Pending[] = [];

  /** Resolves to what is to be told once the group is committed. */
  function runAlone<T>(operation: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): () => void {
    savepoint.run();
    try {
      const value = operation();
      release.run();
      return () => resolve(value);
    } catch (error) {
      // Some errors (disk full, I/O) make sqlite end the whole transaction: then there is nothing left to go on with.
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
      begin.run();
      settlements = group.map((pending) => pending.run());
      commit.run();
    } catch (error) {
      if (database.isOpen && database.isTransaction) database.exec("ROLLBACK");
      for (const pending of group) pending.reject(error);
      return;
    }
    for (const settle of settlements) settle();
  }

  function write<T>(operation: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // Immediates run in the same turn, after all I/O callbacks that are due: whoever writes now rides along.
    if (waiting.length === 0) setImmediate(flush);
    waiting.push({ run: () => runAlone(operation, resolve, reject), reject });
    return promise;
  }

  return { write, flush };
}
