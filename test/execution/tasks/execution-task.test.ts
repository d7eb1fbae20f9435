/** Records of tasks: what they hold must fit, and the store may be away. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { joinTextParts, type Message } from "@sekisho/contracts/a2a/part.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import {
  addMessages,
  type ExecutionTask,
  parseExecutionTask,
} from "@sekisho/execution/tasks/execution-task.ts";
import { createExecutionTask } from "@sekisho/execution/tasks/submission.ts";
import { createChangeTask, createTaskSignal } from "@sekisho/execution/tasks/task-store.ts";
import {
  createGate,
  createTestHost,
  eventually,
  hello,
  memoryStore,
  yielding,
} from "../test-host.ts";
import { recordOf } from "./records.ts";

const storedTask = {
  id: "7d1f3c52-0d0f-8f2f-9a34-8b6a3c1f2e10",
  revision: 3,
  principal: "anyone",
  requestId: "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11",
  correlationId: "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11",
  fingerprint: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
  trace: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" },
  createdAtMs: 1_760_000_000_000,
  changedAtMs: 1_760_000_000_000,
  deadlineAtMs: 1_760_000_060_000,
  expiresAtMs: 1_760_086_460_000,
};

describe("a stored record", () => {
  it("reads a stored record as it was written", () => {
    const lease = { owner: "me", untilMs: 1_760_000_020_000 };
    const working = {
      ...storedTask,
      state: "working",
      params: { channel: "C1", text: "hello" },
      lease,
    };
    expect(parseExecutionTask(working)).toEqual(working);
  });

  it("refuses a malformed record", () => {
    for (const json of [null, 1, [], {}, { ...storedTask, state: "unheard of" }])
      expect(() => parseExecutionTask(json)).toThrow();
  });
});

/** What an item of DynamoDB holds, names of attributes and index keys included. */
const itemBytes = 400 * 1024;

/** As much of a store as DynamoDB is: more than an item holds is no item. */
function itemStore() {
  const store = memoryStore();
  const checkSize = (item: ExecutionTask) => {
    if (Buffer.byteLength(JSON.stringify(item)) > itemBytes - 2000)
      throw new Error("ValidationException");
  };
  return {
    ...store,
    async create(request: { item: ExecutionTask }) {
      checkSize(request.item);
      return store.create(request);
    },
    async replace(request: { item: ExecutionTask }) {
      checkSize(request.item);
      return store.replace(request);
    },
  };
}

describe("an answer within the contract's size", () => {
  it.each([
    [
      "stores an answer of the maximum size in three-byte characters",
      "関".repeat(87_000),
      undefined,
    ],
    ["stores an answer of the maximum size full of quotes", '"'.repeat(180_000), undefined],
    [
      "refuses an answer of the maximum size whose escapes exceed the record",
      `a${"\u0001".repeat(100_000)}`,
      "payload_too_large",
    ],
  ])("%s", async (_what, text, reason) => {
    const { call, store } = createTestHost({
      agent: yielding({ type: "answer", text }),
      store: itemStore(),
    });
    const id = randomUUID();
    const { error } = await call("execute_task", hello, { id });
    expect(error?.data.reason).toBe(reason);
    const answer = await call("get_task", { request_id: id });
    expect(answer.error?.data.reason).toBe(reason);
    if (reason !== undefined) return;
    const { items } = await store.list({ index: "state", key: "completed", limit: 1 });
    expect(Buffer.byteLength(JSON.stringify(items[0]))).toBeLessThan(itemBytes - 2000);
  });
});

describe("answers to an agent's questions", () => {
  const asking: Agent = async function* (task) {
    if (task.answers.length < 30) yield { type: "question", prompt: "More?" };
    else yield { type: "answer", text: "done" };
  };

  it("refuses an answer that exceeds the record, and accepts a smaller one", async () => {
    const { call, lines } = createTestHost({ agent: asking, store: itemStore() });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const outcomes: unknown[] = [];
    for (const length of [...new Array(12).fill(39_000), 10]) {
      const { result, error } = await call("answer_task", { task_id, text: "x".repeat(length) });
      outcomes.push(result?.status ?? error?.data.reason);
      const isAsking = async () =>
        (await call("get_task", { task_id })).result?.status === "input_required";
      await eventually(isAsking);
    }
    expect(outcomes.slice(9)).toEqual([
      "accepted",
      "payload_too_large",
      "payload_too_large",
      "accepted",
    ]);
    expect(lines.join("")).not.toContain("store_failed");
  });
});

describe("a full record", () => {
  const large = { ...hello, text: "\u0001".repeat(30_000) };
  const artifact = (bytes: number) => ({
    type: "artifact" as const,
    artifact: { text: "\u0001".repeat(bytes / 6) },
  });

  it("fails a task whose question does not fit into the record", async () => {
    const agent = yielding(artifact(250_000), { type: "question", prompt: "Shall I?" });
    const { call, lines } = createTestHost({ agent, store: itemStore() });
    expect((await call("execute_task", large)).error?.data.reason).toBe("payload_too_large");
    expect(lines.map((line) => JSON.parse(line)).at(-1)).toMatchObject({
      message: "task_ended",
      reason: "payload_too_large",
    });
  });

  it("shows progress beside a large artifact and returns everything at the end", async () => {
    const gate = createGate({ updates: [artifact(250_000), { type: "progress", text: "nearly" }] });
    const { call, lines } = createTestHost({
      agent: gate.agent,
      store: itemStore(),
      syncBudgetMs: 0,
      progressMs: 1,
    });
    const task_id = (await call("execute_task", large)).result?.task_id;
    await eventually(
      async () => (await call("get_task", { task_id })).result?.progress?.text === "nearly",
    );
    gate.letGo();
    const { result } = await call("get_task", { task_id, wait_ms: 5000 });
    expect(result?.artifacts).toHaveLength(1);
    expect(lines.join("")).not.toContain("store_failed");
  });
});

