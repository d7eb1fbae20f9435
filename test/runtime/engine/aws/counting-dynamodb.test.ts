/** The double of the load run keeps what DynamoDB promises, and counts capacity as DynamoDB documents it. */
import { describe, expect, it } from "@jest/globals";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import { type CapacityUse, openCountingDynamoDb } from "../../../doubles/aws/counting-dynamodb.ts";
import { createVirtualClock } from "../../../tables/clock.ts";
import { taskStoreCases } from "../../../tables/task-store.ts";
import { type SampleItem, type StoreCase, sample } from "../../../tables/task-store-case.ts";

const parse = (json: unknown) => json as SampleItem;

describe("DynamoDB in memory", () => {
  it.each<StoreCase>(taskStoreCases)("$name", async ({ run }) => {
    const clock = createVirtualClock();
    const { client, close } = openCountingDynamoDb({ hasPrincipals: true });
    const open = () =>
      createDynamoTaskStore({
        client,
        table: "t",
        parse,
        hasPrincipals: true,
        bucketOf: toStateBucket,
        now: clock.nowMs,
      });
    await run({ store: open(), openAgain: async () => open(), clock });
    close();
  });
});

describe("the capacity that a call uses", () => {
  const clock = createVirtualClock();

  async function usesOf(
    act: (store: ReturnType<typeof createDynamoTaskStore<SampleItem>>) => Promise<unknown>,
  ) {
    const uses: CapacityUse[] = [];
    const { client, close } = openCountingDynamoDb({
      hasPrincipals: true,
      onUse: (use) => void uses.push(use),
    });
    await act(
      createDynamoTaskStore({
        client,
        table: "t",
        parse,
        bucketOf: toStateBucket,
        now: clock.nowMs,
      }),
    );
    close();
    return uses;
  }

  it("counts one write unit per KB, and one for each index that gets an entry", async () => {
    const text = "x".repeat(2000);
    const uses = await usesOf((store) =>
      store.create({ item: { ...sample(clock), listedAtMs: 1, text } }),
    );
    expect(uses).toEqual([
      { place: "table", key: "a", writes: 3, reads: 0 },
      { place: "by-shard", key: expect.stringMatching(/^open#\d+$/), writes: 1, reads: 0 },
      { place: "by-principal", key: "p", writes: 1, reads: 0 },
    ]);
  });

  it("counts two writes of an index when an entry moves, and none when it stays", async () => {
    const uses = await usesOf(async (store) => {
      const item = await store.create({ item: sample(clock) });
      const same = item && (await store.replace({ item: { ...item, count: 1 } }));
      if (same !== undefined) await store.replace({ item: { ...same, state: "done" } });
    });
    const places = uses.map(({ place, key }) => `${place} ${key.split("#")[0]}`);
    const [newItem, nextItem, movedItem] = [
      ["table a", "by-shard open"],
      ["table a"],
      ["table a", "by-shard open", "by-shard done"],
    ];
    expect(places).toEqual([newItem, nextItem, movedItem].flat());
  });

  it("counts no index write for an item that nobody lists by state", async () => {
    const uses = await usesOf(async (store) => {
      const item = await store.create({ item: { ...sample(clock), state: "working" } });
      if (item !== undefined) await store.replace({ item: { ...item, state: "completed" } });
    });
    expect(uses.map(({ place }) => place)).toEqual(["table", "table"]);
  });

  it("counts the items of a transaction twice, and also counts refused writes", async () => {
    const item = { ...sample(clock), listedAtMs: undefined };
    const together = await usesOf((store) =>
      store.writeTogether({ writes: [{ type: "create", item }] }),
    );
    expect(together[0]).toEqual({ place: "table", key: "a", writes: 2, reads: 0 });
    const refusal = await usesOf((store) => store.replace({ item }));
    expect(refusal).toEqual([{ place: "table", key: "a", writes: 1, reads: 0 }]);
  });

  it("counts one read unit of a scan for each 4 KB of the whole table", async () => {
    const uses = await usesOf(async (store) => {
      for (const id of ["a", "b", "c", "d"])
        await store.create({ item: { ...sample(clock), id, text: "x".repeat(2500) } });
      await store.scan({});
    });
    expect(uses.filter(({ reads }) => reads > 0)).toEqual([
      { place: "table", key: "scan", writes: 0, reads: 3 },
    ]);
  });

  it("counts one read unit for each 4 KB of an item", async () => {
    const uses = await usesOf(async (store) => {
      await store.create({ item: { ...sample(clock), text: "x".repeat(5000) } });
      await store.get({ id: "a" });
      await store.get({ id: "b" });
    });
    expect(uses.filter(({ reads }) => reads > 0).map(({ key, reads }) => [key, reads])).toEqual([
      ["a", 2],
      ["b", 1],
    ]);
  });
});
