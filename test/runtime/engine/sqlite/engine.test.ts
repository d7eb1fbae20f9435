/** The sqlite engine against the suites that every engine must pass. */
import { beforeEach, describe, expect, it } from "@jest/globals";
import type { StoreIndex, TaskItem, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Database } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import fc from "fast-check";
import { forAll } from "../../../doubles/for-all.ts";
import { type Commit, watchCommits } from "../../../doubles/sqlite-commits.ts";
import { type Clock, createVirtualClock } from "../../../tables/clock.ts";
import { maxReceiveCount, type Queue, taskQueueCases } from "../../../tables/task-queue.ts";
import { taskStoreCases } from "../../../tables/task-store.ts";
import type { SampleItem } from "../../../tables/task-store-case.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

let sqlite: SqliteFile;

beforeEach(() => {
  sqlite = createSqliteFile();
});

describe("the sqlite task store", () => {
  it.each(taskStoreCases)("$name", async ({ run }) => {
    const clock = createVirtualClock();
    const open = (database: Database) =>
      createSqliteTaskStore({ database, parse: (json) => json as SampleItem, now: clock.nowMs });
    await run({ store: open(sqlite.open()), openAgain: async () => open(sqlite.open()), clock });
  });

  it("removes expired items gradually as new ones are created", async () => {
    const clock = createVirtualClock();
    const database = sqlite.open();
    const store = createSqliteTaskStore({
      database,
      parse: (json) => json as SampleItem,
      now: clock.nowMs,
    });
    const item = { revision: 1, state: "new", text: "", count: 0 };
    for (let number = 0; number < 20; number += 1) {
      await store.create({
        item: { ...item, id: `old ${number}`, expiresAtMs: clock.nowMs() + 1000 },
      });
    }
    await clock.advance({ ms: 1000 });
    const rows = () => database.prepare("SELECT COUNT(*) AS count FROM tasks").get()?.count;
    await store.create({ item: { ...item, id: "new", expiresAtMs: clock.nowMs() + 1000 } });
    expect(rows()).toBe(19);
    for (let number = 0; number < 20; number += 1) {
      await store.create({
        item: { ...item, id: `new ${number}`, expiresAtMs: clock.nowMs() + 1000 },
      });
    }
    expect(rows()).toBe(21);
  });

  it("throws an ItemError for an item that its parser refuses", async () => {
    const refuse = (): SampleItem => {
      throw new TypeError("no task");
    };
    const store = createSqliteTaskStore({ database: sqlite.open(), parse: refuse });
    await store.create({
      item: { id: "a", revision: 1, state: "new", text: "", count: 0, expiresAtMs: 9e15 },
    });
    await expect(store.get({ id: "a" })).rejects.toMatchObject({
      name: "ItemError",
      json: { id: "a", revision: 1 },
      cause: expect.any(TypeError),
    });
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

  it("returns false for a used or malformed receipt", async () => {
    const queue = createSqliteQueue({ database: sqlite.open(), name: "tasks" });
    await queue.send({ body: "once" });
    const [message] = await queue.receive({ max: 1, visibilityTimeoutMs: 9000, waitMs: 0 });
    const receipt = message?.receipt ?? "";
    expect(await queue.finish({ receipt })).toBe(true);
    for (const usedNames of [receipt, "", "1", "1.x", "nonsense"])
      expect(await queue.finish({ receipt: usedNames })).toBe(false);
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

  it("wakes a receiver that waits for a dead letter", async () => {
    const { nowMs: now, advance } = createVirtualClock();
    const database = sqlite.open();
    const queue = createSqliteQueue({
      database,
      name: "tasks",
      maxReceiveCount: 1,
      deadLetterQueue: "dead",
      now,
    });
    const dead = createSqliteQueue({ database, name: "dead", now });
    const waiting = dead.receive({ max: 1, visibilityTimeoutMs: 1000, waitMs: 20_000 });
    await queue.send({ body: "poison" });
    await queue.receive({ max: 1, visibilityTimeoutMs: 1000, waitMs: 0 });
    await advance({ ms: 1000 });
    expect(await queue.receive({ max: 1, visibilityTimeoutMs: 1000, waitMs: 0 })).toEqual([]);
    expect(await waiting).toMatchObject([{ body: "poison", receiveCount: 1 }]);
  });
});

describe("the commits of the sqlite engine", () => {
  /** Whether the engine waits for the disk at the commits of an operation. */
  async function syncsOf(operation: () => Promise<unknown>): Promise<boolean[]> {
    commits.length = 0;
    await operation();
    return commits.map(({ isSynced }) => isSynced);
  }

  const commits: Commit[] = [];
  let database: Database;
  beforeEach(() => {
    const { stop } = watchCommits({ afterCommit: (commit) => commits.push(commit) });
    database = sqlite.open();
    stop();
  });

  const item = { id: "a", revision: 1, state: "new", text: "", count: 0, expiresAtMs: 9e15 };
  const receiveOne = { max: 1, visibilityTimeoutMs: 60_000, waitMs: 0 };

  it("waits for the disk at each task write and each sent message", async () => {
    const store = createSqliteTaskStore({ database, parse: (json) => json as SampleItem });
    const queue = createSqliteQueue({ database, name: "tasks" });
    expect(await syncsOf(() => store.create({ item }))).toEqual([true]);
    expect(await syncsOf(() => store.replace({ item }))).toEqual([true]);
    const writes = [{ type: "create" as const, item: { ...item, id: "b" } }];
    expect(await syncsOf(() => store.writeTogether({ writes }))).toEqual([true]);
    expect(await syncsOf(() => store.remove({ id: "b", revision: 1 }))).toEqual([true]);
    expect(await syncsOf(() => queue.send({ body: "one" }))).toEqual([true]);
  });

  it("does not wait for the disk when a message is claimed or removed", async () => {
    const queue = createSqliteQueue({ database, name: "tasks" });
    await queue.send({ body: "one" });
    let receipt = "";
    const receive = async () => {
      const [message] = await queue.receive(receiveOne);
      receipt = message?.receipt ?? "";
    };
    expect(await syncsOf(receive)).toEqual([false]);
    expect(await syncsOf(() => queue.finish({ receipt }))).toEqual([false]);
    expect(await syncsOf(() => queue.send({ body: "two" }))).toEqual([true]);
  });

  it("waits for the disk when a claim shares its commit with a sent message", async () => {
    const queue = createSqliteQueue({ database, name: "tasks" });
    await queue.send({ body: "one" });
    const both = () => Promise.all([queue.receive(receiveOne), queue.send({ body: "two" })]);
    expect(await syncsOf(both)).toEqual([true]);
  });
});

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
  it("every statement finds its rows by an index and never sorts", () => {
    const database = sqlite.open();
    const statements = statementsOf(database);
    expect(statements.length).toBeGreaterThan(10);
    for (const sql of statements) {
      const costly = planOf(database, sql).filter((line) =>
        /^SCAN (?!CONSTANT)|TEMP B-TREE/.test(line),
      );
      expect({ sql, costly }).toEqual({ sql, costly: [] });
    }
  });
});

describe("a queue compared with its model", () => {
  type Kept = {
    body: string;
    sentAtMs: number;
    visibleAtMs: number;
    receiveCount: number;
    isDead: boolean;
  };

  type Delivery = { receipt: string; of: Kept; receiveCount: number; isDead: boolean };

  /** `deliveries` remembers every receipt that was ever given out. */
  type Model = { kept: Kept[]; sent: number; deliveries: Delivery[] };

  type Real = { queue: Queue; dead: Queue; clock: Clock };

  type Command = fc.AsyncCommand<Model, Real>;

  const visibilityTimeoutMs = 20;

  function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
    return { check: () => true, run, toString: () => name };
  }

  const sends = fc.constantFrom(0, 0, 10, 25).map((delayMs) =>
    command(`send(${delayMs})`, async (model, { queue, clock }) => {
      model.sent += 1;
      const body = `message ${model.sent}`;
      await queue.send({ body, delayMs });
      const sentAtMs = clock.nowMs();
      model.kept.push({
        body,
        sentAtMs,
        visibleAtMs: sentAtMs + delayMs,
        receiveCount: 0,
        isDead: false,
      });
    }),
  );

  /** Which of the due messages come is the queue's choice; that they were due, and how often they came, is not. */
  function receives(isDead: boolean): fc.Arbitrary<Command> {
    return fc.integer({ min: 1, max: 4 }).map((max) =>
      command(`receive(${isDead ? "dead, " : ""}${max})`, async (model, { queue, dead, clock }) => {
        const from = isDead ? dead : queue;
        const messages = await from.receive({ max, visibilityTimeoutMs, waitMs: 0 });
        expect(messages.length).toBeLessThanOrEqual(max);
        for (const { body, receipt, receiveCount, sentAtMs } of messages) {
          const message = model.kept.find((candidate) => candidate.body === body);
          if (message === undefined) throw new Error(`${body} was finished, or never sent`);
          expect(message.visibleAtMs).toBeLessThanOrEqual(clock.nowMs());
          if (isDead && !message.isDead) {
            expect(message.receiveCount).toBe(maxReceiveCount);
            Object.assign(message, { isDead, receiveCount: 0 });
          }
          expect({ isDead: message.isDead, sentAtMs }).toEqual({
            isDead,
            sentAtMs: message.sentAtMs,
          });
          message.receiveCount += 1;
          message.visibleAtMs = clock.nowMs() + visibilityTimeoutMs;
          expect(receiveCount).toBe(message.receiveCount);
          if (!isDead) expect(receiveCount).toBeLessThanOrEqual(maxReceiveCount);
          model.deliveries.push({ receipt, of: message, receiveCount, isDead });
        }
        if (messages.length > 0) return;
        const isOverdue = (message: Kept) =>
          message.visibleAtMs <= clock.nowMs() && message.isDead === isDead;
        expect(
          model.kept.filter(
            (message) => isOverdue(message) && (isDead || message.receiveCount < maxReceiveCount),
          ),
        ).toEqual([]);
      }),
    );
  }

  const finishes = fc.nat().map((pick) =>
    command(`finish(${pick})`, async (model, { queue, dead, clock }) => {
      const delivery = model.deliveries.at(-1 - (pick % 6));
      if (delivery === undefined) return;
      const { receipt, of, receiveCount, isDead } = delivery;
      const isHeld =
        model.kept.includes(of) &&
        of.isDead === isDead &&
        of.receiveCount === receiveCount &&
        of.visibleAtMs > clock.nowMs();
      expect(await (isDead ? dead : queue).finish({ receipt })).toBe(isHeld);
      if (isHeld) model.kept.splice(model.kept.indexOf(of), 1);
    }),
  );

  const waits = fc
    .constantFrom(1, 5, 20)
    .map((ms) => command(`advance(${ms})`, (_model, { clock }) => clock.advance({ ms })));

  it("behaves like the model in any sequence of operations", async () => {
    const database = sqlite.open();
    const all = [sends, receives(false), receives(false), receives(true), finishes, waits];
    await forAll(fc.commands(all, { maxCommands: 80, size: "max" })).holdAsync(async (commands) => {
      await database.write(() => database.prepare("DELETE FROM messages").run());
      const clock = createVirtualClock();
      const queueOptions = { database, now: clock.nowMs };
      const queue = createSqliteQueue({
        ...queueOptions,
        name: "tasks",
        maxReceiveCount,
        deadLetterQueue: "dead",
      });
      const dead = createSqliteQueue({ ...queueOptions, name: "dead" });
      await fc.asyncModelRun(
        () => ({ model: { kept: [], sent: 0, deliveries: [] }, real: { queue, dead, clock } }),
        commands,
      );
    }, 60);
  });
});

type Kept = { item: SampleItem; order: number };

/** The plainest store that does what the port says. */
type Model = { kept: Map<string, Kept>; created: number };
type Real = { store: TaskStore<SampleItem>; clock: Clock };
type Command = fc.AsyncCommand<Model, Real>;

function alive(model: Model, clock: Clock, id: string): SampleItem | undefined {
  const item = model.kept.get(id)?.item;
  return item !== undefined && item.expiresAtMs > clock.nowMs() ? item : undefined;
}

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name };
}

