import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import type { Database } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

let sqlite: SqliteFile;
beforeEach(() => {
  sqlite = createSqliteFile();
});
afterEach(() => sqlite.remove());

/** How sqlite would carry it out, a line for each table that it looks at (https://www.sqlite.org/eqp.html). */
function planOf(database: Database, sql: string): string[] {
  return database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => String(detail));
}

/** All statements that store and queue prepare. */
function statementsOf(database: Database): string[] {
  const statements: string[] = [];
  const recording: Database = {
    ...database,
    prepare(sql) {
      statements.push(sql);
      return database.prepare(sql);
    },
  };
  createSqliteTaskStore({ database: recording, parse: (json) => json as TaskItem });
  createSqliteQueue({ database: recording, name: "tasks" });
  return statements;
}

describe("the statements of the sqlite engine", () => {
  it("find their rows by an index and never sort, so that they take no longer the more tasks wait", () => {
    const database = sqlite.open();
    const statements = statementsOf(database);
    expect(statements.length).toBeGreaterThan(10);
    for (const sql of statements) {
      const costly = planOf(database, sql).filter((line) => /^SCAN (?!CONSTANT)|TEMP B-TREE/.test(line));
      expect({ sql, costly }).toEqual({ sql, costly: [] });
    }
  });

  it("would be noticed where one looks at every row", () => {
    const [line] = planOf(sqlite.open(), "SELECT item FROM tasks WHERE item = ?");
    expect(line).toMatch(/^SCAN tasks/);
  });
});
