/** A host that runs no agent itself: tasks go through a queue to a worker, and the store tells how they ended. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { createExecutionWorker } from "@sekisho/execution/execution-worker.ts";
import type { HostOptions } from "@sekisho/execution/host.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { createQueuedHost } from "./runs/queued-host.ts";
import { answering, createGate, eventually, hello, memoryStore, yielding } from "./test-host.ts";

const never = new AbortController().signal;
const minuteMs = 60_000;

describe("a host that queues its tasks", () => {
  it("returns the result itself when the worker finishes within the sync budget", async () => {
    const { call, startWorker, host } = createQueuedHost();
    startWorker({ agent: answering("from the worker") });
    expect((await call("execute_task", hello)).result?.response_text).toBe("from the worker");
    expect(host.busy()).toBe(false);
  });

  it("groups queue messages by caller without revealing the name of the caller", async () => {
    const authenticate: Authenticator["authenticate"] = async ({ header }) => header("x-caller");
    const { call, groups } = createQueuedHost({
      syncBudgetMs: 0,
      authenticator: { kind: "bearer", authenticate },
    });
    const callers = [
      "111122223333:role/Slack",
      "111122223333:role/Other",
      "111122223333:role/Slack",
    ];
    for (const caller of callers)
      await call("execute_task", hello, { headers: { "x-caller": caller } });
    expect(groups).toEqual([groups[0], groups[1], groups[0]]);
    expect(groups[0]).not.toBe(groups[1]);
    // What SQS takes for a group (task-queue.ts), or the message would have none.
    for (const group of groups) expect(group).toMatch(/^[0-9a-f]{64}$/);
  });

  it("answers accepted after the sync budget and reads progress and result from the store", async () => {
    const { call, startWorker } = createQueuedHost({ syncBudgetMs: 0 });
    const gate = createGate({ updates: [{ type: "progress", text: "half" }] });
    startWorker({ agent: gate.agent });
    const { result } = await call("execute_task", hello);
    expect(result?.status).toBe("accepted");
    const name = { task_id: result?.task_id };
    await eventually(async () => (await call("get_task", name)).result?.progress?.text === "half");
    gate.letGo();
    await eventually(async () => (await call("get_task", name)).result?.response_text === "done");
  });

  it("starts the agent once for a repeated request and several workers", async () => {
    const { call, startWorker, sent } = createQueuedHost({ syncBudgetMs: 0 });
    const id = randomUUID();
    await Promise.all(Array.from({ length: 8 }, () => call("execute_task", hello, { id })));
    expect(sent.length).toBeGreaterThan(1);
    const gate = createGate();
    startWorker({ agent: gate.agent });
    startWorker({ agent: gate.agent });
    await gate.firstStart;
    gate.letGo();
    expect(
      (await call("get_task", { request_id: id, wait_ms: 10_000 })).result?.response_text,
    ).toBe("done");
    expect(gate.started).toHaveLength(1);
  });

  it("puts only the task id into the queue, never a text, a token or a name", async () => {
    const { call, sent, lines } = createQueuedHost({ syncBudgetMs: 0 });
    const { result } = await call("execute_task", {
      ...hello,
      text: "hunter2",
      bot_token: "xoxb-hunter2",
      user_id: "U9",
    });
    expect(sent.map((body) => JSON.parse(body))).toEqual([{ taskId: result?.task_id }]);
    expect(lines.join("")).not.toContain("hunter2");
  });

  it("passes no bot token to the worker's agent", async () => {
    const { call, startWorker } = createQueuedHost();
    const gate = createGate();
    gate.letGo();
    startWorker({ agent: gate.agent });
    await call("execute_task", { ...hello, bot_token: "xoxb-hunter2" });
    expect(gate.started[0]?.task).toEqual({ ...hello, parts: [{ text: hello.text }], answers: [] });
  });

  it("answers unavailable when the queue fails, and queues the task when the request is repeated", async () => {
    const { call, startWorker, failing, sent } = createQueuedHost();
    startWorker({ agent: answering("at last") });
    const id = randomUUID();
    failing.sends = 1;
    expect((await call("execute_task", hello, { id })).error?.data).toMatchObject({
      reason: "unavailable",
      retryable: true,
    });
    expect((await call("execute_task", hello, { id })).result?.response_text).toBe("at last");
    expect(sent).toHaveLength(2);
  });

  it("answers accepted when the store cannot be read afterwards, because the task is queued", async () => {
    const store = { ...memoryStore(), get: () => Promise.reject(new Error("the store is away")) };
    const { call, sent } = createQueuedHost({ syncBudgetMs: 5000, store });
    expect((await call("execute_task", hello)).result?.status).toBe("accepted");
    expect(sent).toHaveLength(1);
  });

  it("returns a result that was stored just before the end of the sync budget", async () => {
    const store = memoryStore();
    let reads = 0;
    const get: typeof store.get = async (request) => {
      const task = await store.get(request);
      reads += 1;
      // The budget is over before a second regular read.
      return task && reads > 1
        ? { ...task, state: "completed", outcome: { type: "success", text: "just in time" } }
        : task;
    };
    const { call } = createQueuedHost({ syncBudgetMs: 1, store: { ...store, get } });
    expect((await call("execute_task", hello)).result).toMatchObject({
      response_text: "just in time",
    });
  });

  it("cancels a queued task, whose agent then never starts", async () => {
    const { call, startWorker } = createQueuedHost({ syncBudgetMs: 0 });
    const { result } = await call("execute_task", hello);
    await call("cancel_task", { task_id: result?.task_id });
    const gate = createGate();
    startWorker({ agent: gate.agent });
    const next = await call("execute_task", hello);
    gate.letGo();
    await eventually(
      async () =>
        (await call("get_task", { task_id: next.result?.task_id })).result?.status === "success",
    );
    expect(gate.started).toHaveLength(1);
    expect((await call("get_task", { task_id: result?.task_id })).error?.data.reason).toBe(
      "canceled",
    );
  });

  it("cancels a running task and aborts its agent at the next renewal of the lease", async () => {
    const { call, startWorker } = createQueuedHost({ syncBudgetMs: 0 });
    const gate = createGate();
    startWorker({ agent: gate.agent });
    const { result } = await call("execute_task", hello);
    await gate.firstStart;
    expect((await call("cancel_task", { task_id: result?.task_id })).result?.status).toBe(
      "canceled",
    );
    await eventually(() => gate.started[0]?.context.signal.aborted === true);
    expect((await call("get_task", { task_id: result?.task_id })).error?.data.reason).toBe(
      "canceled",
    );
  });
});

describe("a backlog", () => {
  async function waiting() {
    const time = { nowMs: 1_762_750_300_000 };
    const host = createQueuedHost({ syncBudgetMs: 0, now: () => time.nowMs });
    const { result } = await host.call("execute_task", hello);
    const name = { task_id: result?.task_id };
    return { ...host, time, poll: () => host.call("get_task", name), name };
  }

  it("queues a waiting task again after a minute, then at doubled intervals, however often it is polled", async () => {
    const { poll, sent, time } = await waiting();
    for (let polls = 0; polls < 10; polls += 1) await poll();
    expect(sent).toHaveLength(1);
    time.nowMs += minuteMs + 1;
    const answers = await Promise.all(Array.from({ length: 10 }, poll));
    expect(answers.map(({ result }) => result?.status)).toEqual(Array(10).fill("accepted"));
    expect(sent).toHaveLength(2);
    time.nowMs += minuteMs;
    await poll();
    expect(sent).toHaveLength(2);
    time.nowMs += 2;
    await poll();
    expect(sent).toHaveLength(3);
    time.nowMs += 2 * minuteMs;
    await poll();
    expect(sent).toHaveLength(3);
    time.nowMs += 10;
    await poll();
    expect(sent).toHaveLength(4);
    expect(new Set(sent).size).toBe(1);
  });

  it("queues a waiting task again 15 minutes after a failed attempt, however late that one was", async () => {
    const { poll, sent, failing, time } = await waiting();
    failing.sends = 1;
    time.nowMs += 4 * 60 * minuteMs;
    await poll();
    expect(sent).toHaveLength(2);
    time.nowMs += 15 * minuteMs;
    await poll();
    expect(sent).toHaveLength(2);
    time.nowMs += 1;
    await poll();
    expect(sent).toHaveLength(3);
  });

  it("does not queue a task again for a poll that waits", async () => {
    const { call, name, sent } = await waiting();
    await call("get_task", { ...name, wait_ms: 400 });
    expect(sent).toHaveLength(1);
  });

  it("answers a poll while the queue is unavailable", async () => {
    const { poll, sent, failing, time, lines } = await waiting();
    failing.sends = 1;
    time.nowMs += minuteMs + 1;
    expect((await poll()).result?.status).toBe("accepted");
    expect(sent).toHaveLength(2);
    expect(lines.join("")).toContain('"message":"enqueue_failed"');
  });

  it("ends a task that waited beyond its deadline as a timeout, without starting its agent", async () => {
    const { poll, time, startWorker } = await waiting();
    time.nowMs += 9 * 3600_000;
    const gate = createGate();
    startWorker({ agent: gate.agent });
    await eventually(async () => (await poll()).error?.data.reason === "timeout");
    expect(gate.started).toHaveLength(0);
  });
});

describe("a worker", () => {
  async function submitTask(store: TaskStore<ExecutionTask>, options: Partial<HostOptions> = {}) {
    const host = createQueuedHost({ syncBudgetMs: 0, store, ...options });
    const { result } = await host.call("execute_task", hello);
    return { ...host, taskId: result?.task_id ?? "", name: { task_id: result?.task_id } };
  }

  it("reports the task of a dead worker as lost and does not start it again", async () => {
    const store = memoryStore();
    const { call, taskId, name } = await submitTask(store);
    const gate = createGate();
    let alive = true;
    const dying: typeof store = {
      ...store,
      replace: async (request) =>
        alive ? store.replace(request) : Promise.reject(new Error("dead")),
    };
    const times = { leaseMs: 40, lostAfterMs: 40 };
    const first = createExecutionWorker({ ...times, store: dying, agent: gate.agent });
    void first.run({ taskId, signal: never });
    await gate.firstStart;
    alive = false;
    expect((await call("get_task", { ...name, wait_ms: 10_000 })).error?.data).toMatchObject({
      reason: "execution_failed",
      lost: true,
    });
    const second = createExecutionWorker({ ...times, store, agent: gate.agent });
    await second.run({ taskId, signal: never });
    expect(gate.started).toHaveLength(1);
  });

  it("resolves only after the outcome is stored", async () => {
    const store = memoryStore();
    const { taskId } = await submitTask(store);
    const gate = createGate();
    let isOver = false;
    const run = createExecutionWorker({ store, agent: gate.agent }).run({ taskId, signal: never });
    void run.then(() => (isOver = true));
    await gate.firstStart;
    expect([isOver, (await store.get({ id: taskId }))?.state]).toEqual([false, "working"]);
    gate.letGo();
    await run;
    expect((await store.get({ id: taskId }))?.state).toBe("completed");
  });

  it("ignores a task that is unknown, over, or run by another worker", async () => {
    const store = memoryStore();
    const { taskId, call } = await submitTask(store);
    const gate = createGate();
    const worker = createExecutionWorker({ store, agent: gate.agent });
    const other = createExecutionWorker({
      store,
      agent: yielding({ type: "failure", reason: "plan_error" }),
    });
    await worker.run({ taskId: randomUUID(), signal: never });
    const run = worker.run({ taskId, signal: never });
    await gate.firstStart;
    await other.run({ taskId, signal: never });
    gate.letGo();
    await run;
    await other.run({ taskId, signal: never });
    expect((await call("get_task", { task_id: taskId })).result?.response_text).toBe("done");
  });

  it("rejects when the store is unavailable, so that the message is delivered again", async () => {
    const store = memoryStore();
    const { taskId } = await submitTask(store);
    for (const method of ["get", "replace"] as const) {
      const away = { ...store, [method]: () => Promise.reject(new Error("away")) };
      // Its pauses are a random part of most of a minute.
      const worker = createExecutionWorker({ store: away, agent: answering("a"), random: () => 0 });
      const run = worker.run({ taskId, signal: never });
      await expect(run).rejects.toMatchObject({ reason: "unavailable" });
    }
    expect((await store.get({ id: taskId }))?.state).toBe("submitted");
  });

  it("stops the agent when the worker's time is over and stores the task as lost", async () => {
    const store = memoryStore();
    const { taskId, call, name } = await submitTask(store);
    const gate = createGate({ heedsSignal: false });
    const ending = new AbortController();
    const run = createExecutionWorker({ store, agent: gate.agent }).run({
      taskId,
      signal: ending.signal,
    });
    await gate.firstStart;
    ending.abort();
    await run;
    expect(gate.started[0]?.context.signal.aborted).toBe(true);
    expect((await call("get_task", name)).error?.data).toMatchObject({
      reason: "execution_failed",
      lost: true,
    });
  });

  it("starts nothing when its time is already over, and runs the task later", async () => {
    const store = memoryStore();
    const { taskId } = await submitTask(store);
    const worker = createExecutionWorker({ store, agent: answering("done") });
    await expect(worker.run({ taskId, signal: AbortSignal.abort() })).rejects.toThrow();
    expect((await store.get({ id: taskId }))?.state).toBe("submitted");
    await worker.run({ taskId, signal: never });
    expect((await store.get({ id: taskId }))?.state).toBe("completed");
  });

  it.each(["hangs", "fails"])(
    "leaves the task for its next message when the time ends while the store %s",
    async (how) => {
      const store = memoryStore();
      const { taskId } = await submitTask(store);
      const arrival = Promise.withResolvers<void>();
      const letGo = Promise.withResolvers<void>();
      const slow: typeof store = {
        ...store,
        async get(request) {
          arrival.resolve();
          if (how === "fails") throw new Error("away");
          await letGo.promise;
          return store.get(request);
        },
      };
      const ending = new AbortController();
      const worker = createExecutionWorker({
        store: slow,
        agent: answering("done"),
        random: () => 0.99,
      });
      const run = worker.run({ taskId, signal: ending.signal });
      await arrival.promise;
      // A turn later it waits for its next try.
      setImmediate(() => {
        ending.abort(new Error("The time is over."));
        letGo.resolve();
      });
      await expect(run).rejects.toThrow("The time is over.");
      expect((await store.get({ id: taskId }))?.state).toBe("submitted");
    },
  );
});