const ids = fc.constantFrom("a", "b", "c", "d");
const keys = fc.constantFrom("x", "y");

const changes = fc.record({
  state: keys,
  thread: fc.option(keys, { nil: undefined }),
  principal: fc.option(keys, { nil: undefined }),
  listedAtMs: fc.option(fc.integer({ min: 8, max: 11 }), { nil: undefined }),
  text: fc.string({ unit: "grapheme", maxLength: 5 }),
  count: fc.nat(),
  lifeMs: fc.integer({ min: -5, max: 50 }),
});

const creates = fc.tuple(ids, changes).map(([id, { lifeMs, ...fields }]) =>
  command(`create(${id}, ${lifeMs} ms)`, async (model, { store, clock }) => {
    const item = plain({ ...fields, id, revision: 1, expiresAtMs: clock.nowMs() + lifeMs });
    const expectedResult = alive(model, clock, id) === undefined ? item : undefined;
    expect(await store.create({ item: { ...item, revision: 9 } })).toEqual(expectedResult);
    if (expectedResult === undefined) return;
    model.created += 1;
    model.kept.set(id, { item, order: model.created });
  }),
);

const replaces = fc
  .tuple(ids, changes, fc.constantFrom(0, 0, 0, 1, -1))
  .map(([id, { lifeMs, ...fields }, off]) =>
    command(`replace(${id}, ${off}, ${lifeMs} ms)`, async (model, { store, clock }) => {
      const liveRecord = alive(model, clock, id);
      const revision = (liveRecord?.revision ?? 1) + off;
      const item = plain({
        ...fields,
        id,
        revision: revision + 1,
        expiresAtMs: clock.nowMs() + lifeMs,
      });
      const fits = liveRecord !== undefined && liveRecord.revision === revision;
      expect(await store.replace({ item: { ...item, revision } })).toEqual(fits ? item : undefined);
      const record = model.kept.get(id);
      if (fits && record !== undefined) record.item = item;
    }),
  );

