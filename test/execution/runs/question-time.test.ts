/** A task's clock while it waits for a person: none of its own time passes, and the question ends at a time of its own. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import type { HostOptions } from "@sekisho/execution/host.ts";
import { answerChange, questionChange, startChange } from "@sekisho/execution/tasks/changes.ts";
import fc from "fast-check";
import { recordOf } from "../tasks/records.ts";
import { createTestHost, eventually, hello, memoryStore, type TestHost } from "../test-host.ts";
import { createQueuedHost } from "./queued-host.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

type Clock = { nowMs: number };

/** Works for `workMs` by the clock before each of its questions, and tells what it heard after the last one. */
function asking({
  clock,
  workMs = 0,
  questions = 1,
}: {
  clock: Clock;
  workMs?: number;
  questions?: number;
}): Agent {
  return async function* ({ answers }, { signal }) {
    signal.throwIfAborted();
    clock.nowMs += workMs;
    if (answers.length < questions)
      yield { type: "question", prompt: `Shall I? (${answers.length + 1})` };
    yield { type: "answer", text: answers.map(({ text }) => text).join(", ") };
  };
}

function hostWith({
  workMs,
  questions,
  ...options
}: Partial<HostOptions> & { workMs?: number; questions?: number }) {
  const clock: Clock = { nowMs: Date.now() };
  const now = () => clock.nowMs;
  const agent = asking({ clock, ...(workMs && { workMs }), ...(questions && { questions }) });
  return {
    clock,
    ...createTestHost({ agent, now, store: memoryStore(now), ...options } as Partial<HostOptions>),
  };
}

async function askedOf({ call, params = hello }: { call: TestHost["call"]; params?: unknown }) {
  const { result } = await call("execute_task", params);
  if (result?.status !== "input_required") throw new Error("no question");
  return { task_id: result.task_id, endAtMs: Date.parse(result.expires_at), result };
}

describe("a task that waits for a person", () => {
  it("keeps the remaining time of a task while it waits for hours", async () => {
    const { clock, call, store } = hostWith({ workMs: 20_000, questions: 2 });
    const { task_id } = await askedOf({ call, params: { ...hello, timeout_ms: minuteMs } });
    clock.nowMs += 5 * hourMs;
    await call("answer_task", { task_id, text: "first" });
    await eventually(
      async () => (await call("get_task", { task_id })).result?.prompt === "Shall I? (2)",
    );
    clock.nowMs += 20 * hourMs;
    await call("answer_task", { task_id, text: "second" });
    const { deadlineAtMs = 0 } = (await store.get({ id: task_id })) ?? {};
    const { result } = await call("get_task", { task_id, wait_ms: 5000 });
    expect(result?.response_text).toBe("first, second");
    // Of its minute it has worked three times 20 seconds.
    expect(clock.nowMs).toBe(deadlineAtMs);
  });

  it("times out a task that had used up its time before the question", async () => {
    const { clock, call } = hostWith({ workMs: minuteMs });
    const { task_id } = await askedOf({ call, params: { ...hello, timeout_ms: minuteMs } });
    clock.nowMs += hourMs;
    await call("answer_task", { task_id, text: "yes" });
    expect((await call("get_task", { task_id, wait_ms: 5000 })).error?.data.reason).toBe("timeout");
  });

  it("continues a task after hours on a worker that is limited to minutes", async () => {
    const clock: Clock = { nowMs: Date.now() };
    const { call, startWorker } = createQueuedHost({
      now: () => clock.nowMs,
      maxTaskMs: 14 * minuteMs,
    });
    startWorker({ agent: asking({ clock, workMs: 6 * minuteMs }) });
    const { task_id, endAtMs } = await askedOf({ call });
    expect(endAtMs - clock.nowMs).toBe(dayMs);
    clock.nowMs += 8 * hourMs;
    await call("answer_task", { task_id, text: "yes" });
    await eventually(
      async () => (await call("get_task", { task_id })).result?.response_text === "yes",
    );
  });

  it("does not change the record when the task is read or its answer is repeated", async () => {
    const { clock, call, store } = hostWith({});
    const { task_id, result } = await askedOf({ call });
    const askingTask = await store.get({ id: task_id });
    clock.nowMs += hourMs;
    for (let readCount = 0; readCount < 3; readCount++)
      expect((await call("get_task", { task_id })).result).toEqual(result);
    expect(await store.get({ id: task_id })).toEqual(askingTask);
    const id = randomUUID();
    await call("answer_task", { task_id, text: "yes" }, { id });
    const answeredTask = await store.get({ id: task_id });
    clock.nowMs += hourMs;
    await call("answer_task", { task_id, text: "yes" }, { id });
    await call("answer_task", { task_id, text: "yes" });
    expect((await store.get({ id: task_id }))?.deadlineAtMs).toBe(answeredTask?.deadlineAtMs);
  });
});