describe("a message of A2A", () => {
  const submission = (text: string, messageId: string = randomUUID()) => ({
    ...{
      principal: "p",
      taskId: randomUUID(),
      requestId: messageId,
      fingerprint: "f",
      receivedAtMs: 0,
    },
    trace: { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01` },
    input: { text: "", parts: [{ text }] },
    a2a: {
      contextId: "c",
      message: { messageId, role: "ROLE_USER" as const, parts: [{ text }] },
      pushConfigs: undefined,
    },
  });
  const createTask = (given: ReturnType<typeof submission>) =>
    createExecutionTask({ submission: given, maxTaskMs: 1, retentionMs: 1, newId: randomUUID });

  it("refuses a message that exceeds the record as payload_too_large", () => {
    expect(() => createTask(submission("x".repeat(410_000)))).toThrow(
      expect.objectContaining({ reason: "payload_too_large" }),
    );
  });

  it.each([
    [128, "m".repeat(128)],
    [129, undefined],
  ])(
    "accepts a message id of %i characters and keeps the correlation id within the contract",
    (length, correlationId) => {
      const task = createTask(submission("hi", "m".repeat(length)));
      expect(task.correlationId).toBe(correlationId ?? task.id);
    },
  );
});

describe("the messages of a record", () => {
  const message = (bytes: number): Message => {
    const empty: Message = { messageId: "new", role: "ROLE_USER", parts: [{ text: "" }] };
    const text = "x".repeat(bytes - Buffer.byteLength(JSON.stringify(empty)));
    return { ...empty, parts: [{ text }] };
  };
  const maxBytes = 32 * 1024;

  it.each([
    [
      "keeps all messages of a record if the newest fills the limit",
      maxBytes,
      (text: string) => text !== "",
    ],
    [
      "drops the content of a newest message above the limit",
      maxBytes + 1,
      (text: string) => text === "",
    ],
  ])("%s", (_title, bytes, isExpected) => {
    const task = recordOf({});
    const old = { ...task, ...(task.a2a && { a2a: { ...task.a2a, messages: [message(500)] } }) };
    const { a2a } = addMessages({ task: old, messages: [message(bytes)] });
    const texts = a2a?.messages.map(({ parts }) => joinTextParts(parts)) ?? [];
    expect(isExpected(texts.at(-1) ?? "none")).toBe(true);
    expect(a2a?.messages).toHaveLength(bytes === maxBytes ? 1 : 2);
  });
});

it("applies the changes of sixty concurrent writers", async () => {
  const store = memoryStore();
  const task = recordOf({ expiresAtMs: Date.now() + 60_000, queuedAtMs: 0 });
  await store.create({ item: task });
  const replace: typeof store.replace = async (request) => {
    await sleep(1);
    return store.replace(request);
  };
  const changeTask = createChangeTask({
    store: { ...store, replace },
    changeSignal: createTaskSignal(),
    now: Date.now,
  });
  const change = (each: typeof task) => ({ ...each, queuedAtMs: (each.queuedAtMs ?? 0) + 1 });
  await Promise.all(Array.from({ length: 60 }, () => changeTask({ task, change })));
  expect((await store.get({ id: task.id }))?.queuedAtMs).toBe(60);
});

describe("an unavailable store", () => {
  it("answers unavailable when the store fails, starts nothing, and accepts the same id later", async () => {
    const store = memoryStore();
    let away = true;
    const create: typeof store.create = async (request) => {
      if (away) throw new Error("disk says hunter2");
      return store.create(request);
    };
    const { call, lines } = createTestHost({ store: { ...store, create } });
    const id = randomUUID();
    const { error } = await call("execute_task", hello, { id });
    expect(error).toMatchObject({ code: -32071, data: { reason: "unavailable", retryable: true } });
    expect(error?.data.task_id).toMatch(/./);
    expect(JSON.stringify([error, lines])).not.toContain("hunter2");
    away = false;
    expect((await call("get_task", { request_id: id })).error?.data.reason).toBe("task_not_found");
    expect((await call("execute_task", hello, { id })).result?.status).toBe("success");
  });

  it("answers unavailable when the store does not respond in time", async () => {
    const store = { ...memoryStore(), create: () => new Promise<never>(() => {}) };
    const { call } = createTestHost({ store, storeTimeoutMs: 10 });
    expect((await call("execute_task", hello)).error?.data.reason).toBe("unavailable");
  });

  it("retries to store an outcome, with pauses, until the task counts as lost", async () => {
    const store = memoryStore();
    let attempts = 0;
    const replace: typeof store.replace = async (request) => {
      if (request.item.state !== "completed") return store.replace(request);
      attempts += 1;
      throw new Error("busy");
    };
    const { call, lines } = createTestHost({
      store: { ...store, replace },
      ...{ syncBudgetMs: 0, leaseMs: 40, lostAfterMs: 40, random: () => 0.99 },
    });
    await call("execute_task", hello);
    await eventually(() => lines.join("").includes("outcome_not_stored"));
    expect(attempts).toBeLessThan(10);
  });

  it("stores the outcome after brief failures of the store", async () => {
    const store = memoryStore();
    let failures = 2;
    const replace: typeof store.replace = async (request) => {
      if (request.item.state === "completed" && failures-- > 0) throw new Error("busy");
      return store.replace(request);
    };
    expect(
      (await createTestHost({ store: { ...store, replace } }).call("execute_task", hello)).result
        ?.status,
    ).toBe("success");
  });
});
