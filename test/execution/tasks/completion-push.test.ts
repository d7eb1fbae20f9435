/** The completion push: which ends and which progress of a task are pushed, and that a dead queue changes nothing. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { createExecutionWorker } from "@sekisho/execution/execution-worker.ts";
import type { HostOptions } from "@sekisho/execution/host.ts";
import {
  endChange,
  questionChange,
  renewChange,
  reportChange,
  type TaskChange,
} from "@sekisho/execution/tasks/changes.ts";
import { createCompletionPush } from "@sekisho/execution/tasks/completion-push.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import {
  createGate,
  createTestHost,
  eventually,
  hello,
  memoryStore,
  yielding,
} from "../test-host.ts";
import { recordOf } from "./records.ts";

const pushParams = { ...hello, callback: true };

/** What was pushed, in order. `send` may be given to fail or to hang. */
function createCompletions(send: TaskQueue["send"] = async () => {}) {
  const pushes: unknown[] = [];
  const completions: TaskQueue = {
    async send(message) {
      pushes.push(JSON.parse(message.body));
      await send(message);
    },
  };
  return { completions, pushed: pushes };
}

/** A host that accepts at once, and one task of it. */
async function acceptedBy({
  params = pushParams,
  id = randomUUID(),
  ...options
}: Partial<HostOptions> & { agent?: Agent; params?: object; id?: string | number }) {
  const host = createTestHost({ syncBudgetMs: 0, ...options });
  const { result } = await host.call("execute_task", params, { id });
  const taskId = result?.task_id ?? "";
  return { ...host, id, taskId, completion: { request_id: id, task_id: taskId } };
}

describe("the push at the end of a task", () => {
  it.each<[string, Parameters<typeof yielding>]>([
    ["completed", [{ type: "answer", text: "the outcome" }]],
    ["failed", [{ type: "failure", reason: "execution_failed" }]],
    ["rejected", [{ type: "failure", reason: "plan_error" }]],
  ])("pushes once the two ids of a task that is %s", async (state, updates) => {
    const { completions, pushed } = createCompletions();
    const gate = createGate();
    const agent: Agent = async function* (task, context) {
      for await (const _ of runAgent(gate.agent, task, context));
      yield* updates;
    };
    const { completion, taskId, store } = await acceptedBy({ completions, agent });
    expect(pushed).toEqual([]);
    gate.letGo();
    await eventually(() => pushed.length > 0);
    expect((await store.get({ id: taskId }))?.state).toBe(state);
    expect(pushed).toEqual([completion]);
  });

  it("pushes a question and the later end, even within the sync budget", async () => {
    const { completions, pushed } = createCompletions();
    let nowMs = Date.now();
    const agent: Agent = async function* (task) {
      nowMs += 20_000;
      if (task.answers.length === 0) yield { type: "question", prompt: "Shall I?" };
      else yield { type: "answer", text: "done" };
    };
    const now = () => nowMs;
    const { completion, taskId, call } = await acceptedBy({
      completions,
      agent,
      now,
      syncBudgetMs: 10_000,
    });
    await eventually(() => pushed.length === 1);
    nowMs -= 30_000;
    await call("answer_task", { task_id: taskId, text: "yes" });
    await eventually(() => pushed.length === 2);
    expect(pushed).toEqual([completion, completion]);
  });

  it("pushes the end of a canceled task once", async () => {
    const { completions, pushed } = createCompletions();
    const { completion, taskId, call } = await acceptedBy({
      completions,
      agent: createGate().agent,
    });
    for (const _ of [1, 2]) await call("cancel_task", { task_id: taskId });
    await eventually(() => pushed.length > 0);
    expect(pushed).toEqual([completion]);
  });

  it("pushes the end of a lost task once when another host gives it up", async () => {
    let nowMs = 1_762_750_300_000;
    const now = () => nowMs;
    const store = memoryStore(now);
    const dead = await acceptedBy({
      store,
      now,
      agent: createGate({ heedsSignal: false }).agent,
      renewMs: 1e6,
    });
    const { completions, pushed } = createCompletions();
    const other = createTestHost({ store, now, completions, syncBudgetMs: 0 });
    nowMs += 600_000;
    for (const _ of [1, 2]) {
      const { error } = await other.call("get_task", { task_id: dead.taskId });
      expect(error?.data).toMatchObject({ lost: true });
    }
    await eventually(() => pushed.length > 0);
    expect(pushed).toEqual([dead.completion]);
    await dead.host.stop({ graceMs: 0 });
  });

  it("waits for the push when a task is stopped with its host", async () => {
    const { completions, pushed } = createCompletions(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      pushed.push("done");
    });
    const { completion, host } = await acceptedBy({ completions, agent: createGate().agent });
    await host.stop({ graceMs: 0 });
    expect(pushed).toEqual([completion, "done"]);
  });

  it("pushes a request id in lower case", async () => {
    const { completions, pushed } = createCompletions();
    const id = randomUUID();
    const { taskId } = await acceptedBy({ completions, id: id.toUpperCase() });
    await eventually(() => pushed.length > 0);
    expect(pushed).toEqual([{ request_id: id, task_id: taskId }]);
  });
});

