/** Sees each commit of node:sqlite in this process, and whether sqlite waits for the disk before the commit returns. */
import { DatabaseSync } from "node:sqlite";

export type Commit = { file: string; isSynced: boolean };

/** sqlite's number of `synchronous = FULL`, the level that waits for the write-ahead log (https://www.sqlite.org/pragma.html#pragma_synchronous). */
const full = 2;

/**
 * Concerns the databases that are opened from now on, until `stop`. A commit fails if `beforeCommit` throws. The commits of migrations and of
 * statements that are executed as text are not seen.
 */
export function watchCommits({
  beforeCommit = () => {},
  afterCommit,
}: {
  beforeCommit?: (file: string) => void;
  afterCommit: (commit: Commit) => void;
}): { stop(): void } {
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function prepareWatched(sql, ...rest) {
    const statement = prepare.call(this, sql, ...rest);
    if (sql !== "COMMIT") return statement;
    const file = this.location() ?? "";
    // A new statement each time, because one that is kept answers with the level of its preparation.
    const level = () => prepare.call(this, "PRAGMA synchronous").get()?.synchronous;
    const run = statement.run.bind(statement);
    statement.run = () => {
      beforeCommit(file);
      const isSynced = level() === full;
      const changes = run();
      afterCommit({ file, isSynced });
      return changes;
    };
    return statement;
  };
  return { stop: () => void Object.assign(DatabaseSync.prototype, { prepare }) };
}
