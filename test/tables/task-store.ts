/** The cases that the task store of every engine must pass, with an empty store. */
import { expect } from "@jest/globals";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import {
  createdIn,
  hourMs,
  idsOf,
  type SampleItem,
  type StoreCase,
  sample,
} from "./task-store-case.ts";

const listingCases: readonly StoreCase[] = [
  {
    name: "lists the items of one key from the oldest, even after replacements",
    run: async ({ store, clock }) => {
      for (const id of ["c", "a", "d", "b"]) await store.create({ item: { ...sample(clock), id } });
      await store.create({ item: { ...sample(clock), id: "other", thread: "u", state: "old" } });
      const item = await store.get({ id: "c" });
      if (item !== undefined) await store.replace({ item: { ...item, text: "new" } });
      for (const [index, key] of [
        ["thread", "t"],
        ["state", "waiting"],
      ] as const) {
        const { items, cursor } = await store.list({ index, key, limit: 10 });
        expect(items.map(({ id }) => id)).toEqual(["c", "a", "d", "b"]);
        expect(cursor).toBeUndefined();
      }
    },
  },
  {
    name: "moves an item to another index key with its replacement",
    run: async ({ store, clock }) => {
      const newItem = await createdIn(store, { ...sample(clock), listedAtMs: 1 });
      expect(await idsOf(store, "principal", "p")).toEqual(["a"]);
      const nextItem = await store.replace({
        item: { ...newItem, state: "done", principal: undefined },
      });
      expect(nextItem?.state).toBe("done");
      expect(await idsOf(store, "state", "waiting")).toEqual([]);
      expect(await idsOf(store, "state", "done")).toEqual(["a"]);
      expect(await idsOf(store, "principal", "p")).toEqual([]);
      expect(await idsOf(store, "thread", "t")).toEqual(["a"]);
    },
  },
  {
    name: "leaves an item without an index key out of the listings of that index",
    run: async ({ store, clock }) => {
      const { thread, principal, ...item } = sample(clock);
      await store.create({ item });
      for (const key of ["", "undefined", "null"])
        expect(await idsOf(store, "thread", key)).toEqual([]);
      expect(await idsOf(store, "state", "waiting")).toEqual(["a"]);
    },
  },
  {
    name: "lists a principal's items by their time from the newest, not in the order of creation",
    run: async ({ store, clock }) => {
      const timesMs = { late: 1_762_750_300_000, early: 999, latest: 1_762_750_300_001, first: 0 };
      for (const [id, listedAtMs] of Object.entries(timesMs)) {
        await store.create({ item: { ...sample(clock), id, listedAtMs } });
      }
      await store.create({ item: { ...sample(clock), id: "without a time" } });
      await store.create({
        item: { ...sample(clock), id: "of nobody", principal: undefined, listedAtMs: 5 },
      });
      await store.create({
        item: { ...sample(clock), id: "of another", principal: "q", listedAtMs: 5 },
      });
      expect(await idsOf(store, "principal", "p")).toEqual(["latest", "late", "early", "first"]);
      expect(await idsOf(store, "principal", "q")).toEqual(["of another"]);
    },
  },
  {
    name: "moves a replaced item within, into and out of its principal's listing by its new time",
    run: async ({ store, clock }) => {
      for (const id of ["c", "b"])
        await store.create({ item: { ...sample(clock), id, listedAtMs: 10 } });
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
    name: "pages through a principal's items without gap or repetition, even if all times are equal",
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
    name: "pages through a listing without gap or repetition while items are added",
    run: async ({ store, clock }) => {
      const ids = Array.from({ length: 7 }, (_, number) => `item ${number}`);
      for (const id of ids) await store.create({ item: { ...sample(clock), id } });
      const seenIds: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.list({
          index: "thread",
          key: "t",
          limit: 3,
          ...(cursor ? { cursor } : {}),
        });
        expect(page.items.length).toBeLessThanOrEqual(3);
        seenIds.push(...page.items.map(({ id }) => id));
        cursor = page.cursor;
        if (cursor !== undefined && ids.length < 10) {
          const id = `late ${ids.length}`;
          ids.push(id);
          await store.create({ item: { ...sample(clock), id } });
        }
      } while (cursor !== undefined);
      expect(seenIds).toEqual(ids);
    },
  },
  {
    name: "refuses a cursor of another listing",
    run: async ({ store }) => {
      for (const index of ["state", "principal"] as const)
        for (const cursor of ["", "x", "1 OR 1=1", "00001762750300000.0000000001.x"])
          await expect(store.list({ index, key: "new", limit: 1, cursor })).rejects.toThrow(
            RangeError,
          );
    },
  },
  {
    name: "continues from a cursor after all items before it have expired and others were added",
    run: async ({ store, clock }) => {
      const expiresAtMs = clock.nowMs() + 2000;
      for (const id of ["a", "b"])
        await store.create({ item: { ...sample(clock), id, expiresAtMs } });
      const { cursor = "" } = await store.list({ index: "thread", key: "t", limit: 1 });
      await clock.advance({ ms: 3000 });
      for (const id of ["c", "d"]) await store.create({ item: { ...sample(clock), id } });
      const { items } = await store.list({ index: "thread", key: "t", cursor, limit: 9 });
      expect(items.map(({ id }) => id)).toEqual(["c", "d"]);
    },
  },
  {
    name: "scans every unexpired item, even one that changes meanwhile",
    run: async ({ store, clock }) => {
      // More than one page of any engine, by number and by size.
      const ids = Array.from({ length: 150 }, (_, number) => `item ${number}`);
      for (const id of ids)
        await store.create({ item: { ...sample(clock), id, text: "x".repeat(10_000) } });
      await store.create({
        item: { ...sample(clock), id: "expired", expiresAtMs: clock.nowMs() + 1000 },
      });
      await clock.advance({ ms: 2000 });
      const first = await store.scan({});
      for (const id of ids) {
        const item = await store.get({ id });
        if (item !== undefined)
          await store.replace({ item: { ...item, state: "done", thread: "u" } });
      }
      const seen = first.items.map(({ id }) => id);
      for (let { cursor } = first; cursor !== undefined; ) {
        const page = await store.scan({ cursor });
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.cursor;
      }
      expect(seen.toSorted()).toEqual(ids.toSorted());
    },
  },
];

