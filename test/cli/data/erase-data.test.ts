/** Erasing one person's data: what is canceled before, what is left, and what a repetition finishes. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { deriveSessionKey } from "@sekisho/execution/tasks/conversation-record.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import {
  cancelTasks,
  countData,
  eraseData,
  eraseExecutionRecords,
  findData,
} from "@sekisho/sekisho/data/data.ts";
import { createTombstone, parseRecord } from "@sekisho/sekisho/tasks/stored-task.ts";
import { scanItems } from "@sekisho/sekisho/zone/list-items.ts";
import { openLocalZone } from "@sekisho/sekisho/zone/local-zone.ts";
import type { OpenZone } from "@sekisho/sekisho/zone/open-zone.ts";
import { noStoredRules, parseStoredRules } from "@sekisho/verification/gate/rules.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { afterTest, folderOfTest } from "../../tooling/cleanup.ts";
import { sampleAsk, sampleCall, sampleTask } from "../../verification/task/sample.ts";
import { createWorld } from "../../world/world.ts";
import { sampleFormerEntry } from "../usage/former-entry.ts";

const nowMs = Date.now();
const hourMs = 3600_000;
const dayMs = 24 * hourMs;
const signal = new AbortController().signal;
const person = { team: "T1", user: "U0PERSON1" };
const idOf = (number: number) => `0000000${number}-0000-5000-8000-000000000000`;
const requestId = idOf(1);

/** A zone on one machine, with both its files. */
function openZone() {
  const folder = folderOfTest();
  const file = join(folder, "verification.db");
  const engine = openSqliteEngine({ file });
  const execution = openSqliteEngine({ file: join(folder, "execution.db") });
  const zone = openLocalZone({ file, config: () => parseConfig({ json: {} }) });
  afterTest(engine.close, execution.close, zone.close);
  const store = zone.store({ parse: parseRecord });
  return { folder, zone, store, execution: execution.taskStore({ parse: parseRecord }) };
}

/** The person has a task of today, one of three days ago, an answer in a task of another person, and more. */
async function openZoneWithData() {
  const opened = openZone();
  const { zone, store, execution, folder } = opened;
  const message = { ...sampleTask().message, user: "U0PERSON1" };
  const common = { state: "done" as const, cleanupDone: true, expiresAtMs: nowMs + 29 * dayMs };
  const own = { ...common, principal: "T1/U0PERSON1", message };
  const old = sampleTask({
    ...{ ...own, id: idOf(2), receivedAtMs: nowMs - 3 * dayMs },
    call: sampleCall({ sessionId: "s-own" }),
  });
  const answer = {
    user: "U0PERSON1",
    atMs: 1,
    option: 0,
    callId: "c",
    arrival: { type: "arrived" as const },
  };
  const question = { index: 0, prompt: "", options: [], askedAtMs: 1, expiresAtMs: 2, answer };
  const approvedQuestion = {
    ...question,
    answer: { ...answer, user: "U0PERSON3", approvedBy: ["U0PERSON1", "U0PERSON3"] },
    approvals: {
      needed: 2,
      given: ["U0PERSON1", "U0PERSON3"].map((user) => ({ user, atMs: 1, option: 0 })),
    },
  };
  const other = {
    ...common,
    principal: "T1/U0PERSON2",
    message: { ...message, user: "U0PERSON2" },
  };
  const entry = sampleFormerEntry({ requestId: old.id, user: "U0PERSON1", listedAtMs: nowMs });
  const quota = {
    id: "usage:user:T1/U0PERSON1",
    revision: 1,
    state: "usage",
    expiresAtMs: nowMs + dayMs,
  };
  const rules = [{ rule: { user: "U0PERSON1" }, number: 1, addedAtMs: nowMs }];
  const stored = { ...noStoredRules(), lastNumber: 1, rules };
  await zone.store({ parse: parseStoredRules }).create({ item: stored });
  for (const item of [
    sampleTask({ ...own, id: idOf(1), receivedAtMs: nowMs - 1000 }),
    old,
    sampleTask({ ...other, id: idOf(3), question }),
    sampleTask({ ...other, id: idOf(6), question: approvedQuestion }),
    entry,
    quota,
    // The next write would remove it.
    sampleTask({ ...own, id: idOf(5), expiresAtMs: nowMs - 1 }),
  ])
    await store.create({ item });
  const record = { id: "e1", revision: 1, state: "completed", requestId };
  await execution.create({ item: { ...record, expiresAtMs: nowMs + dayMs } });
  const keptRecords = [
    { sessionKey: deriveSessionKey("s-own"), id: "k1" },
    { sessionKey: deriveSessionKey("s-other"), id: "k2" },
  ];
  for (const record of keptRecords) {
    const common = { revision: 1, state: "conversation", value: "kept" };
    await execution.create({ item: { ...record, ...common, expiresAtMs: nowMs + dayMs } });
  }
  for (const id of [requestId, idOf(3)]) {
    mkdirSync(join(folder, "files", id), { recursive: true });
    writeFileSync(join(folder, "files", id, "F1"), "a file");
  }
  return opened;
}

