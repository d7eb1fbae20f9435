/** The sqlite engine against the suites that every engine must pass. */
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import type { Database } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { createVirtualClock } from "../../conformance/clock.ts";
import { maxReceiveCount, taskQueueCases } from "../../conformance/task-queue.ts";
import { taskStoreCases } from "../../conformance/task-store.ts";
import type { SampleItem } from "../../conformance/task-store-case.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

let sqlite: SqliteFile;
beforeEach(() => {
  sqlite = createSqliteFile();
});
afterEach(() => sqlite.remove());

describe("the sqlite task store", () => {
  it.each(taskStoreCases)("$name", async ({ run }) => {
    const clock = createVirtualClock();
    const open = (database: Database) =>
      createSqliteTaskStore({ database, parse: (json) => json as SampleItem, now: clock.nowMs });
    await run({ store: open(sqlite.open()), openAgain: async () => open(sqlite.open()), clock });
  });

  it("removes what has expired little by little, as new items come", async () => {
    const clock = createVirtualClock();
    const database = sqlite.open();
    const store = createSqliteTaskStore({ database, parse: (json) => json as SampleItem, now: clock.nowMs });
    const item = { revision: 1, state: "new", text: "", count: 0 };
    for (let number = 0; number < 20; number += 1) {
      await store.create({ item: { ...item, id: `old ${number}`, expiresAtMs: clock.nowMs() + 1000 } });
    }
    await clock.advance({ ms: 1000 });
    const rows = () => database.prepare("SELECT COUNT(*) AS count FROM tasks").get()?.count;
    await store.create({ item: { ...item, id: "new", expiresAtMs: clock.nowMs() + 1000 } });
    expect(rows()).toBe(19);
    for (let number = 0; number < 20; number += 1) {
      await store.create({ item: { ...item, id: `new ${number}`, expiresAtMs: clock.nowMs() + 1000 } });
    }
    expect(rows()).toBe(21);
  });

  it("refuses a cursor that is none of its own", async () => {
    const store = createSqliteTaskStore({ database: sqlite.open(), parse: (json) => json as SampleItem });
    for (const index of ["state", "principal"] as const) {
      for (const cursor of ["", "x", "1 OR 1=1"]) {
        await expect(store.list({ index, key: "new", limit: 1, cursor })).rejects.toThrow(RangeError);
      }
    }
  });

  it("does not hand out an item that its parser refuses", async () => {
    const refuse = (): SampleItem => {
      throw new TypeError("no task");
    };
    const store = createSqliteTaskStore({ database: sqlite.open(), parse: refuse });
    await store.create({ item: { id: "a", revision: 1, state: "new", text: "", count: 0, expiresAtMs: 9e15 } });
    await expect(store.get({ id: "a" })).rejects.toMatchObject({
      name: "ItemError",
      json: { id: "a", revision: 1 },
      cause: expect.any(TypeError),
    });
  });

  it("says of an item that cannot be written that the item is to blame", async () => {
    const store = createSqliteTaskStore({ database: sqlite.open(), parse: (json) => json as SampleItem });
    const data: unknown = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));
    const item = { id: "a", revision: 1, state: "new", text: "", count: 0, expiresAtMs: 9e15, data };
    await expect(store.create({ item })).rejects.toMatchObject({ name: "ItemError", cause: expect.any(RangeError) });
  });
});

describe("the sqlite task queue", () => {
  it.each(taskQueueCases)("$name", async ({ run }) => {
    const { nowMs: now, advance } = createVirtualClock();
    const open = (database: Database) =>
      createSqliteQueue({ database, name: "tasks", maxReceiveCount, deadLetterQueue: "dead", now });
    const database = sqlite.open();
    await run({
      queue: open(database),
      deadLetters: createSqliteQueue({ database, name: "dead", now }),
      openAgain: async () => open(sqlite.open()),
      clock: { nowMs: now, advance },
    });
  });

  it("gives a receipt that was used, or that is none, a plain no", async () => {
    const queue = createSqliteQueue({ database: sqlite.open(), name: "tasks" });
    await queue.send({ body: "once" });
    const [message] = await queue.receive({ max: 1, visibilityTimeoutMs: 9000, waitMs: 0 });
    const receipt = message?.receipt ?? "";
    expect(await queue.finish({ receipt })).toBe(true);
    for (const used of [receipt, "", "1", "1.x", "nonsense"]) expect(await queue.finish({ receipt: used })).toBe(false);
  });

  it("keeps a message that has no dead-letter queue to go to", async () => {
    const { nowMs: now, advance } = createVirtualClock();
    const queue = createSqliteQueue({ database: sqlite.open(), name: "tasks", now });
    await queue.send({ body: "stubborn" });
    for (let receiveCount = 1; receiveCount <= 12; receiveCount += 1) {
      const messages = await queue.receive({ max: 1, visibilityTimeoutMs: 1000, waitMs: 0 });
      expect(messages).toMatchObject([{ receiveCount }]);
      await advance({ ms: 1000 });
    }
  });

  it("gives a dead letter to who is waiting for one", async () => {
    const { nowMs: now, advance } = createVirtualClock();
    const database = sqlite.open();
    const queue = createSqliteQueue({ database, name: "tasks", maxReceiveCount: 1, deadLetterQueue: "dead", now });
    const dead = createSqliteQueue({ database, name: "dead", now });
    const waiting = dead.receive({ max: 1, visibilityTimeoutMs: 1000, waitMs: 20_000 });
    await queue.send({ body: "poison" });
    await queue.receive({ max: 1, visibilityTimeoutMs: 1000, waitMs: 0 });
    await advance({ ms: 1000 });
    expect(await queue.receive({ max: 1, visibilityTimeoutMs: 1000, waitMs: 0 })).toEqual([]);
    expect(await waiting).toMatchObject([{ body: "poison", receiveCount: 1 }]);
  });
});
