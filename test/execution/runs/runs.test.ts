/** Hosts on one store, hosts that die and hosts near their end: an agent starts at most once, and a lost task is told. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { deriveTaskId, type ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { createExecutionTask } from "@sekisho/execution/tasks/submission.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  answering,
  createGate,
  createTestHost,
  eventually,
  hello,
  memoryStore,
  yielding,
} from "../test-host.ts";

/** What a `kill -9` looks like from the store: from then on nothing is written. */
function mortalStore(store: TaskStore<ExecutionTask>) {
  let alive = true;
  const unlessDead =
    <A, R>(act: (request: A) => Promise<R>) =>
    (request: A) =>
      alive ? act(request) : Promise.reject<R>(new Error("dead"));
  return {
    store: {
      ...store,
      create: unlessDead(store.create),
      replace: unlessDead(store.replace),
      get: unlessDead(store.get),
    },
    kill: () => {
      alive = false;
    },
  };
}

const brief = { syncBudgetMs: 0, leaseMs: 40, lostAfterMs: 40 };

describe("two hosts on one store", () => {
  it("starts one agent for one request id on two hosts", async () => {
    const store = memoryStore();
    const gate = createGate();
    const hosts = [
      createTestHost({ store, agent: gate.agent }),
      createTestHost({ store, agent: gate.agent }),
    ];
    const id = randomUUID();
    const calls = Array.from({ length: 20 }, (_, index) =>
      hosts[index % 2]?.call("execute_task", hello, { id }),
    );
    await gate.firstStart;
    gate.letGo();
    for (const answer of await Promise.all(calls))
      expect(answer?.result?.response_text).toBe("done");
    expect(gate.started).toHaveLength(1);
  });

  it("does not touch a task of another host while its lease is renewed", async () => {
    let nowMs = 1_762_750_300_000;
    const now = () => nowMs;
    const store = memoryStore(now);
    const gate = createGate();
    const times = { syncBudgetMs: 0, leaseMs: 20_000, lostAfterMs: 0, now };
    const first = createTestHost({ ...times, store, renewMs: 5, agent: gate.agent });
    const second = createTestHost({ ...times, store });
    const { result } = await first.call("execute_task", hello);
    const name = { task_id: result?.task_id };
    for (let renewals = 0; renewals < 5; renewals += 1) {
      nowMs += 19_000;
      await eventually(
        async () =>
          (await store.get({ id: result?.task_id ?? "" }))?.lease?.untilMs === nowMs + 20_000,
      );
      expect((await second.call("get_task", name)).result?.status).toBe("accepted");
    }
    gate.letGo();
    expect(
      (await second.call("get_task", { ...name, wait_ms: 10_000 })).result?.response_text,
    ).toBe("done");
  });

  it("reports a cancel through another host at once although the agent still works", async () => {
    const store = memoryStore();
    const gate = createGate({ heedsSignal: false });
    const first = createTestHost({ store, agent: gate.agent, syncBudgetMs: 0 });
    const second = createTestHost({ store });
    const { result } = await first.call("execute_task", hello);
    const name = { task_id: result?.task_id };
    await gate.firstStart;
    await second.call("cancel_task", name);
    const { error } = await first.call("get_task", { ...name, wait_ms: 1000 });
    expect(error?.data.reason).toBe("canceled");
    gate.letGo();
  });
});

describe("a host that misses the confirmation of its lease", () => {
  it("claims a lease again when the confirmation was lost, and starts the agent", async () => {
    const store = memoryStore();
    let isSilent = true;
    const silent: TaskStore<ExecutionTask> = {
      ...store,
      async replace(request) {
        const storedTask = await store.replace(request);
        if (!isSilent) return storedTask;
        isSilent = false;
        throw new Error("the answer is lost");
      },
    };
    const host = createTestHost({ store: silent, agent: answering("done") });
    expect((await host.call("execute_task", hello)).result?.response_text).toBe("done");
    expect(isSilent).toBe(false);
  });
});