const find = (zone: OpenZone) => findData({ zone, person, signal });

const erase = async (zone: OpenZone) =>
  eraseData(await find(zone), { withRules: true, idsFile: "unused" });

/** The zone's store dies at its nth write. */
function dyingAt(zone: OpenZone, last: number): OpenZone {
  let writes = 0;
  function guard<T>(work: () => Promise<T>): Promise<T> {
    writes += 1;
    return writes < last ? work() : Promise.reject(new Error("cut off"));
  }
  return {
    ...zone,
    store(request) {
      const store = zone.store(request);
      return {
        ...store,
        replace: (item) => guard(() => store.replace(item)),
        remove: (item) => guard(() => store.remove(item)),
      };
    },
  };
}

/** The bytes of the Verification zone's file and of its write-ahead log. */
function readFiles(folder: string): string {
  const names = readdirSync(folder).filter((name) => name.startsWith("verification.db"));
  return names.map((name) => readFileSync(join(folder, name), "latin1")).join("");
}

async function everything(zone: OpenZone): Promise<string> {
  const items: unknown[] = [];
  for await (const item of scanItems({ store: zone.store({ parse: parseRecord }), signal }))
    items.push(item);
  return JSON.stringify(items);
}

describe("erasing the data of one person", () => {
  it("erases everything that names the person, and keeps everything of others", async () => {
    const { zone, store, execution, folder } = await openZoneWithData();
    expect(await countData(await find(zone))).toEqual({
      ...{ tasks: 2, underWay: 0, history: 1, answered: 2, quotas: 1 },
      ...{ files: 1, deadLetters: 0, execution: 2, rules: [1], configuration: [] },
    });
    expect(await erase(zone)).toEqual({ answered: [], executionFailure: undefined });
    expect(readFiles(folder)).toContain("U0PERSON2");
    expect(readFiles(folder)).not.toContain("U0PERSON1");
    expect(await store.get({ id: idOf(1) })).toMatchObject({ state: "done", principal: "" });
    expect(await store.get({ id: idOf(2) })).toBeUndefined();
    expect(await store.get({ id: idOf(3) })).toMatchObject({
      principal: "T1/U0PERSON2",
      question: { answer: { option: 0 } },
    });
    expect(await store.get({ id: idOf(6) })).toMatchObject({
      question: { answer: { user: "U0PERSON3", approvedBy: ["", "U0PERSON3"] } },
    });
    for (const id of ["e1", "k1"]) expect(await execution.get({ id })).toBeUndefined();
    expect(await execution.get({ id: "k2" })).toMatchObject({ value: "kept" });
    expect(readdirSync(join(folder, "files"))).toEqual([idOf(3)]);
    const none = { tasks: [], history: [], answered: [], quotas: [] };
    expect(await find(zone)).toMatchObject(none);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    "completes an erasure that was interrupted at write %i",
    async (last) => {
      const { zone } = await openZoneWithData();
      await expect(erase(dyingAt(zone, last))).rejects.toThrow("cut off");
      expect(await everything(zone)).toContain("U0PERSON1");
      await erase(zone);
      expect(await everything(zone)).not.toContain("U0PERSON1");
    },
  );

  it("keeps an answer in a running task of another person until that task has ended", async () => {
    const { zone, store } = await openZoneWithData();
    const set = async (changes: object) => {
      const task = await store.get({ id: idOf(3) });
      if (task !== undefined) await store.replace({ item: { ...task, ...changes } });
    };
    await set({ state: "waiting", cleanupDone: false });
    expect(await erase(zone)).toMatchObject({ answered: [idOf(3)] });
    expect(await store.get({ id: idOf(3) })).toMatchObject({
      question: { answer: { user: "U0PERSON1" } },
    });
    await set({ state: "done", cleanupDone: true });
    expect(await erase(zone)).toMatchObject({ answered: [] });
    expect(await everything(zone)).not.toContain("U0PERSON1");
  });

  it("refuses to erase a task that has begun to run again", async () => {
    const { zone, store } = await openZoneWithData();
    const data = await find(zone);
    const task = await store.get({ id: idOf(1) });
    if (task !== undefined) await store.replace({ item: { ...task, state: "delivering" } });
    await expect(eraseData(data, { withRules: false, idsFile: "unused" })).rejects.toThrow(
      `${idOf(1)} runs again. Run the command again when it has ended.`,
    );
    expect(await store.get({ id: idOf(1) })).toMatchObject({ principal: "T1/U0PERSON1" });
  });

  it("refuses a person with a task of another version", async () => {
    const { zone, store } = await openZoneWithData();
    const record = { id: idOf(4), revision: 1, state: "done", principal: "T1/U0PERSON1" };
    await store.create({ item: { ...record, expiresAtMs: nowMs + dayMs } });
    await expect(find(zone)).rejects.toThrow(
      `Another version of Sekisho wrote the person's task ${idOf(4)}.`,
    );
  });
});

/** An Execution zone with one record, and what erases it. */
async function openZoneWithRecord(changes: object) {
  const { zone, execution } = openZone();
  const record = { id: "e1", revision: 1, requestId, expiresAtMs: nowMs + hourMs };
  await execution.create({ item: { ...record, state: "working", ...changes } });
  const part = { at: zone.at, ids: new Set([requestId]), isDryRun: false, signal };
  return {
    eraseRecords: () => eraseExecutionRecords(part),
    readRecord: () => execution.get({ id: "e1" }),
  };
}

describe("erasing the Execution zone's records", () => {
  it.each([
    ["has ended", { state: "completed" }],
    ["came over A2A", { state: "completed", requestId: "r1", correlationId: requestId }],
    ["lost its host an hour ago", { lease: { owner: "o", untilMs: nowMs - hourMs } }],
    ["asks a question that can no longer be answered", { state: "input_required" }],
    ["has not begun", { state: "submitted" }],
    ["has not continued after a reply", {}],
  ])("erases an execution record that %s", async (_, changes) => {
    const { eraseRecords, readRecord } = await openZoneWithRecord(changes);
    expect(await eraseRecords()).toBe(1);
    expect(await readRecord()).toBeUndefined();
  });

  it("stops at a record on which an agent works", async () => {
    const lease = { owner: "o", untilMs: Date.now() };
    const { eraseRecords, readRecord } = await openZoneWithRecord({ lease });
    await expect(eraseRecords()).rejects.toThrow("still works on");
    expect(await readRecord()).toBeDefined();
  });
});

async function finishTask() {
  const world = createWorld();
  const ask = sampleAsk();
  world.deliver(ask);
  await world.run();
  const task = world.records.get(ask.requestId);
  if (task?.state !== "done" || !task.cleanupDone) throw new Error("The task is over by now.");
  return { world, ask, task };
}

describe("the record that remains of an erased task", () => {
  it("keeps a valid record of an erased task without person, channel and text", async () => {
    const { task, ask } = await finishTask();
    const tombstone = createTombstone({ task, nowMs: task.receivedAtMs + hourMs });
    expect(taskSchema.parse(tombstone)).toEqual(tombstone);
    const { team, user, channel, ts, text } = ask.message;
    for (const word of [team, user, channel, ts, text, task.call?.destination ?? "host"])
      expect(JSON.stringify(tombstone)).not.toContain(`"${word}"`);
  });

  it("keeps a redelivered message of an erased task from running again, as long as one can arrive", async () => {
    const { world, ask, task } = await finishTask();
    const tombstone = createTombstone({ task, nowMs: world.now() });
    if (tombstone === undefined) throw new Error("The message is young.");
    world.records.set(tombstone.id, tombstone);
    const [posts, calls] = [world.posts.length, world.calls()];
    world.deliver(ask);
    world.redrive(ask.requestId);
    world.cancel(ask.requestId);
    await world.run();
    expect({ posts: world.posts.length, calls: world.calls() }).toEqual({ posts, calls });
    expect(tombstone.expiresAtMs - task.receivedAtMs).toBeGreaterThan(24 * hourMs);
    expect(createTombstone({ task, nowMs: tombstone.expiresAtMs })).toBeUndefined();
  });
});

describe("canceling the tasks of one person", () => {
  const running = (number: number): Task =>
    sampleTask({
      ...{ id: idOf(number), state: "waiting", principal: "T1/U0PERSON1" },
      ...{ receivedAtMs: nowMs, expiresAtMs: nowMs + dayMs },
    });

  it("cancels each task of the person, and waits until all have ended", async () => {
    const { zone, store } = openZone();
    for (const item of [running(1), running(2)]) await store.create({ item });
    async function send({ body }: { body: string }): Promise<void> {
      const { type, requestId } = JSON.parse(body);
      const task = await store.get({ id: requestId });
      if (task === undefined || type !== "cancel") throw new Error("No task is to be canceled.");
      await store.replace({ item: { ...task, state: "done", cleanupDone: true } });
    }
    const data = await find({ ...zone, queue: { send } });
    expect(await cancelTasks(data, { pollMs: 1, maxPolls: 1 })).toBe(true);
  });

  it("stops waiting if no zone ends the tasks", async () => {
    const { zone, store } = openZone();
    await store.create({ item: running(1) });
    expect(await cancelTasks(await find(zone), { pollMs: 1, maxPolls: 3 })).toBe(false);
  });
});
