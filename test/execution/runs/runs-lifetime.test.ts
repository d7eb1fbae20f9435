/** A host near the end of its life: it begins nothing that it cannot finish, and says so before anything is stored. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { deriveTaskId } from "../../../lambdas/execution/tasks/execution-task.ts";
import { createExecutionTask } from "../../../lambdas/execution/tasks/tasks.ts";
import { createTrace } from "../../../lambdas/shared/telemetry/telemetry.ts";
import { answering, createGate, createTestHost, eventually, hello, memoryStore, yielding } from "../test-host.ts";

const minuteMs = 60_000;

/** A host whose process still lives for `leftMs` by the test's clock. */
function hostWith({ leftMs, ...options }: { leftMs: number } & Parameters<typeof createTestHost>[0]) {
  const clock = { nowMs: 1_760_000_000_000 };
  const endsAtMs = clock.nowMs + leftMs;
  const now = () => clock.nowMs;
  const store = options.store ?? memoryStore(now);
  return { clock, ...createTestHost({ now, processLeftMs: () => endsAtMs - now(), ...options, store }) };
}
const withTime = (timeoutMs: number) => ({ ...hello, timeout_ms: timeoutMs });
const refusal = { code: -32077, data: { reason: "session_ending", retryable: true } };

describe("a task that may outlive the host", () => {
  it("is refused before anything is stored, and the agent does not begin", async () => {
    const { agent, started } = createGate();
    const { call } = hostWith({ agent, leftMs: 10 * minuteMs });
    const id = randomUUID();
    const { error } = await call("execute_task", withTime(10 * minuteMs), { id });
    expect(error).toMatchObject(refusal);
    expect(error?.data.task_id).toBeUndefined();
    expect(started).toHaveLength(0);
    expect((await call("get_task", { request_id: id })).error?.data.reason).toBe("task_not_found");
  });

  it("is taken where it fits with a minute to spare, and not a moment later", async () => {
    const { call, clock } = hostWith({ leftMs: 10 * minuteMs });
    expect((await call("execute_task", withTime(9 * minuteMs))).result?.status).toBe("success");
    clock.nowMs += 5000;
    expect((await call("execute_task", withTime(9 * minuteMs))).error).toMatchObject(refusal);
    expect((await call("execute_task", withTime(8 * minuteMs))).result?.status).toBe("success");
  });

  it("that names no time gets what is left, down to a quarter of an hour", async () => {
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

  it("is found all the same where it runs here already: its request is a repetition", async () => {
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

  it("is taken by the next host under the same id", async () => {
    const store = memoryStore();
    const id = randomUUID();
    const old = createTestHost({ store, processLeftMs: () => minuteMs });
    const fresh = createTestHost({ store, processLeftMs: () => 60 * minuteMs });
    expect((await old.call("execute_task", withTime(5 * minuteMs), { id })).error).toMatchObject(refusal);
    expect((await fresh.call("execute_task", withTime(5 * minuteMs), { id })).result?.status).toBe("success");
  });
});

describe("an answer to a question", () => {
  const question = { type: "question", prompt: "Shall I?" } as const;

  it("is refused where the rest of the task does not fit, and taken by a host that has the time", async () => {
    const clock = { nowMs: 1_760_000_000_000 };
    const now = () => clock.nowMs;
    const store = memoryStore(now);
    let leftMs = 60 * minuteMs;
    const asking = createTestHost({ store, now, agent: yielding(question), processLeftMs: () => leftMs });
    const { result } = await asking.call("execute_task", withTime(20 * minuteMs));
    expect(result?.status).toBe("input_required");
    const answer = { task_id: result?.task_id, text: "yes" };
    leftMs = 15 * minuteMs;
    // The time of the task stands still while it waits.
    clock.nowMs += 3600_000;
    expect((await asking.call("answer_task", answer)).error).toMatchObject(refusal);
    expect((await asking.call("get_task", { task_id: result?.task_id })).result?.status).toBe("input_required");
    const fresh = createTestHost({ store, now, agent: answering("done"), processLeftMs: () => 60 * minuteMs });
    expect((await fresh.call("answer_task", answer)).error).toBeUndefined();
    await eventually(async () => (await store.get({ id: String(result?.task_id) }))?.state === "completed");
  });
});

it("a read starts no task that the host cannot finish, and the next host does", async () => {
  const store = memoryStore();
  const requestId = randomUUID();
  const id = deriveTaskId({ principal: "anyone", requestId }) ?? "";
  const submission = {
    ...{ principal: "anyone", taskId: id, requestId, fingerprint: "", receivedAtMs: Date.now() },
    ...{ input: withTime(20 * minuteMs), trace: createTrace() },
  };
  // Whoever stored it died before the run began.
  await store.create({
    item: createExecutionTask({ submission, maxTaskMs: 60 * minuteMs, retentionMs: 60_000, newId: randomUUID }),
  });
  const old = createTestHost({ store, processLeftMs: () => 10 * minuteMs });
  const fresh = createTestHost({ store, processLeftMs: () => 60 * minuteMs });
  expect((await old.call("get_task", { task_id: id })).result?.status).toBe("accepted");
  expect((await store.get({ id }))?.state).toBe("submitted");
  await fresh.call("get_task", { task_id: id });
  await eventually(async () => (await store.get({ id }))?.state === "completed");
});
