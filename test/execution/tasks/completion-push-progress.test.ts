/** Progress of an accepted task is pushed like its end, but seldom; its end is never held back by that. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import {
  endChange,
  questionChange,
  renewChange,
  reportChange,
  type TaskChange,
} from "../../../lambdas/execution/tasks/changes.ts";
import { createCompletionPush } from "../../../lambdas/execution/tasks/completion-push.ts";
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { recordOf } from "../a2a/records.ts";
import { createTestHost, eventually, hello } from "../test-host.ts";

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
}: {
  changes?: Partial<ExecutionTask>;
  syncBudgetMs?: number;
} = {}) {
  let task = recordOf({ requestId, callback: true, state: "working", lease, createdAtMs: Date.now(), ...changes });
  let pushed = 0;
  const push = createCompletionPush({
    queue: { send: async () => void pushed++ },
    syncBudgetMs,
    now: Date.now,
    log: silentLog,
  });
  const changeTask = push.after(async ({ task: before, change }) => {
    const next = change(before);
    return next === undefined ? { task: before, changed: false } : { task: next, changed: true };
  });
  return {
    async make(change: TaskChange) {
      task = (await changeTask({ task, change })).task ?? task;
    },
    /** It goes on in another way. */
    set(more: Partial<ExecutionTask>) {
      task = { ...task, ...more };
    },
    pushed: () => pushed,
    async pass(ms: number) {
      await jest.advanceTimersByTimeAsync(ms);
    },
  };
}

describe("progress", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it("is pushed at once, then every ten seconds at most, and what came last is pushed too", async () => {
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

  it("is what the agent tells, not a renewed lease and not what was told before", async () => {
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
  ])("does not hold back %s, after which nothing is pushed", async (_what, change) => {
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

  it("is pushed again at once when the question was answered", async () => {
    const { make, set, pushed } = createRunner();
    await make(tells("half"));
    await make(asks);
    set({ state: "working", lease });
    await make(tells("more"));
    expect(pushed()).toBe(3);
  });

  it.each<[string, Parameters<typeof createRunner>[0]]>([
    ["whose request did not wish it", { changes: { callback: undefined } }],
    ["whose request may still bring the outcome", { syncBudgetMs: 20_000 }],
  ])("is not pushed of a task %s", async (_what, options) => {
    const { make, pass, pushed } = createRunner(options);
    await make(tells("half"));
    await pass(15_000);
    expect(pushed()).toBe(0);
  });
});

describe("a host", () => {
  it("pushes the progress of its tasks, and then their end", async () => {
    let pushed = 0;
    const told = Promise.withResolvers<void>();
    const agent: Agent = async function* () {
      yield { type: "progress", text: "half" };
      await told.promise;
      yield { type: "answer", text: "done" };
    };
    const completions = { send: async () => void pushed++ };
    const { host, call } = createTestHost({ agent, completions, syncBudgetMs: 0 });
    await call("execute_task", { ...hello, callback: true });
    await eventually(() => pushed === 1);
    told.resolve();
    await eventually(() => pushed === 2);
    await host.stop({ graceMs: 1000 });
  });

  it("is kept alive by no push that waits for its time", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((type) => type === "Timeout").length;
    const { make, pushed } = createRunner();
    const before = timers();
    await make(tells("half"));
    await make(tells("more"));
    await eventually(() => pushed() === 1);
    expect(timers()).toBe(before);
    await make(ends);
  });
});
