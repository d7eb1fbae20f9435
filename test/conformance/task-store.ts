/** The cases that the task store of every engine must pass, with an empty store. */
import { expect } from "@jest/globals";
import type { TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { createdIn, hourMs, idsOf, type SampleItem, type StoreCase, sample } from "./task-store-case.ts";
import { listingCases } from "./task-store-listings.ts";
import { removalCases } from "./task-store-removal.ts";

export const taskStoreCases: readonly StoreCase[] = [
  {
    name: "nothing is found under an id that was never stored",
    run: async ({ store }) => {
      expect(await store.get({ id: "nobody" })).toBeUndefined();
    },
  },
  {
    name: "an item comes back as it was stored, as revision 1",
    run: async ({ store, clock }) => {
      const item = { ...sample(clock), revision: 7, text: "関所 🏯 \u0000 ' \" \n", thread: undefined };
      const { thread, ...stored } = { ...item, revision: 1 };
      expect(await store.create({ item })).toMatchObject(stored);
      expect(await store.get({ id: item.id })).toEqual(stored);
    },
  },
  {
    name: "an id is created once, and the first item stays",
    run: async ({ store, clock }) => {
      await store.create({ item: { ...sample(clock), text: "first" } });
      expect(await store.create({ item: { ...sample(clock), text: "second" } })).toBeUndefined();
      expect(await store.get({ id: "a" })).toMatchObject({ revision: 1, text: "first" });
    },
  },
  {
    name: "of fifty callers that create the same id at once one wins, and what it wrote is stored",
    run: async ({ store, openAgain, clock }) => {
      const other = await openAgain();
      const tries = Array.from({ length: 50 }, (_, count) =>
        (count % 2 === 0 ? store : other).create({ item: { ...sample(clock), count } }),
      );
      const winners = (await Promise.all(tries)).filter((created) => created !== undefined);
      expect(winners).toHaveLength(1);
      expect(await store.get({ id: "a" })).toEqual(winners[0]);
    },
  },
  {
    name: "a replace with the stored revision stores the item as the next one",
    run: async ({ store, clock }) => {
      const created = await createdIn(store, sample(clock));
      const replaced = await store.replace({ item: { ...created, text: "new", state: "done" } });
      expect(replaced).toMatchObject({ revision: 2, text: "new", state: "done" });
      expect(await store.get({ id: "a" })).toEqual(replaced);
    },
  },
  {
    name: "a replace with a stale or a future revision changes nothing",
    run: async ({ store, clock }) => {
      const created = await createdIn(store, sample(clock));
      const replaced = await store.replace({ item: { ...created, text: "new" } });
      expect(await store.replace({ item: { ...created, text: "stale" } })).toBeUndefined();
      expect(await store.replace({ item: { ...created, revision: 3, text: "future" } })).toBeUndefined();
      expect(await store.get({ id: "a" })).toEqual(replaced);
    },
  },
  {
    name: "a replace creates nothing",
    run: async ({ store, clock }) => {
      expect(await store.replace({ item: sample(clock) })).toBeUndefined();
      expect(await store.get({ id: "a" })).toBeUndefined();
    },
  },
  {
    name: "concurrent increments by compare-and-set sum up",
    run: async ({ store, openAgain, clock }) => {
      await store.create({ item: sample(clock) });
      const clients = [store, await openAgain()];
      await Promise.all(
        Array.from({ length: 8 }, async (_, caller) => {
          for (let step = 0; step < 5; step += 1) await increment(clients[caller % 2] ?? store);
        }),
      );
      expect(await store.get({ id: "a" })).toMatchObject({ count: 40, revision: 41 });
    },
  },
  {
    name: "what was written is read at once by another client",
    run: async ({ store, openAgain, clock }) => {
      const other = await openAgain();
      let item = await createdIn(store, sample(clock));
      for (let count = 1; count <= 20; count += 1) {
        const [writer, reader] = count % 2 === 0 ? [store, other] : [other, store];
        item = (await writer.replace({ item: { ...item, count } })) ?? item;
        expect(await reader.get({ id: "a" })).toMatchObject({ count });
        expect((await reader.list({ index: "state", key: "new", limit: 9 })).items).toEqual([item]);
      }
    },
  },
  {
    name: "what happens to an object after it was handed over is not stored",
    run: async ({ store, clock }) => {
      const item = sample(clock);
      const creating = store.create({ item });
      item.text = "changed later";
      await creating;
      expect(await store.get({ id: "a" })).toMatchObject({ text: "" });
    },
  },
  {
    name: "an item of 300 KiB is kept whole",
    run: async ({ store, clock }) => {
      const text = "関".repeat(100 * 1024);
      await store.create({ item: { ...sample(clock), text } });
      expect((await store.get({ id: "a" }))?.text).toBe(text);
    },
  },
  {
    name: "an expired item counts as absent everywhere, and its id can be created again",
    run: async ({ store, clock }) => {
      const expiresAtMs = clock.nowMs() + 2000;
      const created = await createdIn(store, { ...sample(clock), listedAtMs: 1, expiresAtMs, text: "old" });
      expect(await store.get({ id: "a" })).toEqual(created);
      await clock.advance({ ms: 2000 });
      expect(await store.get({ id: "a" })).toBeUndefined();
      expect(await store.replace({ item: created })).toBeUndefined();
      expect(await store.list({ index: "thread", key: "t", limit: 9 })).toEqual({ items: [] });
      expect(await store.list({ index: "principal", key: "p", limit: 9 })).toEqual({ items: [] });
      expect(await store.create({ item: { ...sample(clock), text: "new" } })).toMatchObject({ revision: 1 });
      expect(await store.get({ id: "a" })).toMatchObject({ revision: 1, text: "new" });
    },
  },
  {
    name: "of many expired ids any can be created again",
    run: async ({ store, clock }) => {
      const ids = ["a", "b", "c", "d", "e", "f"];
      for (const [index, id] of ids.entries()) {
        await store.create({ item: { ...sample(clock), id, expiresAtMs: clock.nowMs() + 1000 + index } });
      }
      await clock.advance({ ms: 2000 });
      for (const id of ids.toReversed()) {
        expect(await store.create({ item: { ...sample(clock), id } })).toMatchObject({ id, revision: 1 });
      }
      expect(await idsOf(store, "thread", "t")).toEqual(ids.toReversed());
    },
  },
  {
    name: "a replace can prolong an item's life",
    run: async ({ store, clock }) => {
      const created = await createdIn(store, { ...sample(clock), expiresAtMs: clock.nowMs() + 2000 });
      await store.replace({ item: { ...created, expiresAtMs: clock.nowMs() + hourMs } });
      await clock.advance({ ms: 3000 });
      expect(await store.get({ id: "a" })).toMatchObject({ revision: 2 });
    },
  },
  ...listingCases,
  ...removalCases,
];

async function increment(store: TaskStore<SampleItem>): Promise<void> {
  for (;;) {
    const item = await store.get({ id: "a" });
    if (item === undefined) throw new Error("the item is gone");
    if ((await store.replace({ item: { ...item, count: item.count + 1 } })) !== undefined) return;
  }
}