const gets = ids.map((id) =>
  command(`get(${id})`, async (model, { store, clock }) => {
    expect(await store.get({ id })).toEqual(alive(model, clock, id));
  }),
);

const lists = fc
  .tuple(
    fc.constantFrom<StoreIndex>("state", "thread", "principal"),
    keys,
    fc.integer({ min: 1, max: 5 }),
  )
  .map(([index, key, limit]) =>
    command(`list(${index} ${key}, by ${limit})`, async (model, { store, clock }) => {
      const liveRecords = [...model.kept.values()].filter(
        ({ item }) => item[index] === key && item.expiresAtMs > clock.nowMs(),
      );
      const expectedResult =
        index === "principal"
          ? newestFirst(liveRecords)
          : liveRecords.toSorted((one, other) => one.order - other.order);
      const foundItems: SampleItem[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({
          index,
          key,
          limit,
          ...(cursor === undefined ? {} : { cursor }),
        });
        foundItems.push(...page.items);
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect(foundItems).toEqual(expectedResult.map(({ item }) => item));
    }),
  );

/** Those that have a time, by it and then by id, both falling. */
function newestFirst(records: Kept[]): Kept[] {
  const place = ({ item: { listedAtMs = 0, id } }: Kept) =>
    `${String(listedAtMs).padStart(2, "0")} ${id}`;
  return records
    .filter(({ item }) => item.listedAtMs !== undefined)
    .toSorted((one, other) => (place(one) < place(other) ? 1 : -1));
}

const waits = fc
  .integer({ min: 1, max: 30 })
  .map((ms) => command(`advance(${ms})`, (_model, { clock }) => clock.advance({ ms })));

it("behaves like the model in any sequence of operations", async () => {
  const database = sqlite.open();
  await forAll(
    fc.commands([creates, replaces, gets, lists, waits], { maxCommands: 60, size: "max" }),
  ).holdAsync(async (commands) => {
    await database.write(() => database.prepare("DELETE FROM tasks").run());
    const clock = createVirtualClock();
    const store = createSqliteTaskStore({
      database,
      parse: (json) => json as SampleItem,
      now: clock.nowMs,
    });
    await fc.asyncModelRun(
      () => ({ model: { kept: new Map(), created: 0 }, real: { store, clock } }),
      commands,
    );
  }, 60);
});

/** Without fields that are undefined, as JSON keeps it. */
function plain(item: SampleItem): SampleItem {
  return JSON.parse(JSON.stringify(item));
}
