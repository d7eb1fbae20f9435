/** The file behind the sqlite engine: what it may be, who may read it, and what one transaction of many writers does. */
import { spawn, spawnSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import {
  applicationId,
  createQueueSignal,
  type Database,
  migrations,
  openDatabase,
} from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { EngineFileError } from "@sekisho/runtime/engine/sqlite/file-error.ts";
import type { SampleItem } from "../../../tables/task-store-case.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

let sqlite: SqliteFile;

beforeEach(() => {
  sqlite = createSqliteFile();
});

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
  it("creates the folder, the file and the side files of sqlite readable only by their owner", async () => {
    const database = sqlite.open();
    await database.write(() => database.prepare("DELETE FROM messages").run());
    const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);
    expect(modeOf(dirname(sqlite.file))).toBe("700");
    for (const file of [sqlite.file, `${sqlite.file}-wal`, `${sqlite.file}-shm`])
      expect(modeOf(file)).toBe("600");
  });

  it("removes every trace of replaced and deleted texts from the file", async () => {
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
    await database.write(() =>
      database.prepare("UPDATE messages SET body = 'gone' WHERE seq = 1").run(),
    );
    await database.write(() => database.prepare("DELETE FROM messages WHERE seq > 1").run());
    database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    expect(readFileSync(sqlite.file, "latin1")).not.toContain("a-text-of-a-person");
  });

  it("keeps its locks when this process opens the file several times", () => {
    sqlite.open();
    sqlite.open();
    const alone = `PRAGMA locking_mode = EXCLUSIVE; SELECT * FROM tasks`;
    const takeOver = `new (require("node:sqlite").DatabaseSync)(process.argv[1]).exec("${alone}")`;
    const { status, stderr } = spawnSync(process.execPath, ["-e", takeOver, sqlite.file], {
      encoding: "utf8",
    });
    expect(stderr).toContain("database is locked");
    expect(status).toBe(1);
  });

  it("keeps stored data after a close", async () => {
    const oldEngine = sqlite.open();
    const sending = send(oldEngine, "kept");
    await oldEngine.close();
    await sending;
    expect(bodiesIn(sqlite.open())).toEqual(["kept"]);
  });

  it("refuses a file that is not a database and leaves it unchanged", () => {
    mkdirSync(dirname(sqlite.file));
    writeFileSync(sqlite.file, "my dear diary, ".repeat(500));
    expect(openingMessage()).toMatch(
      /zone\.db is not a database, or it is damaged\. Restore it .* or move it away/,
    );
    expect(statSync(sqlite.file).size).toBe(7500);
  });

  it("refuses the database of another program and leaves it unchanged", () => {
    mkdirSync(dirname(sqlite.file));
    const foreign = new DatabaseSync(sqlite.file);
    foreign.exec("CREATE TABLE bookmarks (url TEXT)");
    expect(openingMessage()).toMatch(
      /zone\.db is a database of another program\. Name another file/,
    );
    expect(foreign.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
    foreign.close();
  });

  it("refuses a file of a newer version", async () => {
    await sqlite.open().close();
    const raw = new DatabaseSync(sqlite.file);
    raw.exec("PRAGMA user_version = 1000");
    raw.close();
    expect(openingMessage()).toMatch(
      /zone\.db was written by a newer version of Sekisho\. Run that version/,
    );
  });

  it("says what to check if the file cannot be written", () => {
    writeFileSync(dirname(sqlite.file), "a file where the folder should be");
    expect(openingMessage()).toMatch(
      /zone\.db cannot be opened for writing\. Check that its folder/,
    );
    expect(openingMessage(dirname(dirname(sqlite.file)))).toMatch(/cannot be opened for writing/);
  });

  it("reports that another program keeps the file locked", () => {
    mkdirSync(dirname(sqlite.file));
    const other = new DatabaseSync(sqlite.file);
    other.exec("BEGIN EXCLUSIVE");
    expect(openingMessage()).toMatch(
      /zone\.db is locked by another program\. Close what has it open/,
    );
    other.close();
    expect(openingMessage(join(dirname(sqlite.file), "other.db"))).toBe("opened");
  });
});

