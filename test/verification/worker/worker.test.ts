import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import type { TaskEvent } from "@sekisho/verification/task/events.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { readQueuedIds } from "@sekisho/verification/worker/messages/queued-ids.ts";
import type { ActResult, RunAct } from "@sekisho/verification/worker/step/step.ts";
import { createWorker } from "@sekisho/verification/worker/worker.ts";
import fc from "fast-check";
import { collectLog } from "../../doubles/collect-log.ts";
import { forAll } from "../../doubles/for-all.ts";
import {
  deaths,
  type Fault,
  faultKinds,
  nthFault,
  plannedFaults,
  refuseContent,
} from "../../world/faults.ts";
import { createMemoryTaskStore } from "../../world/records.ts";
import { createWorld, runWorld } from "../../world/world.ts";
import { askedAtMs, sampleAsk, sampleCall, samplePolicy, sampleTask } from "../task/sample.ts";

const ask = sampleAsk();

describe("the worker", () => {
  it("handles one message with one answer and leaves nothing else in the thread", async () => {
    const world = await runWorld();
    expect(world.posts.map(({ text, key }) => [key?.kind, text])).toEqual([
      ["answer", "A checkpoint."],
    ]);
    expect(world.starts).toHaveLength(1);
    expect(world.taskOf(ask)).toMatchObject({ state: "done", cleanupDone: true });
    expect(world.taskOf(ask)?.lease).toBeUndefined();
  });

  it("makes ten calls to store, queue and host if the first call brings the answer", async () => {
    const operations: string[] = [];
    const world = createWorld({
      fault({ party, name }) {
        if (party !== "slack" && party !== "gate") operations.push(name);
      },
    });
    await world.deliver(ask).run();
    expect(operations).toEqual([
      // The task with a lease, and its thread.
      ...["create", "create"],
      // The task is sent, and its outcome is known.
      ...["replace", "execute_task", "replace"],
      "send",
      // In one call: the thread and the task.
      ...["replace", "replace"],
      // The cleanup.
      ...["get", "replace"],
    ]);
  });

  it.each([
    { passed: 0.3, sends: 0 },
    { passed: 0.5, sends: 1 },
  ])(
    "ends a step with a wake-up if too little of the lease is left after $passed of it",
    async ({ passed: passedMs, sends }) => {
      let sendsBefore: number | undefined;
      const world = createWorld({
        fault({ name }) {
          if (name === "post") world.pass(passedMs * 60_000);
          if (name === "execute_task") sendsBefore ??= world.sends();
        },
      });
      await world.deliver(ask).run();
      expect(sendsBefore).toBe(sends);
      expect(world.answers()).toEqual(["A checkpoint."]);
      expect(world.starts).toHaveLength(1);
    },
  );

  it("writes the record only for every tenth poll without news", async () => {
    const operations: string[] = [];
    const world = await runWorld(
      {
        pollsUntilDone: 25,
        fault({ name }) {
          operations.push(name);
        },
      },
      { maxSteps: 1 },
    );
    for (const [polls, more] of [
      [9, []],
      [1, ["replace"]],
      [9, []],
      [1, ["replace"]],
      [4, []],
    ] as const) {
      operations.length = 0;
      await world.run({ maxSteps: polls });
      const pollOperations = Array.from({ length: polls }, () => [
        "get",
        "get_task",
        "send",
      ]).flat();
      expect(operations).toEqual([...pollOperations, ...more]);
      expect(world.taskOf(ask)?.lease).toBeUndefined();
    }
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.taskOf(ask)?.wait?.polls).toBe(25);
  });

  it("merges doubled wake-ups after a few polls", async () => {
    const world = await runWorld({ pollsUntilDone: 60 }, { maxSteps: 1 });
    const wakeUp = { type: "wake", requestId: ask.requestId, seq: 1 };
    for (let copies = 0; copies < 3; copies++) world.queueRaw(JSON.stringify(wakeUp));
    const callCount = world.calls();
    await world.run({ until: () => (world.taskOf(ask)?.wait?.polls ?? 0) >= 10 });
    await world.run({ until: () => (world.taskOf(ask)?.wait?.polls ?? 0) >= 20 });
    expect(world.calls() - callCount).toBeLessThanOrEqual(4 * 10 + 10);
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.doubled()).toBe(0);
  });

  it("reads the thread before it claims the lease for the cleanup, and claims it only if needed", async () => {
    for (const isDoubled of [false, true]) {
      const operations: string[] = [];
      const world = createWorld({
        fault({ name }) {
          operations.push(name);
        },
      });
      await world.deliver(ask).run({ maxSteps: 1 });
      const [post] = world.posts;
      if (isDoubled && post !== undefined)
        world.posts.push({ ...post, ts: `${Number(post.ts) + 1}` });
      operations.length = 0;
      await world.run();
      expect(operations).toEqual(
        isDoubled
          ? ["get", "replies", "replace", "replies", "remove", "replace"]
          : ["get", "replies", "replace"],
      );
      expect(world.posts).toHaveLength(1);
    }
  });

  it("answers ten deliveries of the same message once", async () => {
    const world = createWorld({ pollsUntilDone: 3 });
    for (let i = 0; i < 10; i++) world.deliver({ ...ask, receivedAtMs: ask.receivedAtMs + i });
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.starts).toHaveLength(1);
  });

  it("acts once when two workers hold the same message", async () => {
    const world = createWorld();
    world.deliver(ask);
    await world.runTwiceAtOnce();
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
    expect(world.posts).toHaveLength(1);
    expect(world.starts).toHaveLength(1);
  });

  it("posts only part 2 again when the post of part 2 failed", async () => {
    const story = () => ({ status: "success", response_text: "one|two|three" }) as const;
    for (const fault of faultKinds) {
      const world = await runWorld({
        story,
        fault: nthFault(1, fault, "post"),
      });
      expect(world.answers().sort()).toEqual(["one", "three", "two"]);
    }
  });

  it("continues after a crash at any single point with one answer from one run", async () => {
    for (const fault of deaths) {
      for (let nth = 0; nth < 60; nth++) {
        const world = await runWorld({ pollsUntilDone: 2, fault: nthFault(nth, fault) });
        expect({ fault, nth, answers: world.answers(), posts: world.posts.length }).toEqual({
          fault,
          nth,
          answers: ["A checkpoint."],
          posts: 1,
        });
        expect(world.starts).toHaveLength(1);
        expect(world.running.size).toBe(0);
        expect(world.doubled()).toBe(0);
      }
    }
  });

  it("ignores a task while another worker acts on it", async () => {
    for (const during of ["post", "execute_task", "update"]) {
      const calls: string[] = [];
      const world = createWorld({
        fault: async ({ party, name }): Promise<undefined> => {
          if (party === "slack" || party === "host") calls.push(name);
          if (name !== during || calls.filter((call) => call === during).length > 1) return;
          world.deliver(ask);
          await world.handleDue();
        },
      });
      await world.deliver(ask).run();
      expect(calls.filter((call) => call === during)).toEqual([during]);
      expect(world.answers()).toEqual(["A checkpoint."]);
    }
  });

  it("posts one answer from one run despite random faults at a host that deduplicates", async () => {
    const anyFault = fc.constantFrom<Fault>(...faultKinds);
    await forAll(
      fc.array(fc.tuple(fc.nat({ max: 60 }), anyFault), { maxLength: 6 }),
      fc.nat({ max: 3 }),
      fc.nat({ max: 3 }),
    ).holdAsync(async (faults, pollsUntilDone, redeliveries) => {
      const world = createWorld({ pollsUntilDone, fault: plannedFaults(faults) });
      for (let i = 0; i <= redeliveries; i++) world.deliver(ask);
      await world.run();
      expect(world.answers()).toEqual(["A checkpoint."]);
      expect(world.posts).toHaveLength(1);
      expect(world.starts).toHaveLength(1);
    }, 400);
  });

  it("starts the agent at most once and always answers at a peer that does not deduplicate", async () => {
    const anyFault = fc.constantFrom<Fault>(
      "refused",
      "lost",
      "answer_lost",
      "dies_before",
      "dies_after",
    );
    await forAll(
      fc.array(fc.tuple(fc.nat({ max: 40 }), anyFault), { maxLength: 5 }),
      fc.nat({ max: 2 }),
    ).holdAsync(async (faults, pollsUntilDone) => {
      const world = await runWorld({
        pollsUntilDone,
        idempotent: false,
        fault: plannedFaults(faults),
      });
      expect(world.answers()).toHaveLength(1);
      expect(world.starts.length).toBeLessThanOrEqual(1);
    }, 400);
  });

  it("returns a malformed queue message, so that it becomes a dead letter", async () => {
    const world = createWorld();
    await world.deliver({ nonsense: true } as never).run({ maxSteps: 3 });
    expect(world.loseMessages()).toBe(1);
  });

  it("replaces an answer that Slack refuses in part by a failure", async () => {
    const world = await runWorld({
      story: () => ({ status: "success", response_text: "one|two" }),
      fault: refuseContent(({ text }) => text === "two"),
    });
    expect(world.answers()).toEqual([expect.stringContaining('"reason":"internal"')]);
    expect(world.posts).toHaveLength(1);
  });

  it("posts the answer without blocks if Slack refuses them, and removes the first try", async () => {
    const world = await runWorld({
      story: () => ({ status: "success", response_text: "one|two" }),
      fault: refuseContent(({ text, blocks }) => text === "two" && blocks !== undefined),
    });
    expect(world.posts.map(({ text, blocks }) => [text, blocks.length > 0])).toEqual([
      ["one", false],
      ["two", false],
    ]);
  });

  it("drops a wake-up of an earlier step", async () => {
    const world = await runWorld({ pollsUntilDone: 15 }, { maxSteps: 12 });
    const [taskBefore, calls] = [world.taskOf(ask), world.calls()];
    expect(taskBefore).toMatchObject({ state: "waiting", wakeSeq: 2 });
    await world
      .worker()
      .handle({ body: JSON.stringify({ type: "wake", requestId: ask.requestId, seq: 1 }) });
    expect([world.taskOf(ask), world.calls()]).toEqual([taskBefore, calls]);
  });

  it("drops a wake-up whose task is gone", async () => {
    const world = createWorld();
    await world.deliver({ type: "wake", requestId: ask.requestId, seq: 3 } as never).run();
    expect(world.posts).toEqual([]);
  });

  it("never lets a dead letter replace an outcome that is known or may still come", async () => {
    const deadLetteredAt = async (maxSteps: number) => {
      const world = await runWorld({ pollsUntilDone: 5 }, { maxSteps });
      await world.deadLetterAll();
      await world.run();
      expect(world.posts).toHaveLength(1);
      expect(world.starts.length).toBeLessThanOrEqual(1);
      return world.answers()[0];
    };
    for (const steps of [0, 1, 2, 3, 5, 6, 7])
      expect(await deadLetteredAt(steps)).toBe("A checkpoint.");
  });

  it("continues with one wake-up when two workers poll at the same time", async () => {
    const world = createWorld({ pollsUntilDone: 1000 });
    const polls = () => world.taskOf(ask)?.wait?.polls ?? 0;
    // The first call and nine polls: the tenth is stored.
    await world.deliver(ask).run({ until: () => world.calls() === 10 });
    await world.runTwiceAtOnce();
    expect(polls()).toBe(10);
    const calls = world.calls();
    await world.run({ until: () => polls() === 20 });
    expect(world.calls() - calls).toBe(10);
  });

  it("sends its messages in the group of the task's workspace and destination", async () => {
    const world = createWorld({ pollsUntilDone: 2 });
    world.deliver(ask);
    await world.runTwiceAtOnce();
    await world.run();
    expect(world.groups).toStrictEqual(new Set([ask.message.team, `${ask.message.team}/host`]));
  });
});

