/** The cases of the listings of every task store: order, pages and membership. */
import { expect } from "@jest/globals";
import { createdIn, idsOf, type StoreCase, sample } from "./task-store-case.ts";

export const listingCases: readonly StoreCase[] = [
  {
    name: "a listing shows the items of one key, oldest first, whatever was replaced since",
    run: async ({ store, clock }) => {
      for (const id of ["c", "a", "d", "b"]) await store.create({ item: { ...sample(clock), id } });
      await store.create({ item: { ...sample(clock), id: "other", thread: "u", state: "old" } });
      const item = await store.get({ id: "c" });
      if (item !== undefined) await store.replace({ item: { ...item, text: "new" } });
      for (const [index, key] of [
        ["thread", "t"],
        ["state", "new"],
      ] as const) {
        const { items, cursor } = await store.list({ index, key, limit: 10 });
        expect(items.map(({ id }) => id)).toEqual(["c", "a", "d", "b"]);
        expect(cursor).toBeUndefined();
      }
    },
  },
  {
    name: "an item moves from one key to another with its replace",
    run: async ({ store, clock }) => {
      const created = await createdIn(store, { ...sample(clock), listedAtMs: 1 });
      expect(await idsOf(store, "principal", "p")).toEqual(["a"]);
      const replaced = await store.replace({ item: { ...created, state: "done", principal: undefined } });
      expect(replaced?.state).toBe("done");
      expect(await idsOf(store, "state", "new")).toEqual([]);
      expect(await idsOf(store, "state", "done")).toEqual(["a"]);
      expect(await idsOf(store, "principal", "p")).toEqual([]);
      expect(await idsOf(store, "thread", "t")).toEqual(["a"]);
    },
  },
  {
    name: "an item without an index key is in no listing of that index",
    run: async ({ store, clock }) => {
      const { thread, principal, ...item } = sample(clock);
      await store.create({ item });
      for (const key of ["", "undefined", "null"]) expect(await idsOf(store, "thread", key)).toEqual([]);
      expect(await idsOf(store, "state", "new")).toEqual(["a"]);
    },
  },
  {
    name: "the listing of a principal shows what has a time in it, newest first, whatever was created first",
    run: async ({ store, clock }) => {
      const timesMs = { late: 1_762_750_300_000, early: 999, latest: 1_762_750_300_001, first: 0 };
      for (const [id, listedAtMs] of Object.entries(timesMs)) {
        await store.create({ item: { ...sample(clock), id, listedAtMs } });
      }
      await store.create({ item: { ...sample(clock), id: "without a time" } });
      await store.create({ item: { ...sample(clock), id: "of nobody", principal: undefined, listedAtMs: 5 } });
      await store.create({ item: { ...sample(clock), id: "of another", principal: "q", listedAtMs: 5 } });
      expect(await idsOf(store, "principal", "p")).toEqual(["latest", "late", "early", "first"]);
      expect(await idsOf(store, "principal", "q")).toEqual(["of another"]);
    },
  },
  {
    name: "a replace moves an item to where its new time belongs, into the listing of its principal and out of it",
    run: async ({ store, clock }) => {
      for (const id of ["c", "b"]) await store.create({ item: { ...sample(clock), id, listedAtMs: 10 } });
      let item = await createdIn(store, sample(clock));
      const listingAfter = async (change: { listedAtMs?: number | undefined; text?: string }) => {
        item = (await store.replace({ item: { ...item, ...change } })) ?? item;
        return idsOf(store, "principal", "p");
      };
      expect(await listingAfter({ listedAtMs: 9 })).toEqual(["c", "b", "a"]);
      expect(await listingAfter({ listedAtMs: 11 })).toEqual(["a", "c", "b"]);
      expect(await listingAfter({ text: "new" })).toEqual(["a", "c", "b"]);
      expect(await listingAfter({ listedAtMs: undefined })).toEqual(["c", "b"]);
    },
  },
  {
    name: "pages of a principal follow each other without gap or repetition, also where all times are the same",
    run: async ({ store, clock }) => {
      for (const id of ["b", "e", "a", "f", "d", "c"]) {
        await store.create({ item: { ...sample(clock), id, listedAtMs: id < "e" ? 20 : 30 } });
      }
      const { items, cursor = "" } = await store.list({ index: "principal", key: "p", limit: 3 });
      expect(items.map(({ id }) => id)).toEqual(["f", "e", "d"]);
      // A newer item belongs before the page that was read. The item of the cursor may disappear or move.
      await store.create({ item: { ...sample(clock), id: "later", listedAtMs: 40 } });
      for (const item of items)
        await store.replace({ item: { ...item, listedAtMs: item.id === "e" ? undefined : 50 } });
      const rest = await store.list({ index: "principal", key: "p", cursor, limit: 3 });
      expect(rest.items.map(({ id }) => id)).toEqual(["c", "b", "a"]);
      expect(rest.cursor).toBeUndefined();
    },
  },
  {
    name: "pages follow each other without gap or repetition while items are added",
    run: async ({ store, clock }) => {
      const ids = Array.from({ length: 7 }, (_, number) => `item ${number}`);
      for (const id of ids) await store.create({ item: { ...sample(clock), id } });
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({ index: "thread", key: "t", limit: 3, ...(cursor ? { cursor } : {}) });
        expect(page.items.length).toBeLessThanOrEqual(3);
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.cursor;
        if (cursor !== undefined && ids.length < 10) {
          const id = `late ${ids.length}`;
          ids.push(id);
          await store.create({ item: { ...sample(clock), id } });
        }
      } while (cursor !== undefined);
      expect(seen).toEqual(ids);
    },
  },
  {
    name: "a cursor stays good when all that it had seen has expired and others came",
    run: async ({ store, clock }) => {
      const expiresAtMs = clock.nowMs() + 2000;
      for (const id of ["a", "b"]) await store.create({ item: { ...sample(clock), id, expiresAtMs } });
      const { cursor = "" } = await store.list({ index: "thread", key: "t", limit: 1 });
      await clock.advance({ ms: 3000 });
      for (const id of ["c", "d"]) await store.create({ item: { ...sample(clock), id } });
      const { items } = await store.list({ index: "thread", key: "t", cursor, limit: 9 });
      expect(items.map(({ id }) => id)).toEqual(["c", "d"]);
    },
  },
];
