/** What only a store behind a network meets: lost answers, indexes that lag, attributes that AWS itself acts upon. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type DynamoDb, openDynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { shardCount, toShardKey } from "@sekisho/runtime/engine/aws/table.ts";
import { createDynamoTaskStore, cursorAt } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { TaskItem } from "@sekisho/runtime/engine/ports.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import {
  type Emulator,
  emulatedAws,
  emulatorAccess,
  startDynamoDbEmulator,
  whyNoDynamoDb,
} from "../../../doubles/aws/emulators.ts";
import { createTaskTable } from "../../../doubles/aws/emulators-resources.ts";
import {
  connectionReset,
  type Received,
  startWebServer,
  type WebServer,
} from "../../../doubles/web-server.ts";

const describeWithDynamoDb = whyNoDynamoDb === undefined ? describe : describe.skip;
const leftOut = whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`;
const item: TaskItem = {
  id: "a",
  revision: 1,
  state: "new",
  thread: "t",
  expiresAtMs: 4_000_000_000_500,
};

describeWithDynamoDb(`the DynamoDB task store${leftOut}`, () => {
  let emulator: Emulator;
  /** Between the store and the emulator; what happens on the way is each test's own. */
  let way: WebServer;
  let onTheWay: (call: Received & { operation: string }) => Promise<Response>;
  let admin: DynamoDBClient;
  let direct: DynamoDb;
  let client: DynamoDb;
  let table: string;

  function forward({ request, body }: Received): Promise<Response> {
    const headers = { ...Object.fromEntries(request.headers) };
    for (const name of ["host", "connection", "content-length", "transfer-encoding"])
      delete headers[name];
    return fetch(emulator.endpoint, { method: "POST", headers, body });
  }

  type OpenOptions = {
    through: DynamoDb;
    parse?: (json: unknown) => TaskItem;
    hasPrincipals?: boolean;
  };

  function open({
    through,
    parse = (json) => json as TaskItem,
    hasPrincipals = true,
  }: OpenOptions) {
    return createDynamoTaskStore({
      client: through,
      table,
      parse,
      hasPrincipals,
      bucketOf: toStateBucket,
    });
  }

  beforeAll(async () => {
    emulator = await startDynamoDbEmulator();
    way = await startWebServer({
      handle: (call) => {
        const operation = call.request.headers.get("x-amz-target")?.split(".")[1] ?? "";
        return onTheWay({ ...call, operation });
      },
    });
    admin = new DynamoDBClient({ ...emulatorAccess, endpoint: emulator.endpoint });
    direct = openDynamoDb(emulatedAws(emulator.endpoint));
    client = openDynamoDb(emulatedAws(way.url));
  });
  afterAll(async () => {
    admin.destroy();
    await way.close();
    await emulator.close();
  });

  /** Stores what is written and loses the answer, once; `meanwhile` is what others do before the client tries again. */
  async function loseAnAnswer({
    of,
    meanwhile = async () => {},
  }: {
    of: string;
    meanwhile?: () => Promise<unknown>;
  }) {
    table = await createTaskTable({ client: admin });
    const tries = { count: 0 };
    onTheWay = async (call) => {
      const response = await forward(call);
      if (call.operation !== of) return response;
      tries.count += 1;
      if (tries.count > 1) return response;
      expect(response.status).toBe(200);
      await meanwhile();
      throw connectionReset;
    };
    return tries;
  }

  it("recognizes the item that it created itself when the answer was lost", async () => {
    const tries = await loseAnAnswer({ of: "PutItem" });
    expect(await open({ through: client }).create({ item })).toEqual(item);
    expect(tries.count).toBe(2);
    expect(await open({ through: direct }).create({ item })).toBeUndefined();
  });

  it("recognizes its own replace when the answer was lost", async () => {
    const tries = await loseAnAnswer({ of: "UpdateItem" });
    await open({ through: direct }).create({ item });
    expect(await open({ through: client }).replace({ item })).toEqual({ ...item, revision: 2 });
    expect(tries.count).toBe(2);
    expect(await open({ through: direct }).get({ id: "a" })).toEqual({ ...item, revision: 2 });
  });

  it("reports no success for a replacement that was overtaken before its retry", async () => {
    const overtake = () => open({ through: direct }).replace({ item: { ...item, revision: 2 } });
    await loseAnAnswer({ of: "UpdateItem", meanwhile: overtake });
    await open({ through: direct }).create({ item });
    expect(await open({ through: client }).replace({ item })).toBeUndefined();
    expect(await open({ through: direct }).get({ id: "a" })).toMatchObject({ revision: 3 });
  });

  it("recognizes its own transaction when the answer was lost", async () => {
    const tries = await loseAnAnswer({ of: "TransactWriteItems" });
    await open({ through: direct }).create({ item });
    const writes = [
      { type: "replace", item },
      { type: "create", item: { ...item, id: "b" } },
    ] as const;
    expect(await open({ through: client }).writeTogether({ writes })).toBe(true);
    expect(tries.count).toBe(2);
    expect(await open({ through: direct }).get({ id: "a" })).toEqual({ ...item, revision: 2 });
  });

  it("lists items by the time of their end, also from a given time on", async () => {
    table = await createTaskTable({ client: admin });
    const store = open({ through: direct });
    for (const [id, endedAtMs] of [
      ["late", 3000],
      ["early", 1000],
      ["later", 4000],
    ] as const) {
      await store.create({ item: { ...item, id, state: "waiting" } });
      await store.replace({ item: { ...item, id, state: "done", endedAtMs } });
      // What comes after the end does not move it.
      await store.replace({ item: { ...item, id, state: "done", endedAtMs, revision: 2 } });
    }
    const listIds = async (cursor?: string) => {
      const request = { index: "state" as const, key: "done", limit: 9 };
      const { items } = await store.list(cursor === undefined ? request : { ...request, cursor });
      return items.map(({ id }) => id);
    };
    expect(await listIds()).toEqual(["early", "late", "later"]);
    expect(await listIds(cursorAt(3000))).toEqual(["late", "later"]);
  });

  it("retries while a foreign transaction is under way and gives up if that does not end", async () => {
    table = await createTaskTable({ client: admin });
    const store = open({ through: client });
    let refusals = 3;
    onTheWay = async (call) => {
      if (call.operation === "GetItem" || refusals === 0) return forward(call);
      refusals -= 1;
      const type = "com.amazonaws.dynamodb.v20120810#TransactionConflictException";
      return Response.json(
        { __type: type, message: "Transaction is ongoing for the item" },
        { status: 400 },
      );
    };
    expect(await store.create({ item })).toEqual(item);
    refusals = Number.POSITIVE_INFINITY;
    await expect(store.replace({ item })).rejects.toThrow("TransactionConflict");
  });

  it.each([
    ["None", "ConditionalCheckFailed"],
    ["TransactionConflict", "None"],
    ["None", "ThrottlingError"],
  ])("treats a transaction canceled with %s and %s as not done", async (...codes) => {
    table = await createTaskTable({ client: admin });
    onTheWay = async () => {
      const type = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
      const reasons = codes.map((Code) => ({ Code }));
      return Response.json(
        { __type: type, message: "canceled", CancellationReasons: reasons },
        { status: 400 },
      );
    };
    expect(
      await open({ through: client }).writeTogether({ writes: [{ type: "create", item }] }),
    ).toBe(false);
  });

  it("returns current items from an index that lags behind", async () => {
    table = await createTaskTable({ client: admin });
    const store = open({ through: direct });
    const waiting = { ...item, state: "waiting" };
    await store.create({ item: waiting });
    await store.create({ item: { ...waiting, id: "b" } });
    // By request, since each shard has a query of its own.
    const lagging = new Map<string, string>();
    onTheWay = async (call) => {
      if (call.operation !== "Query") return forward(call);
      const query = Buffer.from(call.body).toString();
      const answer = lagging.get(query) ?? (await (await forward(call)).text());
      lagging.set(query, answer);
      return new Response(answer, { headers: { "content-type": "application/x-amz-json-1.0" } });
    };
    const listing = () =>
      open({ through: client }).list({ index: "state", key: "waiting", limit: 9 });
    expect((await listing()).items.map(({ id }) => id)).toEqual(["a", "b"]);
    await store.replace({ item: { ...waiting, state: "done" } });
    await store.replace({ item: { ...waiting, id: "b", thread: "u" } });
    expect((await listing()).items).toEqual([{ ...waiting, id: "b", thread: "u", revision: 2 }]);
  });

  it("lists a moved item only at its new place while the index still has the old one", async () => {
    table = await createTaskTable({ client: admin });
    const store = open({ through: direct });
    const listedItem = { ...item, principal: "p" };
    await store.create({ item: { ...listedItem, listedAtMs: 1 } });
    const listing = () =>
      open({ through: client }).list({ index: "principal", key: "p", limit: 9 });
    let firstAnswer: { Items: unknown[] } | undefined;
    onTheWay = async (call) => {
      const response = await forward(call);
      if (call.operation !== "Query") return response;
      const answer = (await response.json()) as { Items: unknown[] };
      firstAnswer ??= answer;
      return Response.json({
        ...answer,
        Items: [...answer.Items, ...firstAnswer.Items.slice(0, 1)],
      });
    };
    await listing();
    await store.replace({ item: { ...listedItem, listedAtMs: 2 } });
    expect((await listing()).items).toEqual([{ ...listedItem, listedAtMs: 2, revision: 2 }]);
  });

  it.each([true, false])(
    "lists the items of a principal newest first and page by page; with an index: %s",
    async (isIndexed) => {
      table = await createTaskTable({ client: admin });
      const store = open({ through: direct, hasPrincipals: isIndexed });
      for (const [number, id] of ["a", "b", "c", "d"].entries())
        await store.create({
          item: { ...item, id, principal: id === "b" ? "q" : "p", listedAtMs: number },
        });
      const { items, cursor = "" } = await store.list({ index: "principal", key: "p", limit: 2 });
      expect(items.map(({ id }) => id)).toEqual(["d", "c"]);
      const secondPage = await store.list({ index: "principal", key: "p", cursor, limit: 2 });
      expect(secondPage.items.map(({ id }) => id)).toEqual(["a"]);
      expect(secondPage.cursor).toBeUndefined();
    },
  );

  it("reads only as many records as a page has and spreads them over keys", async () => {
    table = await createTaskTable({ client: admin });
    const store = open({ through: direct });
    const ids = Array.from({ length: 60 }, (_, number) => `task-${number}`);
    for (const id of ids) await store.create({ item: { ...item, id, state: "done" } });
    const seenIds: string[] = [];
    onTheWay = async (call) => {
      seenIds.push(call.operation);
      return forward(call);
    };
    const { items, cursor = "" } = await open({ through: client }).list({
      index: "state",
      key: "done",
      limit: 20,
    });
    expect(items.map(({ id }) => id)).toEqual(ids.slice(0, 20));
    expect(seenIds.filter((operation) => operation === "GetItem")).toHaveLength(21);
    expect(seenIds.filter((operation) => operation === "Scan")).toEqual([]);
    const secondPage = await store.list({ index: "state", key: "done", cursor, limit: 60 });
    expect(secondPage.items.map(({ id }) => id)).toEqual(ids.slice(20));
    const more = Array.from({ length: 1000 }, (_, number) =>
      toShardKey({ id: `task-${number}`, bucket: "done" }),
    );
    expect(new Set(more).size).toBe(shardCount);
  });

  it("keeps items that nobody lists by state out of the index and finds them with a scan", async () => {
    table = await createTaskTable({ client: admin });
    const store = open({ through: direct });
    await store.create({ item: { ...item, state: "waiting" } });
    const shardOf = async () => {
      const { Item } = await direct.call("GetItem", { TableName: table, Key: { id: { S: "a" } } });
      return Item?.shard?.S;
    };
    expect(await shardOf()).toMatch(/^open#/);
    await store.replace({ item: { ...item, state: "working" } });
    expect(await shardOf()).toBeUndefined();
    expect(
      (await store.list({ index: "state", key: "working", limit: 9 })).items.map(({ id }) => id),
    ).toEqual(["a"]);
  });

  it("keeps an item with an empty index key out of the listings of that index", async () => {
    table = await createTaskTable({ client: admin });
    const store = open({ through: direct });
    const newItem = await store.create({ item: { ...item, thread: "", principal: "" } });
    expect(await store.get({ id: "a" })).toEqual(newItem);
    expect(await store.list({ index: "thread", key: "", limit: 9 })).toEqual({ items: [] });
    expect(await store.replace({ item: { ...item, thread: "t" } })).toBeDefined();
    expect((await store.list({ index: "thread", key: "t", limit: 9 })).items).toHaveLength(1);
  });

  it("lets DynamoDB remove an item after it has expired, never before", async () => {
    table = await createTaskTable({ client: admin });
    const store = open({ through: direct });
    const ttlOf = async () => {
      const { Item } = await direct.call("GetItem", { TableName: table, Key: { id: { S: "a" } } });
      return Item?.ttl?.N;
    };
    await store.create({ item });
    expect(await ttlOf()).toBe("4000000001");
    await store.replace({ item: { ...item, expiresAtMs: 4_000_000_007_000 } });
    expect(await ttlOf()).toBe("4000000007");
  });
});
