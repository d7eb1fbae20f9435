/** Erasing one person's records: what is canceled before, what is left, and that a repetition finishes what was cut off. */
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { createHistoryEntry } from "../../../lambdas/verification/usage/entry.ts";
import { cancelAll } from "../../../lib/cli/data/cancel-all.ts";
import { eraseRecords } from "../../../lib/cli/data/erase-records.ts";
import { createExecutionRecords } from "../../../lib/cli/data/execution-records.ts";
import { findPerson } from "../../../lib/cli/data/find-person.ts";
import { parseRecord, type StoredRecord } from "../../../lib/cli/data/person.ts";
import { createTombstone } from "../../../lib/cli/data/tombstone.ts";
import { openSqliteEngine } from "../../../lib/local/engine.ts";
import { afterTest, folderOfTest } from "../../tooling/cleanup.ts";
import { sampleAsk, sampleTask } from "../../verification/task/sample.ts";
import { createWorld } from "../../verification/worker/world.ts";

const nowMs = 1_790_000_000_000;
const dayMs = 24 * 3600_000;
const signal = new AbortController().signal;
const person = { team: "T1", user: "U1" };
const idOf = (number: number) => `0000000${number}-0000-5000-8000-000000000000`;

async function storeWithData() {
  const store = createMemoryTaskStore({ parse: parseRecord, now: () => nowMs });
  const { message } = sampleTask();
  const common = {
    state: "done" as const,
    cleanupDone: true,
    expiresAtMs: nowMs + 29 * dayMs,
    principal: "T1/U1",
  };
  const young = sampleTask({ ...common, id: idOf(1), receivedAtMs: nowMs - 1000 });
  const old = sampleTask({ ...common, id: idOf(2), receivedAtMs: nowMs - 3 * dayMs });
  const answer = {
    user: "U1",
    atMs: 1,
    option: 0,
    callId: "c",
    arrival: { type: "arrived" as const },
  };
  const question = { index: 0, prompt: "", options: [], askedAtMs: 1, expiresAtMs: 2, answer };
  const other = { ...common, principal: "T1/U2", message: { ...message, user: "U2" } };
  for (const task of [young, old, sampleTask({ ...other, id: idOf(3), question })])
    await store.create({ item: task });
  const entry = createHistoryEntry({
    task: { ...old, outcome: { type: "refused" } },
    settings: { retentionDays: 30, texts: false },
    nowMs,
  });
  if (entry !== undefined) await store.create({ item: entry });
  const quota = {
    id: "usage:user:T1/U1",
    revision: 1,
    state: "usage",
    expiresAtMs: nowMs + 1000,
    charges: [],
  };
  await store.create({ item: quota });
  return store;
}

const find = (store: ErasableStore<StoredRecord>) => findPerson({ store, person, nowMs, signal });

const erase = async (store: ErasableStore<StoredRecord>) =>
  eraseRecords({ store, person, found: await find(store), nowMs, signal });

/** The store dies at its nth write. */
function dyingAt(store: ErasableStore<StoredRecord>, last: number): ErasableStore<StoredRecord> {
  let writes = 0;
  function guard<T>(work: () => Promise<T>): Promise<T> {
    writes += 1;
    return writes < last ? work() : Promise.reject(new Error("cut off"));
  }
  return {
    ...store,
    replace: (request) => guard(() => store.replace(request)),
    remove: (request) => guard(() => store.remove(request)),
  };
}

async function everything(store: ErasableStore<StoredRecord>): Promise<string> {
  const keys = ["done", "usage", `history/${new Date(nowMs).toISOString().slice(0, 10)}`];
  const pages = await Promise.all(
    keys.map((key) => store.list({ index: "state", key, limit: 50 })),
  );
  return JSON.stringify(pages.flatMap(({ items }) => items));
}

describe("erasing the records of one person", () => {
  it("leaves nothing that names the person, and everything of others", async () => {
    const store = await storeWithData();
    expect(await find(store)).toMatchObject({
      tasks: [{ id: idOf(1) }, { id: idOf(2) }],
      history: [{ requestId: idOf(2) }],
      answered: [{ id: idOf(3) }],
      quota: { id: "usage:user:T1/U1" },
    });
    await erase(store);
    expect(await everything(store)).not.toContain("U1");
    expect(await store.get({ id: idOf(1) })).toMatchObject({ state: "done", principal: "" });
    expect(await store.get({ id: idOf(2) })).toBeUndefined();
    expect(await store.get({ id: idOf(3) })).toMatchObject({
      principal: "T1/U2",
      question: { answer: { option: 0 } },
    });
    expect(await find(store)).toMatchObject({
      tasks: [],
      history: [],
      answered: [],
      quota: undefined,
    });
  });

  it.each([1, 2, 3, 4, 5])("goes on where it was cut off at write %i", async (last) => {
    const store = await storeWithData();
    await expect(erase(dyingAt(store, last))).rejects.toThrow("cut off");
    expect(await everything(store)).toContain("U1");
    await erase(store);
    expect(await everything(store)).not.toContain("U1");
  });

  it("says in which task of somebody else an answer is left, and takes it when that is over", async () => {
    const store = await storeWithData();
    const set = async (changes: object) => {
      const task = await store.get({ id: idOf(3) });
      if (task !== undefined) await store.replace({ item: { ...task, ...changes } });
    };
    await set({ state: "waiting", cleanupDone: false });
    expect((await find(store)).answered).toMatchObject([{ id: idOf(3), isUnderWay: true }]);
    expect(await erase(store)).toEqual([idOf(3)]);
    expect(await store.get({ id: idOf(3) })).toMatchObject({
      question: { answer: { user: "U1" } },
    });
    await set({ state: "done", cleanupDone: true });
    expect(await erase(store)).toEqual([]);
    expect(await everything(store)).not.toContain("U1");
  });

  it("touches no task that has begun to move again", async () => {
    const store = await storeWithData();
    const found = await find(store);
    const moved = await store.get({ id: idOf(1) });
    if (moved !== undefined) await store.replace({ item: { ...moved, state: "delivering" } });
    await expect(eraseRecords({ store, person, found, nowMs, signal })).rejects.toThrow(
      `${idOf(1)} runs again. Run the command again when it has ended.`,
    );
    expect(await store.get({ id: idOf(1) })).toMatchObject({ principal: "T1/U1" });
  });
});