describe("a task without a push", () => {
  it.each([
    ["whose request returned the outcome itself", { syncBudgetMs: 10_000 }],
    ["whose request requested no push", { params: hello }],
    ["whose request declined a push", { params: { ...hello, callback: false } }],
    ["whose request id is not a UUID", { id: "order 66" }],
    ["whose request id is a number", { id: 66 }],
  ])("pushes nothing of a task %s", async (_what, options) => {
    const { completions, pushed } = createCompletions();
    const { host, lines } = await acceptedBy({ completions, ...options });
    await eventually(() => lines.some((line) => line.includes("task_ended")));
    await host.stop({ graceMs: 1000 });
    expect(pushed).toEqual([]);
  });
});

describe("an unavailable completion queue", () => {
  it.each<[string, TaskQueue["send"]]>([
    ["refuses", () => Promise.reject(new Error("the queue says hunter2"))],
    [
      "throws",
      () => {
        throw new Error("the queue says hunter2");
      },
    ],
    ["never answers", () => new Promise(() => {})],
  ])("completes the task and logs the lost push when the queue %s", async (_how, send) => {
    const { completions, pushed } = createCompletions(send);
    const gate = createGate();
    const { call, taskId, lines, completion } = await acceptedBy({
      completions,
      agent: gate.agent,
    });
    gate.letGo();
    const { result } = await call("get_task", { task_id: taskId, wait_ms: 10_000 });
    expect(result?.response_text).toBe("done");
    await eventually(() => lines.some((line) => line.includes("completion_not_pushed")));
    expect(pushed).toEqual([completion]);
    expect(lines.join()).not.toContain("hunter2");
  });
});

describe("an Execution worker", () => {
  /** One task that a host has queued and a worker runs. */
  async function runQueued({ send, acceptedMs }: { send?: TaskQueue["send"]; acceptedMs: number }) {
    let nowMs = 1_762_750_300_000;
    const now = () => nowMs;
    const store = memoryStore(now);
    const { completions, pushed: pushes } = createCompletions(send);
    const queuedBodies: string[] = [];
    const taskQueue: TaskQueue = { send: async ({ body }) => void queuedBodies.push(body) };
    const { completion } = await acceptedBy({ store, now, taskQueue });
    const times = { syncBudgetMs: 1200, now };
    const worker = createExecutionWorker({
      agent: yielding({ type: "answer", text: "done" }),
      store,
      completions,
      ...times,
    });
    nowMs += acceptedMs;
    await worker.run({
      taskId: JSON.parse(queuedBodies[0] ?? "").taskId,
      signal: new AbortController().signal,
    });
    return { pushed: pushes, completion };
  }

  it("pushes the end of a task before its run resolves", async () => {
    const { pushed, completion } = await runQueued({ acceptedMs: 1200 });
    expect(pushed).toEqual([completion]);
  });

  it("pushes nothing while the request may still return the outcome", async () => {
    expect((await runQueued({ acceptedMs: 1199 })).pushed).toEqual([]);
  });
});

const requestId = randomUUID();
const owner = "runner";
const lease = { owner, untilMs: 9e15 };
const tells = (text: string): TaskChange => reportChange({ owner, news: { progress: { text } } });
const ends = endChange({ owner, outcome: { type: "success", text: "done" }, expiresAtMs: 9e15 });
const question = { prompt: "Shall I?", messageId: "m-1", expiresAtMs: 9e15 };
const asks = questionChange({ owner, question, expiresAtMs: 9e15 });

/** A task at work, the changes that its runner makes, and how many pushes each second brought. */
function createRunner({
  changes = {},
  syncBudgetMs = 0,
  writingBudgetMs = Number.POSITIVE_INFINITY,
}: {
  changes?: Partial<ExecutionTask>;
  syncBudgetMs?: number;
  writingBudgetMs?: number;
} = {}) {
  let task = recordOf({
    requestId,
    callback: true,
    state: "working",
    lease,
    createdAtMs: Date.now(),
    ...changes,
  });
  let pushCount = 0;
  const push = createCompletionPush({
    queue: { send: async () => void pushCount++ },
    syncBudgetMs,
    writingBudgetMs,
    now: Date.now,
    log: silentLog,
  });
  const changeTask = push.wrapChangeTask(async ({ task, change }) => {
    const next = change(task);
    return next === undefined ? { task, isChanged: false } : { task: next, isChanged: true };
  });
  return {
    async make(change: TaskChange) {
      task = (await changeTask({ task, change })).task ?? task;
    },
    /** It goes on in another way. */
    set(more: Partial<ExecutionTask>) {
      task = { ...task, ...more };
    },
    pushed: () => pushCount,
    async pass(ms: number) {
      await jest.advanceTimersByTimeAsync(ms);
    },
  };
}

