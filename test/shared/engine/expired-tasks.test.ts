/** What has expired leaves the file of a process that lives long, without anything new being stored. */
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import type { Database } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

let sqlite: SqliteFile;
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"], now: 1_790_000_000_000 });
  sqlite = createSqliteFile();
});
afterEach(async () => {
  await sqlite.remove();
  jest.useRealTimers();
});

const text = "a-text-of-a-person";

async function storeAndDelete(database: Database): Promise<void> {
  const insert = "INSERT INTO messages (queue, body, sent_at_ms, visible_at_ms) VALUES ('q', ?, 0, 0)";
  await database.write(() => database.prepare(insert).run(text));
  await database.write(() => database.prepare("DELETE FROM messages").run());
}

function onDisk(): string {
  return readFileSync(sqlite.file, "latin1") + readFileSync(`${sqlite.file}-wal`, "latin1");
}

describe("a sqlite file that is open for long", () => {
  it("holds no item past its time a minute later, and every other", async () => {
    const database = sqlite.open();
    const store = createSqliteTaskStore({ database, parse: (json) => json as typeof item });
    const item = { id: "short", revision: 1, state: "done", expiresAtMs: Date.now() + 1000 };
    await store.create({ item });
    await store.create({ item: { ...item, id: "long", expiresAtMs: Date.now() + 3600_000 } });
    await jest.advanceTimersByTimeAsync(61_000);
    await database.write(() => {});
    expect(database.prepare("SELECT id FROM tasks").all()).toEqual([{ id: "long" }]);
  });

  it("holds nothing of a deleted text a minute later, in the write-ahead log neither", async () => {
    const database = sqlite.open();
    await storeAndDelete(database);
    expect(onDisk()).toContain(text);
    await jest.advanceTimersByTimeAsync(61_000);
    expect(onDisk()).not.toContain(text);
    expect(database.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 5000 });
  });

  it("empties the log at a later look where another process reads at the first", async () => {
    const database = sqlite.open();
    await storeAndDelete(database);
    const reader = new DatabaseSync(sqlite.file);
    reader.exec("BEGIN; SELECT * FROM tasks");
    await storeAndDelete(database);
    await jest.advanceTimersByTimeAsync(61_000);
    expect(onDisk()).toContain(text);
    reader.close();
    await jest.advanceTimersByTimeAsync(61_000);
    expect(onDisk()).not.toContain(text);
  });
});