const nowMs = askedAtMs + 20_000;
const now = () => nowMs;
const leaseMs = 60_000;
const inDoubt = { reason: "ambiguous", certainty: "unknown", lost: false } as const;
type Worker = Parameters<typeof createWorker>[0];

/** A worker of which only the acts and the engine matter. */
function workerWith(parts: Pick<Worker, "store" | "runAct" | "queue"> & Partial<Worker>) {
  return createWorker({
    policy: samplePolicy(),
    isKnownThread: async () => "unknown",
    noticeLateChange: async () => true,
    handleInteraction: async () => {},
    passVote: async () => {},
    isIgnored: async () => false,
    stopSession: async () => {},
    zoneSecret: () => ({ current: "secret" }),
    leaseMs,
    log: silentLog,
    newId: () => "second",
    ...parts,
  });
}

/** A task that a worker has held for 20 s of its lease of 60 s; and a second worker. */
async function heldTask() {
  const store = createMemoryTaskStore<Task>({ parse: (json) => taskSchema.parse(json), now });
  const task = sampleTask({
    state: "sent",
    wakeSeq: 2,
    lease: { owner: "first", untilMs: nowMs + 40_000 },
  });
  await store.create({ item: task });
  const sentMessages: { body: string; delayMs?: number }[] = [];
  const acts: string[] = [];
  const runAct = async ({
    act,
    signal,
  }: {
    act: { type: string };
    signal: AbortSignal;
  }): Promise<ActResult> => {
    acts.push(act.type);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return { event: { type: "call_failed", nowMs, act: "send", error: inDoubt } };
  };
  const worker = workerWith({
    store,
    runAct,
    now,
    queue: { send: async (message) => void sentMessages.push(message) },
  });
  return { store, task, sent: sentMessages, acts, worker };
}

