/** Files of earlier versions: what was stored in them is found, and listed as today's version lists. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
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

/** With one task in it, as version 1 kept it. */
function writeFileOfVersion1(): void {
  mkdirSync(dirname(sqlite.file));
  const raw = new DatabaseSync(sqlite.file);
  raw.exec(`${migrations[0]}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = 1`);
  raw
    .prepare(
      "INSERT INTO tasks (id, revision, state, thread, principal, expires_at_ms, item) VALUES (?, 1, ?, ?, ?, ?, ?)",
    )
    .run("a", "new", "t", "p", item.expiresAtMs, JSON.stringify(item));
  raw.close();
}

describe("a file of version 1", () => {
  it("keeps its tasks, which come into the listing of their principal as soon as they have a time in it", async () => {
    writeFileOfVersion1();
    const store = createSqliteTaskStore({ database: sqlite.open(), parse: (json) => json as TaskItem });
    const listed = async (index: "state" | "principal", key: string) =>
      (await store.list({ index, key, limit: 9 })).items;
    expect(await store.get({ id: "a" })).toEqual(item);
    expect(await listed("state", "new")).toEqual([item]);
    expect(await listed("principal", "p")).toEqual([]);
    const replaced = await store.replace({ item: { ...item, listedAtMs: 7 } });
    expect(await listed("principal", "p")).toEqual([replaced]);
  });

  it("becomes one of the newest version once, whoever opens it", () => {
    writeFileOfVersion1();
    const versionOf = () => sqlite.open().prepare("PRAGMA user_version").get();
    expect([versionOf(), versionOf()]).toEqual(Array(2).fill({ user_version: migrations.length }));
  });
});