describe("a host that is late with its renewal", () => {
  it("does not give up its own running task when the renewal is late", async () => {
    let nowMs = 1_762_750_300_000;
    const now = () => nowMs;
    const gate = createGate();
    const { call } = createTestHost({
      store: memoryStore(now),
      now,
      agent: gate.agent,
      syncBudgetMs: 0,
    });
    const { result } = await call("execute_task", hello);
    nowMs += 600_000;
    expect((await call("get_task", { task_id: result?.task_id })).result?.status).toBe("accepted");
    gate.letGo();
    const pollResult = await call("get_task", { task_id: result?.task_id, wait_ms: 10_000 });
    expect(pollResult.result?.response_text).toBe("done");
  });

  it("stops the agent when the store stays unavailable until others may give up the task", async () => {
    let nowMs = 1_762_750_300_000;
    const now = () => nowMs;
    const dying = mortalStore(memoryStore(now));
    const gate = createGate();
    const times = { syncBudgetMs: 0, leaseMs: 20_000, renewMs: 5, lostAfterMs: 30_000 };
    const { call, lines, host } = createTestHost({
      ...times,
      store: dying.store,
      now,
      agent: gate.agent,
    });
    await call("execute_task", hello);
    await gate.firstStart;
    dying.kill();
    nowMs += 29_000;
    const failures = () => lines.filter((line) => line.includes("store_failed")).length;
    await eventually(() => failures() > 2);
    expect(gate.started[0]?.context.signal.aborted).toBe(false);
    nowMs += 21_000;
    await eventually(() => !host.busy());
    expect(gate.started[0]?.context.signal.aborted).toBe(true);
  });
});

describe("a host that dies while its agent works", () => {
  it("reports the task of a dead host as lost and never runs it again", async () => {
    const store = memoryStore();
    const dying = mortalStore(store);
    const gate = createGate();
    const first = createTestHost({ ...brief, store: dying.store, agent: gate.agent });
    const id = randomUUID();
    const { result } = await first.call("execute_task", hello, { id });
    dying.kill();
    const second = createTestHost({ ...brief, store, agent: gate.agent });
    const pollResult = await second.call("get_task", { request_id: id, wait_ms: 20_000 });
    expect(pollResult.error?.data).toMatchObject({
      reason: "execution_failed",
      lost: true,
      task_id: result?.task_id,
    });
    const repeatedCall = await second.call("execute_task", hello, { id });
    expect(repeatedCall.error?.data).toMatchObject({ reason: "execution_failed", lost: true });
    expect(gate.started).toHaveLength(1);
    const lossLines = second.lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === "task_lost");
    expect(lossLines).toMatchObject([{ request_id: id, task_id: result?.task_id }]);
  });

  it("waits for the lease and the grace period before it gives up a task", async () => {
    let nowMs = 1_762_750_300_000;
    const now = () => nowMs;
    const store = memoryStore(now);
    const dying = mortalStore(store);
    const gate = createGate();
    const first = createTestHost({
      syncBudgetMs: 0,
      leaseMs: 20_000,
      lostAfterMs: 30_000,
      store: dying.store,
      agent: gate.agent,
      now,
    });
    const { result } = await first.call("execute_task", { ...hello });
    dying.kill();
    const second = createTestHost({ store, now, lostAfterMs: 30_000 });
    nowMs += 49_999;
    expect((await second.call("get_task", { task_id: result?.task_id })).result?.status).toBe(
      "accepted",
    );
    nowMs += 1;
    expect((await second.call("get_task", { task_id: result?.task_id })).error?.data.lost).toBe(
      true,
    );
    await first.host.stop({ graceMs: 0 });
  });

  it("aborts the agent of a host that returns too late and ignores its outcome", async () => {
    const store = memoryStore();
    let reachable = true;
    const replace: typeof store.replace = (request) =>
      reachable ? store.replace(request) : Promise.reject(new Error("partition"));
    const gate = createGate();
    const first = createTestHost({ ...brief, store: { ...store, replace }, agent: gate.agent });
    const { result } = await first.call("execute_task", hello);
    await gate.firstStart;
    reachable = false;
    const second = createTestHost({ ...brief, store });
    const lossResult = await second.call("get_task", { task_id: result?.task_id, wait_ms: 20_000 });
    reachable = true;
    gate.letGo();
    await eventually(() => !first.host.busy());
    expect(
      await second.call("get_task", { task_id: result?.task_id }, { id: lossResult.id as string }),
    ).toEqual(lossResult);
  });
});