const wake = (requestId: string, seq: number) => JSON.stringify({ type: "wake", requestId, seq });

it("leaves no record with a lease if the zone secret is unreadable", async () => {
  const store = createMemoryTaskStore<Task>({ parse: (json) => taskSchema.parse(json), now });
  const runAct = () => Promise.reject(new Error("unused"));
  const zoneSecret = () => Promise.reject(new Error("no store"));
  const worker = workerWith({ store, runAct, now, queue: { send: async () => {} }, zoneSecret });
  await expect(worker.handle({ body: JSON.stringify(sampleAsk()) })).rejects.toThrow("no store");
  expect(await store.get({ id: sampleAsk().requestId })).toBeUndefined();
});

describe("a wake-up that meets a held lease", () => {
  it("delays a wake-up until the lease ends if its worker is in the middle of an act", async () => {
    const { task, sent, acts, worker } = await heldTask();
    await worker.handle({ body: wake(task.id, 2) });
    expect(acts).toEqual([]);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.delayMs).toBeGreaterThan(40_000);
  });

  it("delays a wake-up a little, and longer each time, if the other worker only has to save", async () => {
    const { task, sent, worker } = await heldTask();
    await worker.handle({ body: wake(task.id, 3) });
    for (let i = 0; i < 12; i++) await worker.handle({ body: sent.at(-1)?.body ?? "" });
    const delays = sent.map(({ delayMs }) => delayMs ?? 0);
    expect(delays[0]).toBeLessThan(1000);
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(Math.max(...delays)).toBeGreaterThan(40_000);
    expect(delays.length).toBeLessThan(20);
  });
});