describe("progress", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it("pushes progress at once, then at most every ten seconds, including the latest", async () => {
    const { make, pass, pushed } = createRunner();
    await make(tells("0"));
    expect(pushed()).toBe(1);
    for (let second = 1; second <= 9; second++) {
      await pass(1000);
      await make(tells(`${second}`));
    }
    expect(pushed()).toBe(1);
    await pass(1000);
    expect(pushed()).toBe(2);
    await pass(60_000);
    expect(pushed()).toBe(2);
    await make(tells("later"));
    expect(pushed()).toBe(3);
  });

  it("pushes the beginning of an answer at once although other progress was just pushed", async () => {
    const { make, pass, pushed } = createRunner();
    const writes = (partial_text: string) =>
      reportChange({ owner, news: { progress: { text: "more", partial_text } } });
    await make(tells("half"));
    await make(tells("more"));
    expect(pushed()).toBe(1);
    await make(writes("A"));
    expect(pushed()).toBe(2);
    await make(writes("A sekisho"));
    await pass(9000);
    expect(pushed()).toBe(2);
    await pass(1000);
    expect(pushed()).toBe(3);
  });

  it("pushes only new progress, not a renewed lease, an artifact or repeated progress", async () => {
    const { make, pass, pushed } = createRunner();
    await make(renewChange({ owner, untilMs: 9e15 }));
    await make(reportChange({ owner, news: { artifacts: [{ name: "a.txt", text: "a" }] } }));
    expect(pushed()).toBe(0);
    await make(tells("half"));
    await pass(20_000);
    await make(renewChange({ owner, untilMs: 9e15 }));
    await make(tells("half"));
    expect(pushed()).toBe(1);
  });

  it.each<[string, TaskChange]>([
    ["an end", ends],
    ["a question", asks],
  ])("pushes %s at once and nothing after it", async (_what, change) => {
    const { make, pass, pushed } = createRunner();
    await make(tells("half"));
    await make(tells("more"));
    expect(pushed()).toBe(1);
    await make(change);
    expect(pushed()).toBe(2);
    await pass(60_000);
    expect(pushed()).toBe(2);
    expect(jest.getTimerCount()).toBe(0);
  });

  it("pushes progress at once after the question was answered", async () => {
    const { make, set, pushed } = createRunner();
    await make(tells("half"));
    await make(asks);
    set({ state: "working", lease });
    await make(tells("more"));
    expect(pushed()).toBe(3);
  });

  it("pushes the end within the sync budget when a partial answer ended the request early", async () => {
    const { make, pushed } = createRunner({ syncBudgetMs: 20_000, writingBudgetMs: 500 });
    await make(reportChange({ owner, news: { progress: { partial_text: "A" } } }));
    expect(pushed()).toBe(0);
    await make(ends);
    expect(pushed()).toBe(1);
  });

  it.each<[string, Parameters<typeof createRunner>[0]]>([
    ["whose request requested no push", { changes: { callback: undefined } }],
    ["whose request may still return the outcome", { syncBudgetMs: 20_000 }],
  ])("pushes no progress of a task %s", async (_what, options) => {
    const { make, pass, pushed } = createRunner(options);
    await make(tells("half"));
    await pass(15_000);
    expect(pushed()).toBe(0);
  });
});

describe("a host", () => {
  it("pushes the progress of a task and then its end", async () => {
    let pushCount = 0;
    const pushEnd = Promise.withResolvers<void>();
    const agent: Agent = async function* () {
      yield { type: "progress", text: "half" };
      await pushEnd.promise;
      yield { type: "answer", text: "done" };
    };
    const completions = { send: async () => void pushCount++ };
    const { host, call } = createTestHost({ agent, completions, syncBudgetMs: 0 });
    await call("execute_task", { ...hello, callback: true });
    await eventually(() => pushCount === 1);
    pushEnd.resolve();
    await eventually(() => pushCount === 2);
    await host.stop({ graceMs: 1000 });
  });

  it("does not keep the process alive for a delayed push", async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((type) => type === "Timeout").length;
    const { make, pushed } = createRunner();
    const timerCount = timers();
    await make(tells("half"));
    await make(tells("more"));
    await eventually(() => pushed() === 1);
    expect(timers()).toBe(timerCount);
    await make(ends);
  });
});