const removalCases: readonly StoreCase[] = [
  {
    name: "removes an item from all listings, and allows its id to be created again",
    run: async ({ store, openAgain, clock }) => {
      const { revision } = await createdIn(store, { ...sample(clock), listedAtMs: 1, text: "old" });
      expect(await store.remove({ id: "a", revision })).toBe(true);
      expect(await (await openAgain()).get({ id: "a" })).toBeUndefined();
      for (const [index, key] of [
        ["thread", "t"],
        ["principal", "p"],
        ["state", "waiting"],
      ] as const) {
        expect(await idsOf(store, index, key)).toEqual([]);
      }
      expect(await store.create({ item: { ...sample(clock), text: "new" } })).toMatchObject({
        revision: 1,
      });
      expect(await store.get({ id: "a" })).toMatchObject({ text: "new" });
    },
  },
  {
    name: "keeps an item that changed between the read and the removal",
    run: async ({ store, clock }) => {
      const newItem = await createdIn(store, sample(clock));
      const nextItem = await store.replace({ item: { ...newItem, text: "new" } });
      expect(await store.remove({ id: "a", revision: newItem.revision })).toBe(false);
      expect(await store.remove({ id: "a", revision: 3 })).toBe(false);
      expect(await store.get({ id: "a" })).toEqual(nextItem);
      expect(await store.remove({ id: "a", revision: 2 })).toBe(true);
    },
  },
  {
    name: "removes a missing or expired item without an error, and never revives it by a replacement",
    run: async ({ store, clock }) => {
      expect(await store.remove({ id: "nobody", revision: 1 })).toBe(true);
      const newItem = await createdIn(store, sample(clock));
      expect(await store.remove({ id: "a", revision: 1 })).toBe(true);
      expect(await store.remove({ id: "a", revision: 1 })).toBe(true);
      expect(await store.replace({ item: newItem })).toBeUndefined();
      await store.create({
        item: { ...sample(clock), id: "b", expiresAtMs: clock.nowMs() + 1000 },
      });
      await clock.advance({ ms: 1000 });
      expect(await store.remove({ id: "b", revision: 7 })).toBe(true);
      expect(await store.get({ id: "b" })).toBeUndefined();
    },
  },
  {
    name: "keeps other items on a removal, and continues an open listing after the removed item",
    run: async ({ store, clock }) => {
      for (const id of ["a", "b", "c"]) await store.create({ item: { ...sample(clock), id } });
      const { cursor = "" } = await store.list({ index: "thread", key: "t", limit: 1 });
      expect(await store.remove({ id: "a", revision: 1 })).toBe(true);
      const { items } = await store.list({ index: "thread", key: "t", cursor, limit: 9 });
      expect(items.map(({ id }) => id)).toEqual(["b", "c"]);
    },
  },
];