describe("a dead letter", () => {
  it("ignores a dead letter of a finished link", async () => {
    const { store, task, sent, worker } = await heldTask();
    await worker.deadLetter({ body: wake(task.id, 1) });
    expect(sent).toEqual([]);
    expect((await store.get({ id: task.id }))?.state).toBe("sent");
  });

  it("delays a dead letter of a leased task until the lease ends", async () => {
    const { store, task, sent, worker } = await heldTask();
    await worker.deadLetter({ body: wake(task.id, 2) });
    expect(sent[0]?.delayMs).toBeGreaterThan(40_000);
    expect((await store.get({ id: task.id }))?.state).toBe("sent");
  });
});

describe("a worker that is told to stop", () => {
  it("aborts its call, records it as in doubt and leaves no lease behind", async () => {
    const { store, task, sent, acts, worker } = await heldTask();
    const storedTask = await store.get({ id: task.id });
    if (storedTask === undefined) throw new Error("no task");
    const { lease: _lease, ...free } = storedTask;
    await store.replace({ item: free });
    const stop = new AbortController();
    const handling = worker.handle({ body: wake(task.id, 2), signal: stop.signal });
    while (acts.length === 0) await setImmediate();
    stop.abort();
    await handling;
    const taskAfterStop = await store.get({ id: task.id });
    expect(taskAfterStop).toMatchObject({
      state: "sent",
      call: { arrival: "in_doubt" },
      wakeSeq: 3,
    });
    expect(taskAfterStop?.lease).toBeUndefined();
    expect(sent).toHaveLength(1);
  });
});

