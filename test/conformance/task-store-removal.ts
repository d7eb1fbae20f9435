/** The cases of erased items that every task store must pass. */
import { expect } from "@jest/globals";
import { createdIn, idsOf, type StoreCase, sample } from "./task-store-case.ts";

export const removalCases: readonly StoreCase[] = [
  {
    name: "what is removed is in no listing, and its id can be created again",
    run: async ({ store, openAgain, clock }) => {
      const { revision } = await createdIn(store, { ...sample(clock), listedAtMs: 1, text: "old" });
      expect(await store.remove({ id: "a", revision })).toBe(true);
      expect(await (await openAgain()).get({ id: "a" })).toBeUndefined();
      for (const [index, key] of [
        ["thread", "t"],
        ["principal", "p"],
        ["state", "new"],
      ] as const) {
        expect(await idsOf(store, index, key)).toEqual([]);
      }
      expect(await store.create({ item: { ...sample(clock), text: "new" } })).toMatchObject({ revision: 1 });
      expect(await store.get({ id: "a" })).toMatchObject({ text: "new" });
    },
  },
  {
    name: "an item that was changed since it was read is not removed",
    run: async ({ store, clock }) => {
      const created = await createdIn(store, sample(clock));
      const replaced = await store.replace({ item: { ...created, text: "new" } });
      expect(await store.remove({ id: "a", revision: created.revision })).toBe(false);
      expect(await store.remove({ id: "a", revision: 3 })).toBe(false);
      expect(await store.get({ id: "a" })).toEqual(replaced);
      expect(await store.remove({ id: "a", revision: 2 })).toBe(true);
    },
  },
  {
    name: "removing what is not there, or has expired, is no failure, and a replace does not bring it back",
    run: async ({ store, clock }) => {
      expect(await store.remove({ id: "nobody", revision: 1 })).toBe(true);
      const created = await createdIn(store, sample(clock));
      expect(await store.remove({ id: "a", revision: 1 })).toBe(true);
      expect(await store.remove({ id: "a", revision: 1 })).toBe(true);
      expect(await store.replace({ item: created })).toBeUndefined();
      await store.create({ item: { ...sample(clock), id: "b", expiresAtMs: clock.nowMs() + 1000 } });
      await clock.advance({ ms: 2000 });
      expect(await store.remove({ id: "b", revision: 7 })).toBe(true);
      expect(await store.get({ id: "b" })).toBeUndefined();
    },
  },
  {
    name: "other items stay, and a listing that is under way goes on behind what was removed",
    run: async ({ store, clock }) => {
      for (const id of ["a", "b", "c"]) await store.create({ item: { ...sample(clock), id } });
      const { cursor = "" } = await store.list({ index: "thread", key: "t", limit: 1 });
      expect(await store.remove({ id: "a", revision: 1 })).toBe(true);
      const { items } = await store.list({ index: "thread", key: "t", cursor, limit: 9 });
      expect(items.map(({ id }) => id)).toEqual(["b", "c"]);
    },
  },
];