describe("a host that dies between creating a task and starting it", () => {
  const dyingAtStart = (store: TaskStore<ExecutionTask>) => ({
    ...store,
    replace: () => Promise.reject(new Error("dead")),
  });

  it.each(["get_task", "execute_task"])(
    "starts a task that a dead host had only created, on the next %s",
    async (method) => {
      const store = memoryStore();
      const id = randomUUID();
      const { error } = await createTestHost({ store: dyingAtStart(store) }).call(
        "execute_task",
        hello,
        { id },
      );
      expect(error?.data).toMatchObject({ reason: "unavailable", retryable: true });
      const gate = createGate();
      const second = createTestHost({ store, agent: gate.agent });
      const params = method === "get_task" ? { request_id: id, wait_ms: 10_000 } : hello;
      const answer = second.call(method, params, method === "get_task" ? {} : { id });
      await gate.firstStart;
      gate.letGo();
      expect((await answer).result?.response_text).toBe("done");
      expect(gate.started[0]?.task).toMatchObject(hello);
    },
  );

  it("keeps the deadline of a task that a dead host had only created", async () => {
    let nowMs = 1_762_750_300_000;
    const now = () => nowMs;
    const store = memoryStore(now);
    const id = randomUUID();
    const params = { ...hello, timeout_ms: 60_000 };
    await createTestHost({ store: dyingAtStart(store), now }).call("execute_task", params, { id });
    nowMs += 60_000;
    const gate = createGate();
    const { error } = await createTestHost({ store, now, agent: gate.agent }).call(
      "execute_task",
      params,
      { id },
    );
    expect(error?.data.reason).toBe("timeout");
    expect(gate.started).toHaveLength(0);
  });
});

describe("a host that stops", () => {
  it("refuses new tasks while it stops, finishes running tasks and answers their callers", async () => {
    const gate = createGate();
    const { call, host } = createTestHost({ agent: gate.agent });
    const running = call("execute_task", hello);
    await gate.firstStart;
    const stopping = host.stop({ graceMs: 10_000 });
    const refusal = await call("execute_task", hello);
    expect(refusal.error?.data).toMatchObject({ reason: "unavailable", retryable: true });
    gate.letGo();
    await stopping;
    expect((await running).result?.response_text).toBe("done");
    expect(host.busy()).toBe(false);
  });

  it("waits for a task whose lease it is claiming", async () => {
    const store = memoryStore();
    const { promise: askingStart, resolve: noteAsked } = Promise.withResolvers<void>();
    const { promise: free, resolve: letGo } = Promise.withResolvers<void>();
    const replace: typeof store.replace = async (request) => {
      noteAsked();
      await free;
      return store.replace(request);
    };
    const gate = createGate();
    const { call, host } = createTestHost({ store: { ...store, replace }, agent: gate.agent });
    const running = call("execute_task", hello);
    await askingStart;
    let isStopped = false;
    const stopping = host.stop({ graceMs: 10_000 }).then(() => {
      isStopped = true;
    });
    letGo();
    await gate.firstStart;
    expect(isStopped).toBe(false);
    gate.letGo();
    await stopping;
    expect((await running).result?.response_text).toBe("done");
  });

  it("aborts what still runs after the grace period and reports it as lost", async () => {
    const gate = createGate({ heedsSignal: false });
    const { call, host, store } = createTestHost({ agent: gate.agent });
    const id = randomUUID();
    const running = call("execute_task", hello, { id });
    await gate.firstStart;
    await host.stop({ graceMs: 10 });
    expect(gate.started[0]?.context.signal.aborted).toBe(true);
    expect((await running).error?.data).toMatchObject({ reason: "execution_failed", lost: true });
    const next = createTestHost({ store, agent: answering("again") });
    expect((await next.call("execute_task", hello, { id })).error?.data.lost).toBe(true);
    gate.letGo();
  });
});

const minuteMs = 60_000;

/** A host whose process still lives for `leftMs` by the test's clock. */
function hostWith({
  leftMs,
  ...options
}: { leftMs: number } & Parameters<typeof createTestHost>[0]) {
  const clock = { nowMs: 1_760_000_000_000 };
  const endsAtMs = clock.nowMs + leftMs;
  const now = () => clock.nowMs;
  const store = options.store ?? memoryStore(now);
  return {
    clock,
    ...createTestHost({ now, processLeftMs: () => endsAtMs - now(), ...options, store }),
  };
}

const withTime = (timeoutMs: number) => ({ ...hello, timeout_ms: timeoutMs });
const refusal = { code: -32077, data: { reason: "session_ending", retryable: true } };