afterEach(() => void jest.useRealTimers());

it("aborts an act by its signal between 80 and 90 percent of the lease", async () => {
  const store = createMemoryTaskStore<Task>({ parse: (json) => taskSchema.parse(json), now });
  await store.create({
    item: sampleTask({ state: "sent", call: sampleCall({ arrival: "in_doubt" }), wakeSeq: 2 }),
  });
  jest.useFakeTimers({ doNotFake: ["setImmediate", "queueMicrotask", "nextTick"] });
  const actStart = Promise.withResolvers<void>();
  let isEnded = false;
  const hangs: RunAct = async ({ signal }: Parameters<RunAct>[0]) => {
    const abortion = new Promise((resolve) => signal.addEventListener("abort", resolve));
    actStart.resolve();
    await abortion;
    isEnded = true;
    return { event: { type: "call_failed", nowMs, act: "poll", error: inDoubt } } as const;
  };
  const worker = workerWith({ store, runAct: hangs, now, queue: { send: async () => {} } });
  const handling = worker.handle({
    body: JSON.stringify({ type: "wake", requestId: sampleTask().id, seq: 2 }),
  });
  await actStart.promise;
  await jest.advanceTimersByTimeAsync(0.8 * leaseMs);
  expect(isEnded).toBe(false);
  // A tenth of the lease is left for the wake-up and the record.
  await jest.advanceTimersByTimeAsync(0.1 * leaseMs);
  expect(isEnded).toBe(true);
  await handling;
  // No timer is left behind.
  expect(jest.getTimerCount()).toBe(0);
  expect((await store.get({ id: sampleTask().id }))?.lease).toBeUndefined();
});

const tasks = 60;

const outcomes: Record<string, (nowMs: number) => TaskEvent> = {
  permit: (nowMs) => ({ type: "permitted", nowMs, allowed: true, locale: "en" }),
  charge: () => ({ type: "charged", over: undefined }),
  announce: (nowMs) => ({ type: "announced", nowMs, ts: "1.1" }),
  send: (nowMs) => ({
    type: "answered",
    nowMs,
    act: "send",
    result: { status: "success", response_text: "done" },
  }),
  join_thread: (nowMs) => ({
    type: "thread_joined",
    nowMs,
    queuePosition: 0,
    freeAtMs: nowMs,
    routes: [],
  }),
  leave_thread: () => ({ type: "thread_left" }),
  deliver: () => ({ type: "delivered" }),
};

it("stops the session of a task only after the answer is in the thread", async () => {
  const store = createMemoryTaskStore<Task>({ parse: (json) => taskSchema.parse(json), now });
  const outcome = { type: "answer", text: "A checkpoint." } as const;
  await store.create({
    item: sampleTask({ state: "delivering", call: sampleCall(), outcome, wakeSeq: 2 }),
  });
  const actTypes: string[] = [];
  const runAct: RunAct = async ({ act }: Parameters<RunAct>[0]) => {
    actTypes.push(act.type);
    const event = outcomes[act.type]?.(nowMs);
    if (event === undefined) throw new Error(`unexpected ${act.type}`);
    return { event };
  };
  const stopSession = async () => void actTypes.push("stop_session");
  const policy = samplePolicy({ stopAfterResult: true });
  const worker = workerWith({
    store,
    runAct,
    stopSession,
    policy,
    now,
    queue: { send: async () => {} },
  });
  await worker.handle({
    body: JSON.stringify({ type: "wake", requestId: sampleTask().id, seq: 2 }),
  });
  expect(actTypes).toEqual(["deliver", "leave_thread", "stop_session"]);
});