const togetherCases: readonly StoreCase[] = [
  {
    name: "writes several items together as if each had been written by itself",
    run: async ({ store, openAgain, clock }) => {
      const first = await createdIn(store, sample(clock));
      const made = { ...sample(clock), id: "b", revision: 5, thread: "u", state: "made" };
      const changedItem: SampleItem = { ...first, text: "new", state: "done", thread: undefined };
      const isWritten = await store.writeTogether({
        writes: [
          { type: "create", item: made },
          { type: "replace", item: changedItem },
        ],
      });
      expect(isWritten).toBe(true);
      const { thread, ...rest } = first;
      const other = await openAgain();
      expect(await other.get({ id: "a" })).toEqual({
        ...rest,
        text: "new",
        state: "done",
        revision: 2,
      });
      expect(await other.get({ id: "b" })).toEqual({ ...made, revision: 1 });
      expect(await idsOf(store, "state", "waiting")).toEqual([]);
      expect(await idsOf(store, "state", "made")).toEqual(["b"]);
      expect(await idsOf(store, "thread", "t")).toEqual([]);
      expect(await store.replace({ item: { ...made, revision: 1 } })).toMatchObject({
        revision: 2,
      });
    },
  },
  {
    name: "checks the condition of each item of a joint write, and reports one that fails",
    run: async ({ store, clock }) => {
      const newItem = await createdIn(store, sample(clock));
      const nextItem = await store.replace({ item: newItem });
      const second: SampleItem = { ...sample(clock), text: "second" };
      for (const refusal of [
        { type: "create", item: second },
        { type: "replace", item: newItem },
        { type: "replace", item: { ...second, id: "nobody" } },
      ] as const) {
        const another = { ...second, id: "b" };
        expect(
          await store.writeTogether({ writes: [refusal, { type: "create", item: another }] }),
        ).toBe(false);
        expect(await store.get({ id: "a" })).toEqual(nextItem);
        expect(await store.get({ id: "nobody" })).toBeUndefined();
      }
    },
  },
  {
    name: "treats an expired item as absent in a joint write",
    run: async ({ store, clock }) => {
      const short = { ...sample(clock), expiresAtMs: clock.nowMs() + 1000 };
      const [gone, renewed] = [
        await createdIn(store, { ...short, id: "c" }),
        await createdIn(store, short),
      ];
      await clock.advance({ ms: 2000 });
      const prolonged = { ...gone, expiresAtMs: clock.nowMs() + hourMs };
      expect(await store.writeTogether({ writes: [{ type: "replace", item: prolonged }] })).toBe(
        false,
      );
      const anew = { ...renewed, expiresAtMs: clock.nowMs() + hourMs, text: "new" };
      expect(await store.writeTogether({ writes: [{ type: "create", item: anew }] })).toBe(true);
      expect(await store.get({ id: "a" })).toMatchObject({ text: "new", revision: 1 });
    },
  },
  {
    name: "rejects an item that cannot be written as an ItemError, also among several",
    run: async ({ store, clock }) => {
      const item: SampleItem = { ...sample(clock) };
      Object.assign(item, { text: item });
      const rejections = [
        store.create({ item }).catch((error: unknown) => error),
        store
          .writeTogether({ writes: [{ type: "create", item }] })
          .catch((error: unknown) => error),
      ];
      for (const error of rejections) expect(await error).toMatchObject({ name: "ItemError" });
    },
  },
  {
    name: "lets exactly one of twenty concurrent joint writes of the same item succeed",
    run: async ({ store, openAgain, clock }) => {
      const other = await openAgain();
      const newItem = await createdIn(store, sample(clock));
      const tries = Array.from({ length: 20 }, (_, count) => {
        const changedItem: SampleItem = { ...newItem, count };
        const made: SampleItem = { ...sample(clock), id: `made by ${count}` };
        return (count % 2 === 0 ? store : other).writeTogether({
          writes: [
            { type: "replace", item: changedItem },
            { type: "create", item: made },
          ],
        });
      });
      const won = (await Promise.all(tries)).flatMap((isWritten, count) =>
        isWritten ? [count] : [],
      );
      expect(won).toHaveLength(1);
      expect(await store.get({ id: "a" })).toMatchObject({ revision: 2, count: won[0] });
      expect(await store.get({ id: `made by ${won[0]}` })).toBeDefined();
    },
  },
];