describe("a task that may outlive the host", () => {
  it("refuses a task that may outlive the host before anything is stored", async () => {
    const { agent, started } = createGate();
    const { call } = hostWith({ agent, leftMs: 10 * minuteMs });
    const id = randomUUID();
    const { error } = await call("execute_task", withTime(10 * minuteMs), { id });
    expect(error).toMatchObject(refusal);
    expect(error?.data.task_id).toBeUndefined();
    expect(started).toHaveLength(0);
    expect((await call("get_task", { request_id: id })).error?.data.reason).toBe("task_not_found");
  });

  it("accepts a task that fits with a minute to spare, and not later", async () => {
    const { call, clock } = hostWith({ leftMs: 10 * minuteMs });
    expect((await call("execute_task", withTime(9 * minuteMs))).result?.status).toBe("success");
    clock.nowMs += 5000;
    expect((await call("execute_task", withTime(9 * minuteMs))).error).toMatchObject(refusal);
    expect((await call("execute_task", withTime(8 * minuteMs))).result?.status).toBe("success");
  });

  it("gives a task without a timeout the remaining time, which must be at least 15 minutes", async () => {
    const { agent, firstStart, letGo } = createGate();
    const { call, clock, store } = hostWith({ agent, leftMs: 30 * minuteMs, syncBudgetMs: 0 });
    const { result } = await call("execute_task", hello);
    await firstStart;
    const task = await store.get({ id: result?.task_id ?? "" });
    expect((task?.deadlineAtMs ?? 0) - clock.nowMs).toBe(29 * minuteMs);
    clock.nowMs += 15 * minuteMs;
    expect((await call("execute_task", hello)).error).toMatchObject(refusal);
    letGo();
  });

  it("finds a running task for a repeated request although a new one would not fit", async () => {
    const { agent, started, letGo } = createGate();
    const { call, clock } = hostWith({ agent, leftMs: 20 * minuteMs, syncBudgetMs: 0 });
    const id = randomUUID();
    const first = await call("execute_task", withTime(15 * minuteMs), { id });
    clock.nowMs += 10 * minuteMs;
    const again = await call("execute_task", withTime(15 * minuteMs), { id });
    expect(again.result).toMatchObject({ status: "accepted", task_id: first.result?.task_id });
    expect(started).toHaveLength(1);
    letGo();
  });
});

describe("an answer to a question", () => {
  const question = { type: "question", prompt: "Shall I?" } as const;

  it("refuses an answer if the rest of the task does not fit, and accepts it on a host with more time", async () => {
    const clock = { nowMs: 1_760_000_000_000 };
    const now = () => clock.nowMs;
    const store = memoryStore(now);
    let leftMs = 60 * minuteMs;
    const asking = createTestHost({
      store,
      now,
      agent: yielding(question),
      processLeftMs: () => leftMs,
    });
    const { result } = await asking.call("execute_task", withTime(20 * minuteMs));
    expect(result?.status).toBe("input_required");
    const answer = { task_id: result?.task_id, text: "yes" };
    leftMs = 15 * minuteMs;
    // The time of the task stands still while it waits.
    clock.nowMs += 3600_000;
    expect((await asking.call("answer_task", answer)).error).toMatchObject(refusal);
    expect((await asking.call("get_task", { task_id: result?.task_id })).result?.status).toBe(
      "input_required",
    );
    const fresh = createTestHost({
      store,
      now,
      agent: answering("done"),
      processLeftMs: () => 60 * minuteMs,
    });
    expect((await fresh.call("answer_task", answer)).error).toBeUndefined();
    await eventually(
      async () => (await store.get({ id: String(result?.task_id) }))?.state === "completed",
    );
  });
});

it("starts no task on a read that the host cannot finish, and leaves it to the next host", async () => {
  const store = memoryStore();
  const requestId = randomUUID();
  const id = deriveTaskId({ principal: "anyone", requestId }) ?? "";
  const submission = {
    ...{ principal: "anyone", taskId: id, requestId, fingerprint: "", receivedAtMs: Date.now() },
    ...{ input: withTime(20 * minuteMs), trace: createTrace() },
  };
  // Whoever stored it died before the run began.
  await store.create({
    item: createExecutionTask({
      submission,
      maxTaskMs: 60 * minuteMs,
      retentionMs: 60_000,
      newId: randomUUID,
    }),
  });
  const old = createTestHost({ store, processLeftMs: () => 10 * minuteMs });
  const fresh = createTestHost({ store, processLeftMs: () => 60 * minuteMs });
  expect((await old.call("get_task", { task_id: id })).result?.status).toBe("accepted");
  expect((await store.get({ id }))?.state).toBe("submitted");
  await fresh.call("get_task", { task_id: id });
  await eventually(async () => (await store.get({ id }))?.state === "completed");
});
