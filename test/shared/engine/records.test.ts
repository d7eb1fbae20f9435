import { describe, expect, it } from "@jest/globals";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import type { TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import { changeRecord } from "../../../lambdas/shared/engine/records.ts";
import { createVirtualClock } from "../../conformance/clock.ts";
import { taskStoreCases } from "../../conformance/task-store.ts";
import type { SampleItem } from "../../conformance/task-store-case.ts";

type Counter = TaskItem & { count: number };
const id = "counter";
const none = (): Counter => ({ id, revision: 1, state: "counter", expiresAtMs: 1000, count: 0 });
const increment = (item: Counter) => ({ item: { ...item, count: item.count + 1 }, result: item.count + 1 });
const createStore = () => createMemoryTaskStore<Counter>({ now: () => 0, parse: (json) => json as Counter });

describe("a change of a record", () => {
  it("is made once by each of many writers", async () => {
    const store = createStore();
    const results = await Promise.all(
      Array.from({ length: 20 }, () => changeRecord({ store, id, none, decide: async (item) => increment(item) })),
    );
    expect(new Set(results).size).toBe(20);
    expect(await store.get({ id })).toMatchObject({ count: 20 });
  });

  it("writes nothing if the record stays as it is", async () => {
    const store = createStore();
    expect(await changeRecord({ store, id, none, decide: (item) => ({ item, result: "same" }) })).toBe("same");
    expect(await store.get({ id })).toBeUndefined();
  });

  it("ends if every write is refused", async () => {
    let writes = 0;
    const refuse = async () => {
      writes += 1;
      return undefined;
    };
    const store = { ...createStore(), create: refuse };
    const exhausted = () => new Error("exhausted");
    await expect(changeRecord({ store, id, none, decide: increment, exhausted })).rejects.toThrow("exhausted");
    expect(writes).toBe(50);
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
