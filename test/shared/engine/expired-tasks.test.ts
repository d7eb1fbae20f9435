/** What has expired leaves the file of a process that lives long, without anything new being stored. */
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/task-store.ts";
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
});