export const taskStoreCases: readonly StoreCase[] = [
  {
    name: "returns an item as it was stored, with revision 1",
    run: async ({ store, clock }) => {
      const item = {
        ...sample(clock),
        revision: 7,
        text: "関所 🏯 \u0000 ' \" \n",
        thread: undefined,
      };
      const { thread, ...stored } = { ...item, revision: 1 };
      expect(await store.create({ item })).toMatchObject(stored);
      expect(await store.get({ id: item.id })).toEqual(stored);
    },
  },
  {
    name: "lets exactly one of fifty concurrent creations of an id succeed, and stores its item",
    run: async ({ store, openAgain, clock }) => {
      const other = await openAgain();
      const tries = Array.from({ length: 50 }, (_, count) =>
        (count % 2 === 0 ? store : other).create({ item: { ...sample(clock), count } }),
      );
      const winners = (await Promise.all(tries)).filter((newItem) => newItem !== undefined);
      expect(winners).toHaveLength(1);
      expect(await store.get({ id: "a" })).toEqual(winners[0]);
    },
  },
  {
    name: "replaces an item under the next revision, and changes nothing given a stale or future revision",
    run: async ({ store, clock }) => {
      const newItem = await createdIn(store, sample(clock));
      const nextItem = await store.replace({ item: { ...newItem, text: "new", state: "done" } });
      expect(nextItem).toMatchObject({ revision: 2, text: "new", state: "done" });
      expect(await store.replace({ item: { ...newItem, text: "stale" } })).toBeUndefined();
      expect(
        await store.replace({ item: { ...newItem, revision: 3, text: "future" } }),
      ).toBeUndefined();
      expect(await store.get({ id: "a" })).toEqual(nextItem);
    },
  },
  {
    name: "creates no item by a replacement",
    run: async ({ store, clock }) => {
      expect(await store.replace({ item: sample(clock) })).toBeUndefined();
      expect(await store.get({ id: "a" })).toBeUndefined();
    },
  },
  {
    name: "adds up concurrent increments by compare-and-set",
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
    name: "shows a write to another client at once",
    run: async ({ store, openAgain, clock }) => {
      const other = await openAgain();
      let item = await createdIn(store, sample(clock));
      for (let count = 1; count <= 20; count += 1) {
        const [writer, reader] = count % 2 === 0 ? [store, other] : [other, store];
        item = (await writer.replace({ item: { ...item, count } })) ?? item;
        expect(await reader.get({ id: "a" })).toMatchObject({ count });
        expect((await reader.list({ index: "state", key: "waiting", limit: 9 })).items).toEqual([
          item,
        ]);
      }
    },
  },
  {
    name: "does not store later changes of an object that was passed to it",
    run: async ({ store, clock }) => {
      const item = sample(clock);
      const creating = store.create({ item });
      item.text = "changed later";
      await creating;
      expect(await store.get({ id: "a" })).toMatchObject({ text: "" });
    },
  },
  {
    name: "keeps an item of 300 KiB unchanged",
    run: async ({ store, clock }) => {
      const text = "関".repeat(100 * 1024);
      await store.create({ item: { ...sample(clock), text } });
      expect((await store.get({ id: "a" }))?.text).toBe(text);
    },
  },
  {
    name: "treats an expired item as absent everywhere, and allows its id to be created again",
    run: async ({ store, clock }) => {
      const expiresAtMs = clock.nowMs() + 2000;
      const newItem = await createdIn(store, {
        ...sample(clock),
        listedAtMs: 1,
        expiresAtMs,
        text: "old",
      });
      expect(await store.get({ id: "a" })).toEqual(newItem);
      await clock.advance({ ms: 2000 });
      expect(await store.get({ id: "a" })).toBeUndefined();
      expect(await store.replace({ item: newItem })).toBeUndefined();
      expect(await store.list({ index: "thread", key: "t", limit: 9 })).toEqual({ items: [] });
      expect(await store.list({ index: "principal", key: "p", limit: 9 })).toEqual({ items: [] });
      expect(await store.create({ item: { ...sample(clock), text: "new" } })).toMatchObject({
        revision: 1,
      });
      expect(await store.get({ id: "a" })).toMatchObject({ revision: 1, text: "new" });
    },
  },
  {
    name: "creates any of many expired ids again",
    run: async ({ store, clock }) => {
      const ids = ["a", "b", "c", "d", "e", "f"];
      for (const [index, id] of ids.entries()) {
        await store.create({
          item: { ...sample(clock), id, expiresAtMs: clock.nowMs() + 1000 + index },
        });
      }
      await clock.advance({ ms: 2000 });
      for (const id of ids.toReversed()) {
        expect(await store.create({ item: { ...sample(clock), id } })).toMatchObject({
          id,
          revision: 1,
        });
      }
      expect(await idsOf(store, "thread", "t")).toEqual(ids.toReversed());
    },
  },
  {
    name: "extends an item's expiry by a replacement",
    run: async ({ store, clock }) => {
      const newItem = await createdIn(store, {
        ...sample(clock),
        expiresAtMs: clock.nowMs() + 2000,
      });
      await store.replace({ item: { ...newItem, expiresAtMs: clock.nowMs() + hourMs } });
      await clock.advance({ ms: 3000 });
      expect(await store.get({ id: "a" })).toMatchObject({ revision: 2 });
    },
  },
  ...listingCases,
  ...removalCases,
  ...togetherCases,
];

async function increment(store: TaskStore<SampleItem>): Promise<void> {
  for (;;) {
    const item = await store.get({ id: "a" });
    if (item === undefined) throw new Error("the item is gone");
    if ((await store.replace({ item: { ...item, count: item.count + 1 } })) !== undefined) return;
  }
}