it("moves the deadline by exactly the time spent waiting", () => {
  const owner = "o";
  const waits = fc.array(fc.record({ workMs: fc.nat(dayMs), waitMs: fc.nat(dayMs) }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(waits, fc.nat(3 * dayMs), fc.nat(dayMs), (turns, timeMs, retentionMs) => {
      let { changedAtMs: nowMs } = recordOf();
      const deadlineAtMs = nowMs + timeMs;
      let task = recordOf({
        state: "submitted",
        deadlineAtMs,
        expiresAtMs: deadlineAtMs + retentionMs,
      });
      for (const [index, { workMs, waitMs }] of turns.entries()) {
        const endAtMs = nowMs + workMs + dayMs;
        const question = { prompt: "Shall I?", messageId: `q${index}`, expiresAtMs: endAtMs };
        const reply = { id: `a${index}`, fingerprint: "f", prompt: "", text: "yes" };
        task = startChange({ owner, untilMs: nowMs })(task) ?? task;
        nowMs += workMs;
        task = {
          ...task,
          ...questionChange({ owner, question, expiresAtMs: endAtMs + retentionMs })(task),
          changedAtMs: nowMs,
        };
        expect(task.expiresAtMs).toBeGreaterThanOrEqual(endAtMs + retentionMs);
        nowMs += waitMs;
        task = {
          ...task,
          ...answerChange({ answer: reply, nowMs, retentionMs })(task),
          changedAtMs: nowMs,
        };
        expect(task.expiresAtMs).toBeGreaterThanOrEqual(task.deadlineAtMs + retentionMs);
        task = { ...task, question: undefined };
      }
      const waitedMs = turns.reduce((sum, { waitMs }) => sum + waitMs, 0);
      expect(task.deadlineAtMs).toBe(deadlineAtMs + waitedMs);
    }),
  );
});

describe("an unanswered question", () => {
  it.each<[string, Partial<HostOptions>, number]>([
    ["a day", {}, dayMs],
    ["the configured time", { questionMs: hourMs }, hourMs],
    ["at most the retention time of a task", { retentionMs: 2 * hourMs }, 2 * hourMs],
  ])("keeps a question open for %s and then fails its task", async (_what, options, openMs) => {
    const { clock, call } = hostWith({ ...options, maxTaskMs: minuteMs });
    const { task_id, endAtMs } = await askedOf({ call });
    expect(endAtMs).toBe(clock.nowMs + openMs);
    clock.nowMs = endAtMs - 1;
    expect((await call("get_task", { task_id })).result?.status).toBe("input_required");
    clock.nowMs = endAtMs;
    const { error } = await call("answer_task", { task_id, text: "yes" });
    expect(error?.data).toMatchObject({ reason: "invalid_state", current: "failed" });
    expect((await call("get_task", { task_id })).error?.data.reason).toBe("timeout");
  });

  it("reports the expiry of a question to a reader who comes late", async () => {
    const { clock, call } = hostWith({ maxTaskMs: minuteMs });
    const { task_id, endAtMs } = await askedOf({ call });
    clock.nowMs = endAtMs + dayMs - 1;
    expect((await call("get_task", { task_id })).error?.data.reason).toBe("timeout");
  });

  it("ends a held poll when the question expires", async () => {
    const { call } = createTestHost({ agent: asking({ clock: { nowMs: 0 } }), questionMs: 300 });
    const { task_id } = await askedOf({ call });
    expect((await call("get_task", { task_id, wait_ms: 5000 })).error?.data.reason).toBe("timeout");
  });

  it("expires a question without an end of its own at the deadline of the task", async () => {
    const { clock, call, store } = hostWith({});
    const { task_id } = await askedOf({ call });
    const item = await store.get({ id: task_id });
    if (item?.question === undefined) throw new Error("no question");
    const { expiresAtMs: _end, ...question } = item.question;
    await store.replace({ item: { ...item, question } });
    const { result } = await call("get_task", { task_id });
    expect(Date.parse(result?.expires_at ?? "")).toBe(item.deadlineAtMs);
    clock.nowMs = item.deadlineAtMs;
    expect((await call("get_task", { task_id })).error?.data.reason).toBe("timeout");
  });
});
