import { describe, expect, it } from "@jest/globals";
import type { TaskItem } from "@sekisho/runtime/engine/ports.ts";
import {
  absent,
  changeRecord,
  createRecordMemory,
  withMemory,
} from "@sekisho/runtime/engine/records.ts";
import { createVirtualClock } from "../../tables/clock.ts";
import { taskStoreCases } from "../../tables/task-store.ts";
import type { SampleItem } from "../../tables/task-store-case.ts";
import { createMemoryTaskStore } from "../../world/records.ts";

type Counter = TaskItem & { count: number };
const id = "counter";
const none = (): Counter => ({ id, revision: 1, state: "counter", expiresAtMs: 1000, count: 0 });
const increment = (item: Counter) => ({
  item: { ...item, count: item.count + 1 },
  result: item.count + 1,
});
const createStore = () =>
  createMemoryTaskStore<Counter>({ now: () => 0, parse: (json) => json as Counter });

describe("a change of a record", () => {
  it("writes nothing if the record does not change", async () => {
    const store = createStore();
    expect(
      await changeRecord({ store, id, none, decide: (item) => ({ item, result: "same" }) }),
    ).toBe("same");
    expect(await store.get({ id })).toBeUndefined();
  });

  it("gives up after fifty refused writes", async () => {
    let writes = 0;
    const refuse = async () => {
      writes += 1;
      return undefined;
    };
    const store = { ...createStore(), create: refuse };
    const exhausted = () => new Error("exhausted");
    await expect(changeRecord({ store, id, none, decide: increment, exhausted })).rejects.toThrow(
      "exhausted",
    );
    expect(writes).toBe(50);
  });
});

/** A store that notes which of its methods are called. */
function watchedStore() {
  const store = createStore();
  const calls: string[] = [];
  const watch =
    <R, T>(name: string, method: (request: R) => Promise<T>) =>
    (request: R) => {
      calls.push(name);
      return method(request);
    };
  const observedStore = {
    get: watch("get", store.get),
    create: watch("create", store.create),
    replace: watch("replace", store.replace),
  };
  return { store, watched: observedStore, calls };
}

describe("a guess of what the record is", () => {
  it("skips the read when the guess is right", async () => {
    const { store, watched, calls } = watchedStore();
    await changeRecord({ store: watched, id, none, guess: absent, decide: increment });
    const guess = await store.get({ id });
    await changeRecord({ store: watched, id, none, guess, decide: increment });
    expect(calls).toEqual(["create", "replace"]);
    expect(await store.get({ id })).toMatchObject({ count: 2, revision: 2 });
  });

  it("reads and writes again when the guess is wrong", async () => {
    const { store, watched, calls } = watchedStore();
    const stale = await store.create({ item: none() });
    await changeRecord({ store, id, none, decide: increment });
    expect(await changeRecord({ store: watched, id, none, guess: absent, decide: increment })).toBe(
      2,
    );
    expect(await changeRecord({ store: watched, id, none, guess: stale, decide: increment })).toBe(
      3,
    );
    expect(calls).toEqual(["create", "get", "replace", "replace", "get", "replace"]);
    expect(await store.get({ id })).toMatchObject({ count: 3 });
  });

  it("reads the record instead of the guess when nothing is to be written", async () => {
    const { store, watched, calls } = watchedStore();
    const stale = await store.create({ item: none() });
    await changeRecord({ store, id, none, decide: increment });
    const decide = (item: Counter) => ({ item, result: item.count });
    expect(await changeRecord({ store: watched, id, none, guess: stale, decide })).toBe(1);
    expect(calls).toEqual(["get"]);
  });
});

describe("the memory of records", () => {
  it("remembers the latest thousand records as last read or written", async () => {
    const memory = createRecordMemory<Counter>();
    const store = withMemory(createStore(), memory);
    expect(memory.recall(id)).toBeUndefined();
    const newItem = await store.create({ item: none() });
    expect(memory.recall(id)).toEqual(newItem);
    await store.replace({ item: { ...none(), count: 7 } });
    await store.replace({ item: { ...none(), count: 8 } });
    expect(memory.recall(id)).toMatchObject({ count: 7, revision: 2 });
    for (let n = 0; n < 999; n++) memory.note({ ...none(), id: `other ${n}` });
    expect(memory.recall(id)).toBeDefined();
    memory.note({ ...none(), id: "the thousandth" });
    expect(memory.recall(id)).toBeUndefined();
    await store.get({ id });
    expect(memory.recall(id)).toMatchObject({ count: 7, revision: 2 });
  });
});

describe("the memory task store", () => {
  it.each(taskStoreCases)("$name", async ({ run }) => {
    const clock = createVirtualClock();
    const store = createMemoryTaskStore({ parse: (json) => json as SampleItem, now: clock.nowMs });
    // It lives in one process: a second client has the same object.
    await run({ store, openAgain: async () => store, clock });
  });
});
