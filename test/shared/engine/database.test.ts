/** The file behind the sqlite engine: what it may be, who may read it, and what one transaction of many writers does. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import {
  applicationId,
  type Database,
  migrations,
  openDatabase,
} from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { EngineFileError } from "../../../lambdas/shared/engine/sqlite/file-error.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

let sqlite: SqliteFile;
beforeEach(() => {
  sqlite = createSqliteFile();
});
afterEach(() => sqlite.remove());

/** What opening comes to as a person reads it. */
function openingMessage(file = sqlite.file): string {
  try {
    openDatabase({ file, busyTimeoutMs: 10 });
    return "opened";
  } catch (error) {
    return error instanceof EngineFileError ? error.message : `not an EngineFileError: ${error}`;
  }
}

describe("opening the file", () => {
  it("creates the folder and the file for its owner alone, sqlite's side files included", async () => {
    const database = sqlite.open();
    await database.write(() => database.prepare("DELETE FROM messages").run());
    const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);
    expect(modeOf(dirname(sqlite.file))).toBe("700");
    for (const file of [sqlite.file, `${sqlite.file}-wal`, `${sqlite.file}-shm`]) expect(modeOf(file)).toBe("600");
  });

  it("leaves nothing of a text in the file that was replaced or deleted", async () => {
    const database = sqlite.open();
    const insert = database.prepare(
      "INSERT INTO messages (queue, body, sent_at_ms, visible_at_ms) VALUES (?, ?, 0, 0)",
    );
    const texts = ["short ", "long "].map(
      (name) => `${name}${"a-text-of-a-person ".repeat(name === "long " ? 1000 : 1)}`,
    );
    await database.write(() => texts.map((text) => insert.run("q", text)));
    database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    expect(readFileSync(sqlite.file, "latin1")).toContain("a-text-of-a-person");
    await database.write(() => database.prepare("UPDATE messages SET body = 'gone' WHERE seq = 1").run());
    await database.write(() => database.prepare("DELETE FROM messages WHERE seq > 1").run());
    database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    expect(readFileSync(sqlite.file, "latin1")).not.toContain("a-text-of-a-person");
  });

  it("sets the write-ahead log and a sync at every commit", () => {
    const database = sqlite.open();
    expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(database.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
  });

  it("keeps its locks however often this process opens it, so that no other program takes it for abandoned", () => {
    sqlite.open();
    sqlite.open();
    const alone = `PRAGMA locking_mode = EXCLUSIVE; SELECT * FROM tasks`;
    const takeOver = `new (require("node:sqlite").DatabaseSync)(process.argv[1]).exec("${alone}")`;
    const { status, stderr } = spawnSync(process.execPath, ["-e", takeOver, sqlite.file], { encoding: "utf8" });
    expect(stderr).toContain("database is locked");
    expect(status).toBe(1);
  });

  it("finds again what was stored before it was closed", async () => {
    const before = sqlite.open();
    const sending = send(before, "kept");
    await before.close();
    await sending;
    expect(bodiesIn(sqlite.open())).toEqual(["kept"]);
  });

  it("refuses a file that is no database, and leaves it as it is", () => {
    mkdirSync(dirname(sqlite.file));
    writeFileSync(sqlite.file, "my dear diary, ".repeat(500));
    expect(openingMessage()).toMatch(/zone\.db is not a database, or it is damaged\. Restore it .* or move it away/);
    expect(statSync(sqlite.file).size).toBe(7500);
  });

  it("refuses another program's database, and leaves it as it is", () => {
    mkdirSync(dirname(sqlite.file));
    const foreign = new DatabaseSync(sqlite.file);
    foreign.exec("CREATE TABLE bookmarks (url TEXT)");
    expect(openingMessage()).toMatch(/zone\.db is a database of another program\. Name another file/);
    expect(foreign.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    foreign.close();
  });

  it("refuses a file of a newer version", async () => {
    await sqlite.open().close();
    const raw = new DatabaseSync(sqlite.file);
    raw.exec("PRAGMA user_version = 1000");
    raw.close();
    expect(openingMessage()).toMatch(/zone\.db was written by a newer version of Sekisho\. Run that version/);
  });

  it("says what to check where nothing can be written", () => {
    writeFileSync(dirname(sqlite.file), "a file where the folder should be");
    expect(openingMessage()).toMatch(/zone\.db cannot be opened for writing\. Check that its folder/);
    expect(openingMessage(dirname(dirname(sqlite.file)))).toMatch(/cannot be opened for writing/);
  });

  it("says so when another program keeps the file locked", () => {
    mkdirSync(dirname(sqlite.file));
    const other = new DatabaseSync(sqlite.file);
    other.exec("BEGIN EXCLUSIVE");
    expect(openingMessage()).toMatch(/zone\.db is locked by another program\. Close what has it open/);
    other.close();
    expect(openingMessage(join(dirname(sqlite.file), "other.db"))).toBe("opened");
  });
});

describe("group commit", () => {
  it("puts what is asked for at the same time into one transaction, in order", async () => {
    const database = sqlite.open();
    const changes = () => database.prepare("SELECT COUNT(*) AS count FROM messages").get()?.count;
    const seenByAnother: unknown[] = [];
    const reader = sqlite.open().prepare("SELECT COUNT(*) AS count FROM messages");
    await Promise.all(
      Array.from({ length: 20 }, (_, number) =>
        database.write(() => {
          insert(database, `message ${number}`);
          seenByAnother.push(reader.get()?.count);
        }),
      ),
    );
    expect(changes()).toBe(20);
    expect(seenByAnother).toEqual(Array(20).fill(0));
    expect(bodiesIn(database)).toEqual(Array.from({ length: 20 }, (_, number) => `message ${number}`));
  });

  it("resolves only when another connection can see what was written", async () => {
    const database = sqlite.open();
    const other = sqlite.open();
    for (let count = 1; count <= 10; count += 1) {
      await send(database, `message ${count}`);
      expect(bodiesIn(other)).toHaveLength(count);
    }
  });

  it("keeps other writers out from its first statement on, also where that one reads", async () => {
    const database = sqlite.open();
    const other = new DatabaseSync(sqlite.file, { timeout: 0 });
    await database.write(() => {
      bodiesIn(database);
      expect(() => other.exec("DELETE FROM messages")).toThrow(/locked/);
    });
    other.exec("DELETE FROM messages");
    other.close();
  });

  it("undoes an operation that throws, whole and alone", async () => {
    const database = sqlite.open();
    const outcomes = await Promise.allSettled([
      send(database, "before"),
      database.write(() => {
        insert(database, "half");
        throw new Error("this one fails");
      }),
      database.write(() => database.prepare("INSERT INTO messages (seq) VALUES (NULL)").run()),
      send(database, "after"),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(bodiesIn(database)).toEqual(["before", "after"]);
  });

  it("acknowledges what fits when the disk is full, nothing else, and works again when there is room", async () => {
    const database = sqlite.open();
    const pages = Number(database.prepare("PRAGMA page_count").get()?.page_count);
    database.prepare(`PRAGMA max_page_count = ${pages + 4}`).get();
    const bodies = ["small", "large".repeat(20_000)];
    const outcomes = await Promise.allSettled(bodies.map((body) => send(database, body)));
    expect(outcomes[1]?.status).toBe("rejected");
    expect(bodiesIn(database)).toEqual(bodies.filter((_, index) => outcomes[index]?.status === "fulfilled"));
    database.prepare("PRAGMA max_page_count = 100000").get();
    await send(database, "room");
    expect(bodiesIn(database)).toContain("room");
  });

  it("rejects all of them when sqlite ends the transaction, and stores none", async () => {
    const database = sqlite.open();
    const outcomes = await Promise.allSettled([
      send(database, "one"),
      database.write(() => database.prepare("INSERT OR ROLLBACK INTO messages (seq) VALUES (NULL)").run()),
      send(database, "two"),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("NOT NULL") } });
    }
    expect(bodiesIn(database)).toEqual([]);
    await send(database, "three");
    expect(bodiesIn(database)).toEqual(["three"]);
  });

  it("rejects all of them when another process holds the lock too long, and works again when it lets go", async () => {
    sqlite.open();
    const database = openDatabase({ file: sqlite.file, busyTimeoutMs: 10 });
    const other = new DatabaseSync(sqlite.file);
    other.exec("BEGIN IMMEDIATE");
    const outcomes = await Promise.allSettled([send(database, "one"), send(database, "two")]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    other.exec("COMMIT");
    expect(bodiesIn(database)).toEqual([]);
    await send(database, "three");
    expect(bodiesIn(database)).toEqual(["three"]);
    other.close();
    await database.close();
  });

  it("rejects all of them when the commit itself fails, and stores none", async () => {
    const database = sqlite.open();
    const deferred =
      "PRAGMA foreign_keys = ON; CREATE TABLE strict (parent INTEGER REFERENCES tasks DEFERRABLE INITIALLY DEFERRED)";
    for (const statement of deferred.split("; ")) database.prepare(statement).run();
    const outcomes = await Promise.allSettled([
      send(database, "one"),
      database.write(() => database.prepare("INSERT INTO strict VALUES (42)").run()),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(bodiesIn(database)).toEqual([]);
    await send(database, "two");
    expect(bodiesIn(database)).toEqual(["two"]);
  });

  it("rejects what is asked for after the close", async () => {
    const database = sqlite.open();
    await database.close();
    await database.close();
    await expect(send(database, "late")).rejects.toThrow();
  });
});

function send(database: Database, body: string): Promise<void> {
  return database.write(() => insert(database, body));
}

function insert(database: Database, body: string): void {
  database.prepare("INSERT INTO messages (queue, body, sent_at_ms, visible_at_ms) VALUES ('q', ?, 0, 0)").run(body);
}

function bodiesIn(database: Database): unknown[] {
  const rows = database.prepare("SELECT body FROM messages ORDER BY seq").all();
  return rows.map(({ body }) => body);
}

const item: TaskItem = {
  id: "a",
  revision: 1,
  state: "new",
  thread: "t",
  principal: "p",
  expiresAtMs: 4_000_000_000_000,
};

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