it.each([
  { what: "with the record", revision: 1, runs: ["returns"] },
  {
    what: "by itself if another worker has changed the item",
    revision: 7,
    runs: ["returns", "does"],
  },
])("stores the writes of an act $what", async ({ revision, runs }) => {
  const store = createMemoryTaskStore<Task>({ parse: (json) => taskSchema.parse(json), now });
  const id = randomUUID();
  const item = sampleTask({ id, revision, state: "done" });
  await store.create({ item: sampleTask({ id, state: "sent" }) });
  const outcome = { type: "answer", text: "A checkpoint." } as const;
  await store.create({
    item: sampleTask({ state: "delivering", call: sampleCall(), outcome, wakeSeq: 2 }),
  });
  const writing: string[] = [];
  const runAct: RunAct = async (request: Parameters<RunAct>[0]): Promise<ActResult> => {
    if (request.act.type === "deliver") return { event: { type: "delivered" } };
    writing.push(request.storesWrites ? "returns" : "does");
    const event = { type: "thread_left" } as const;
    return request.storesWrites ? { event, writes: [{ type: "replace", item }] } : { event };
  };
  const worker = workerWith({ store, runAct, now, queue: { send: async () => {} } });
  await worker.handle({
    body: JSON.stringify({ type: "wake", requestId: sampleTask().id, seq: 2 }),
  });
  expect(writing).toEqual(runs);
  expect((await store.get({ id }))?.state).toBe(revision === 1 ? "done" : "sent");
  expect(await store.get({ id: sampleTask().id })).toMatchObject({ state: "done", wakeSeq: 3 });
});

it("two workers on one queue share the work without waiting for each other's leases", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-workers-"));
  const file = join(folder, "verification.db");
  const stop = new AbortController();
  const acts: string[] = [];
  const { log, entries } = collectLog({ level: "debug" });
  const over = Promise.withResolvers<void>();
  let leaveCount = 0;
  const zones = [1, 2].map(() => {
    const database = openDatabase({ file });
    const queue = createSqliteQueue({ database, name: "tasks" });
    const runAct = async ({ act, task }: { act: { type: string }; task: { id: string } }) => {
      acts.push(`${task.id} ${act.type}`);
      const outcome = outcomes[act.type];
      if (outcome === undefined) throw new Error(`unexpected ${act.type}`);
      if (act.type === "leave_thread" && ++leaveCount === tasks) over.resolve();
      return { event: outcome(Date.now()) };
    };
    const store = createSqliteTaskStore({ database, parse: (json) => taskSchema.parse(json) });
    const worker = workerWith({ store, runAct, queue, log, newId: randomUUID });
    const loop = runQueueLoop({
      consumer: queue,
      handle: ({ body }) => worker.handle({ body }),
      concurrency: 8,
      visibilityTimeoutMs: 90_000,
      signal: stop.signal,
      idsOf: readQueuedIds,
      log,
    });
    return { database, queue, loop };
  });
  for (let i = 0; i < tasks; i++) {
    const ask = {
      ...sampleAsk({ ts: `${Date.now() / 1000}` }),
      requestId: randomUUID(),
      receivedAtMs: Date.now(),
    };
    await zones[i % 2]?.queue.send({ body: JSON.stringify(ask) });
  }
  await over.promise;
  stop.abort();
  await Promise.all(zones.map(({ loop }) => loop));
  await Promise.all(zones.map(({ database }) => database.close()));
  rmSync(folder, { recursive: true, force: true });
  expect(acts).toHaveLength(tasks * 7);
  expect(new Set(acts).size).toBe(tasks * 7);
  expect(
    entries().filter(
      ({ message, delay_ms }) => message === "message_deferred" && Number(delay_ms) > 30_000,
    ),
  ).toEqual([]);
});
