/** A file is brought to the newest version when it is opened, and lists its tasks by the columns of that version. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import { applicationId, migrations } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

const item: TaskItem = {
  id: "a",
  revision: 1,
  state: "new",
  thread: "t",
  principal: "p",
  expiresAtMs: 4_000_000_000_000,
};

let sqlite: SqliteFile;
beforeEach(() => {
  sqlite = createSqliteFile();
});
afterEach(() => sqlite.remove());

describe("a new file", () => {
  it("keeps tasks, which come into the listing of their principal as soon as they have a time in it", async () => {
    const store = createSqliteTaskStore({ database: sqlite.open(), parse: (json) => json as TaskItem });
    const listed = async (index: "state" | "principal", key: string) =>
      (await store.list({ index, key, limit: 9 })).items;
    await store.create({ item });
    expect(await store.get({ id: "a" })).toEqual(item);
    expect(await listed("state", "new")).toEqual([item]);
    expect(await listed("principal", "p")).toEqual([]);
    const replaced = await store.replace({ item: { ...item, listedAtMs: 7 } });
    expect(await listed("principal", "p")).toEqual([replaced]);
  });

  it("becomes one of the newest version once, whoever opens it", () => {
    const pragmaOf = (name: string) => sqlite.open().prepare(`PRAGMA ${name}`).get();
    const versions = [pragmaOf("user_version"), pragmaOf("user_version")];
    expect(versions).toEqual(Array(2).fill({ user_version: migrations.length }));
    expect(pragmaOf("application_id")).toEqual({ application_id: applicationId });
  });
});