const hourMs = 3600_000;
const requestId = "00000001-0000-5000-8000-000000000000";

/** A record of the Execution zone, and what erases it. */
async function withRecord(changes: object) {
  const folder = folderOfTest();
  const engine = openSqliteEngine({ file: join(folder, "execution.db") });
  afterTest(engine.close);
  const store = engine.taskStore({ parse: parseRecord });
  const item = {
    id: "e1",
    revision: 1,
    requestId,
    expiresAtMs: Date.now() + hourMs,
    state: "working",
    ...changes,
  };
  await store.create({ item });
  const at = { file: join(folder, "verification.db") };
  const records = createExecutionRecords({ at, signal });
  return {
    eraseAll: () => records({ ids: new Set([requestId]), erase: true }),
    left: () => store.get({ id: "e1" }),
  };
}

describe("erasing the Execution zone's records", () => {
  it.each([
    ["is over", { state: "completed" }],
    ["lost its host an hour ago", { lease: { owner: "o", untilMs: Date.now() - hourMs } }],
    ["asks a question that nobody will answer", { state: "input_required" }],
    ["has not begun", { state: "submitted" }],
    ["has not begun again after an answer", {}],
  ])("takes away one that %s", async (_, changes) => {
    const { eraseAll, left } = await withRecord(changes);
    expect(await eraseAll()).toBe(1);
    expect(await left()).toBeUndefined();
  });

  it("stops at one that an agent is at work on", async () => {
    const { eraseAll, left } = await withRecord({ lease: { owner: "o", untilMs: Date.now() } });
    await expect(eraseAll()).rejects.toThrow("still works on");
    expect(await left()).toBeDefined();
  });
});

async function finished() {
  const world = createWorld();
  const ask = sampleAsk();
  world.deliver(ask);
  await world.run();
  const task = world.records.get(ask.requestId);
  if (task?.state !== "done" || !task.cleanupDone) throw new Error("the task is over by now");
  return { world, ask, task };
}

it("names nobody, no place and no text, and is a task's record all the same", async () => {
  const { task, ask } = await finished();
  const left = createTombstone({ task, nowMs: task.receivedAtMs + hourMs });
  expect(taskSchema.parse(left)).toEqual(left);
  const { team, user, channel, ts, text } = ask.message;
  for (const word of [team, user, channel, ts, text, task.call?.destination ?? "host"]) {
    expect(JSON.stringify(left)).not.toContain(`"${word}"`);
  }
});

it("keeps a message that is delivered once more from being executed again, for as long as one could be", async () => {
  const { world, ask, task } = await finished();
  const left = createTombstone({ task, nowMs: world.now() });
  if (left === undefined) throw new Error("the message is young");
  world.records.set(left.id, left);
  const [posts, calls] = [world.posts.length, world.calls()];
  world.deliver(ask);
  world.redrive(ask.requestId);
  world.cancel(ask.requestId);
  await world.run();
  expect({ posts: world.posts.length, calls: world.calls() }).toEqual({ posts, calls });
  expect(left.expiresAtMs - task.receivedAtMs).toBeGreaterThan(24 * hourMs);
  expect(createTombstone({ task, nowMs: left.expiresAtMs })).toBeUndefined();
});

const ids = [1, 2].map((number) => `0000000${number}-0000-5000-8000-000000000000`);

/** A zone that ends a task for each read of the first one, if it is at work. */
async function cancelIn({ isAtWork }: { isAtWork: boolean }) {
  const sent: string[] = [];
  const store = createMemoryTaskStore({ parse: parseRecord });
  const common = { receivedAtMs: Date.now(), expiresAtMs: Date.now() + 60_000 };
  for (const id of ids)
    await store.create({ item: sampleTask({ id, state: "waiting", ...common }) });
  async function get({ id }: { id: string }) {
    const record = await store.get({ id });
    const ended = record && { ...record, state: "done", cleanupDone: true };
    if (isAtWork && ended !== undefined) await store.replace({ item: ended });
    return record;
  }
  const isOver = await cancelAll({
    ...{ ids, team: "T1", signal: new AbortController().signal, pollMs: 1, waitMs: 10 },
    zone: {
      store: { get },
      queue: { send: async ({ body, group }) => void sent.push(`${group} ${body}`) },
    },
  });
  return { isOver, sent };
}

it("asks each task to end, and waits until the last one has", async () => {
  const { isOver, sent } = await cancelIn({ isAtWork: true });
  expect(isOver).toBe(true);
  expect(sent).toEqual(
    ids.map((requestId) => `T1 ${JSON.stringify({ type: "cancel", requestId })}`),
  );
});

it("says that it is not over where nobody is at work", async () => {
  expect((await cancelIn({ isAtWork: false })).isOver).toBe(false);
});
