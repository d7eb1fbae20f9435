/** The sqlite task store against a Map, in any order of operations and any distance in time. */
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { StoreIndex, TaskStore } from "../../../lambdas/shared/engine/ports.ts";
import { createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { type Clock, createVirtualClock } from "../../conformance/clock.ts";
import type { SampleItem } from "../../conformance/task-store-case.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

type Kept = { item: SampleItem; order: number };
/** The plainest store that does what the port says. */
type Model = { kept: Map<string, Kept>; created: number };
type Real = { store: TaskStore<SampleItem>; clock: Clock };
type Command = fc.AsyncCommand<Model, Real>;

let sqlite: SqliteFile;
beforeAll(() => {
  sqlite = createSqliteFile();
});
afterAll(() => sqlite.remove());

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
    const expected = alive(model, clock, id) === undefined ? item : undefined;
    expect(await store.create({ item: { ...item, revision: 9 } })).toEqual(expected);
    if (expected === undefined) return;
    model.created += 1;
    model.kept.set(id, { item, order: model.created });
  }),
);

const replaces = fc.tuple(ids, changes, fc.constantFrom(0, 0, 0, 1, -1)).map(([id, { lifeMs, ...fields }, off]) =>
  command(`replace(${id}, ${off}, ${lifeMs} ms)`, async (model, { store, clock }) => {
    const before = alive(model, clock, id);
    const revision = (before?.revision ?? 1) + off;
    const item = plain({ ...fields, id, revision: revision + 1, expiresAtMs: clock.nowMs() + lifeMs });
    const fits = before !== undefined && before.revision === revision;
    expect(await store.replace({ item: { ...item, revision } })).toEqual(fits ? item : undefined);
    const kept = model.kept.get(id);
    if (fits && kept !== undefined) kept.item = item;
  }),
);

const gets = ids.map((id) =>
  command(`get(${id})`, async (model, { store, clock }) => {
    expect(await store.get({ id })).toEqual(alive(model, clock, id));
  }),
);

const lists = fc
  .tuple(fc.constantFrom<StoreIndex>("state", "thread", "principal"), keys, fc.integer({ min: 1, max: 5 }))
  .map(([index, key, limit]) =>
    command(`list(${index} ${key}, by ${limit})`, async (model, { store, clock }) => {
      const kept = [...model.kept.values()].filter(
        ({ item }) => item[index] === key && item.expiresAtMs > clock.nowMs(),
      );
      const expected =
        index === "principal" ? newestFirst(kept) : kept.toSorted((one, other) => one.order - other.order);
      const found: SampleItem[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({ index, key, limit, ...(cursor === undefined ? {} : { cursor }) });
        found.push(...page.items);
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect(found).toEqual(expected.map(({ item }) => item));
    }),
  );

/** Those that have a time, by it and then by id, both falling. */
function newestFirst(kept: Kept[]): Kept[] {
  const place = ({ item: { listedAtMs = 0, id } }: Kept) => `${String(listedAtMs).padStart(2, "0")} ${id}`;
  return kept
    .filter(({ item }) => item.listedAtMs !== undefined)
    .toSorted((one, other) => (place(one) < place(other) ? 1 : -1));
}

const waits = fc
  .integer({ min: 1, max: 30 })
  .map((ms) => command(`advance(${ms})`, (_model, { clock }) => clock.advance({ ms })));

it("does what the model does", async () => {
  const database = sqlite.open();
  await fc.assert(
    fc.asyncProperty(
      fc.commands([creates, replaces, gets, lists, waits], { maxCommands: 60, size: "max" }),
      async (commands) => {
        await database.write(() => database.prepare("DELETE FROM tasks").run());
        const clock = createVirtualClock();
        const store = createSqliteTaskStore({ database, parse: (json) => json as SampleItem, now: clock.nowMs });
        await fc.asyncModelRun(() => ({ model: { kept: new Map(), created: 0 }, real: { store, clock } }), commands);
      },
    ),
    { numRuns: 60 },
  );
});

/** Without fields that are undefined, as JSON keeps it. */
function plain(item: SampleItem): SampleItem {
  return JSON.parse(JSON.stringify(item));
}