describe("group commit", () => {
  it("commits concurrent operations in one transaction and keeps their order", async () => {
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
    expect(bodiesIn(database)).toEqual(
      Array.from({ length: 20 }, (_, number) => `message ${number}`),
    );
  });

  it("keeps other writers out from its first statement on, also if that only reads", async () => {
    const database = sqlite.open();
    const other = new DatabaseSync(sqlite.file, { timeout: 0 });
    await database.write(() => {
      bodiesIn(database);
      expect(() => other.exec("DELETE FROM messages")).toThrow(/locked/);
    });
    other.exec("DELETE FROM messages");
    other.close();
  });

  it("rolls back only the operation that throws", async () => {
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
    expect(outcomes.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    expect(bodiesIn(database)).toEqual(["before", "after"]);
  });

  it("rolls back an operation that throws in its own transaction, and goes on", async () => {
    const database = sqlite.open();
    const failing = database.write(() => {
      insert(database, "half");
      throw new Error("this one fails");
    });
    await expect(failing).rejects.toThrow("this one fails");
    await send(database, "after");
    expect(bodiesIn(sqlite.open())).toEqual(["after"]);
  });

  it("acknowledges only what fits on a full disk, and works again when there is room", async () => {
    const database = sqlite.open();
    const pages = Number(database.prepare("PRAGMA page_count").get()?.page_count);
    database.prepare(`PRAGMA max_page_count = ${pages + 4}`).get();
    const bodies = ["small", "large".repeat(20_000)];
    const outcomes = await Promise.allSettled(bodies.map((body) => send(database, body)));
    expect(outcomes[1]?.status).toBe("rejected");
    expect(bodiesIn(database)).toEqual(
      bodies.filter((_, index) => outcomes[index]?.status === "fulfilled"),
    );
    database.prepare("PRAGMA max_page_count = 100000").get();
    await send(database, "room");
    expect(bodiesIn(database)).toContain("room");
  });

  it("rejects all operations when sqlite ends the transaction, and stores none of them", async () => {
    const database = sqlite.open();
    const outcomes = await Promise.allSettled([
      send(database, "one"),
      database.write(() =>
        database.prepare("INSERT OR ROLLBACK INTO messages (seq) VALUES (NULL)").run(),
      ),
      send(database, "two"),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: { message: expect.stringContaining("NOT NULL") },
      });
    }
    expect(bodiesIn(database)).toEqual([]);
    await send(database, "three");
    expect(bodiesIn(database)).toEqual(["three"]);
  });

  it("rejects all operations while another process holds the lock, and works again afterwards", async () => {
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

  it("rejects all operations when the commit itself fails, and stores none of them", async () => {
    const database = sqlite.open();
    const deferredSchema =
      "PRAGMA foreign_keys = ON; CREATE TABLE strict (parent INTEGER REFERENCES tasks DEFERRABLE INITIALLY DEFERRED)";
    for (const statement of deferredSchema.split("; ")) database.prepare(statement).run();
    const outcomes = await Promise.allSettled([
      send(database, "one"),
      database.write(() => database.prepare("INSERT INTO strict VALUES (42)").run()),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(bodiesIn(database)).toEqual([]);
    await send(database, "two");
    expect(bodiesIn(database)).toEqual(["two"]);
  });

  it("rejects operations after the close", async () => {
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
  database
    .prepare("INSERT INTO messages (queue, body, sent_at_ms, visible_at_ms) VALUES ('q', ?, 0, 0)")
    .run(body);
}

function bodiesIn(database: Database): unknown[] {
  const rows = database.prepare("SELECT body FROM messages ORDER BY seq").all();
  return rows.map(({ body }) => body);
}

describe("a new file", () => {
  it("migrates a new file to the newest version once", () => {
    const pragmaOf = (name: string) => sqlite.open().prepare(`PRAGMA ${name}`).get();
    const versions = [pragmaOf("user_version"), pragmaOf("user_version")];
    expect(versions).toEqual(Array(2).fill({ user_version: migrations.length }));
    expect(pragmaOf("application_id")).toEqual({ application_id: applicationId });
  });
});

/** Far beyond the test's own time limit. */
const never = 3600_000;

it("wakes only those who wait for that name", async () => {
  const changeSignal = createQueueSignal();
  const wokenNames: string[] = [];
  const stop = new AbortController();
  const waits = ["tasks", "tasks", "dead"].map(async (name) => {
    await changeSignal.wait({ name, ms: never, signal: stop.signal });
    wokenNames.push(name);
  });
  changeSignal.ring("tasks");
  changeSignal.ring("nobody's");
  await Promise.all(waits.slice(0, 2));
  expect(wokenNames).toEqual(["tasks", "tasks"]);
  stop.abort();
  await Promise.all(waits);
  expect(wokenNames).toEqual(["tasks", "tasks", "dead"]);
});

it("wakes when the time is over", async () => {
  await createQueueSignal().wait({ name: "tasks", ms: 1, signal: undefined });
});

it("does not wait on an aborted signal, and removes its listener from a live one", async () => {
  const changeSignal = createQueueSignal();
  await changeSignal.wait({ name: "tasks", ms: never, signal: AbortSignal.abort() });
  const { signal } = new AbortController();
  const waiting = changeSignal.wait({ name: "tasks", ms: never, signal });
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  changeSignal.ring("tasks");
  await waiting;
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

const text = "a-text-of-a-person";

async function storeAndDelete(database: Database): Promise<void> {
  const insert =
    "INSERT INTO messages (queue, body, sent_at_ms, visible_at_ms) VALUES ('q', ?, 0, 0)";
  await database.write(() => database.prepare(insert).run(text));
  await database.write(() => database.prepare("DELETE FROM messages").run());
}

function onDisk(): string {
  return readFileSync(sqlite.file, "latin1") + readFileSync(`${sqlite.file}-wal`, "latin1");
}

describe("a sqlite file that stays open", () => {
  beforeEach(
    () =>
      void jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick"], now: 1_790_000_000_000 }),
  );
  afterEach(() => void jest.useRealTimers());

  it("removes expired items within a minute and keeps all others", async () => {
    const database = sqlite.open();
    const store = createSqliteTaskStore({ database, parse: (json) => json as typeof item });
    const item = { id: "short", revision: 1, state: "done", expiresAtMs: Date.now() + 1000 };
    await store.create({ item });
    await store.create({ item: { ...item, id: "long", expiresAtMs: Date.now() + 3600_000 } });
    await jest.advanceTimersByTimeAsync(61_000);
    await database.write(() => {});
    expect(database.prepare("SELECT id FROM tasks").all()).toEqual([{ id: "long" }]);
  });

  it("removes a deleted text from the file and the write-ahead log within a minute", async () => {
    const database = sqlite.open();
    await storeAndDelete(database);
    expect(onDisk()).toContain(text);
    await jest.advanceTimersByTimeAsync(61_000);
    expect(onDisk()).not.toContain(text);
    expect(database.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 5000 });
  });

  it("empties the log later if another process reads at the first attempt", async () => {
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

const lines = 3;
const killsPerLine = 3;
const kills = lines * killsPerLine;

describe("processes killed at any moment while they race on one file", () => {
  it("killed processes lose nothing that was acknowledged and do nothing twice", async () => {
    // Each line of processes is one after the other; the first ones also race to create the file.
    const acknowledged = (
      await Promise.all(
        Array.from({ length: lines }, (_, line) => runLine({ file: sqlite.file, line })),
      )
    ).flat();
    const all = (what: string) =>
      acknowledged.flatMap((text) =>
        text.startsWith(`${what} `) ? [text.slice(what.length + 1)] : [],
      );

    const database = sqlite.open();
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });

    const store = createSqliteTaskStore({ database, parse: (json) => json as SampleItem });
    const keptIds = (await store.list({ index: "state", key: "new", limit: 1_000_000 })).items.map(
      ({ id }) => id,
    );
    expect(missing(all("made"), keptIds)).toEqual([]);

    const counts = all("counted").map(Number);
    const counter = await store.get({ id: "counter" });
    expect(findRepeated(counts)).toEqual([]);
    // A process that is killed may have done one thing more than it could say.
    expect(counter?.count).toBeGreaterThanOrEqual(Math.max(...counts));
    expect(counter?.count).toBeLessThanOrEqual(counts.length + kills);
    expect(counter?.revision).toBe((counter?.count ?? 0) + 1);

    const finishedBodies = all("finished");
    const leftoverBodies = await leftBodies(sqlite);
    expect(findRepeated(all("got"))).toEqual([]);
    expect(findRepeated(finishedBodies)).toEqual([]);
    expect(leftoverBodies.filter((body) => finishedBodies.includes(body))).toEqual([]);
    const finishedUnsaid = missing(all("sent"), [...finishedBodies, ...leftoverBodies]);
    expect(missing(finishedUnsaid, all("got"))).toEqual([]);
    expect(finishedUnsaid.length).toBeLessThanOrEqual(kills);
    for (const what of ["made", "counted", "sent", "got", "finished"])
      expect(all(what).length).toBeGreaterThan(0);
  });
});

async function runLine({ file, line }: { file: string; line: number }): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let number = 0; number < killsPerLine; number += 1) {
    const name = `${line}.${number}`;
    acknowledged.push(
      ...(await runAndKill({ file, name, afterLines: 50 + 37 * ((line + 2 * number) % 5) })),
    );
  }
  return acknowledged;
}

type RunAndKillOptions = { file: string; name: string; afterLines: number };

/** All lines that the process wrote until it was killed, which happens when that many have been read. */
async function runAndKill({ file, name, afterLines }: RunAndKillOptions): Promise<string[]> {
  const worker = join(import.meta.dirname, "../kill-worker.ts");
  const child = spawn(process.execPath, [worker, file, name], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const death = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once("exit", (_code, signal) => resolve(signal)),
  );
  const acknowledged: string[] = [];
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      acknowledged.push(text);
      if (acknowledged.length === afterLines) child.kill("SIGKILL");
    }
  } finally {
    child.kill("SIGKILL");
  }
  expect(await death).toBe("SIGKILL");
  return acknowledged;
}

/** Every message that is in the queue, hidden or not: an hour and a bit later none is hidden any more. */
async function leftBodies({ open }: SqliteFile): Promise<string[]> {
  const now = () => Date.now() + 4000_000;
  const queue = createSqliteQueue({ database: open(), name: "tasks", now });
  const messages = await queue.receive({ max: 1_000_000, visibilityTimeoutMs: 60_000, waitMs: 0 });
  return messages.map(({ body }) => body);
}

function findRepeated<T>(values: readonly T[]): T[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

function missing<T>(wantedValues: readonly T[], there: readonly T[]): T[] {
  const set = new Set(there);
  return wantedValues.filter((value) => !set.has(value));
}
