/** `execute_task`: results, `accepted`, deadlines and what never gets out. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { taskResultSchema } from "../../../contracts/methods.ts";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";
import { answering, createGate, createTestHost, eventually, hello, memoryStore, yielding } from "../test-host.ts";

describe("the result", () => {
  it("comes at once where the agent is quick, under the id that was sent", async () => {
    const { call } = createTestHost({ agent: answering("関所 🏯") });
    const id = randomUUID();
    const { result, ...rest } = await call("execute_task", hello, { id });
    expect(rest).toEqual({ jsonrpc: "2.0", id });
    expect(result).toEqual({ status: "success", response_text: "関所 🏯", correlation_id: id });
    expect(taskResultSchema.safeParse(result).success).toBe(true);
  });

  it("carries artifacts, usage and the caller's correlation id", async () => {
    const artifact = { name: "a.txt", mimetype: "text/plain", text: "x", own: { deep: [1] } };
    const agent = yielding({ type: "artifact", artifact }, { type: "answer", text: "see", usage: { tokens: 3 } });
    const { result } = await createTestHost({ agent }).call("execute_task", { ...hello, correlation_id: "mine" });
    expect(result).toMatchObject({ artifacts: [artifact], usage: { tokens: 3 }, correlation_id: "mine" });
  });

  it.each(["execution_failed", "plan_error", "budget_exceeded"] as const)(
    "is the error %s where the agent says so",
    async (reason) => {
      const { call, store } = createTestHost({ agent: yielding({ type: "failure", reason }) });
      const { error } = await call("execute_task", hello);
      expect(error?.data).toMatchObject({ reason, retryable: false });
      const task = await store.get({ id: error?.data.task_id ?? "" });
      expect(task?.state).toBe(reason === "plan_error" ? "rejected" : "failed");
    },
  );

  it.each<[string, Agent]>([
    ["ends without an answer", yielding({ type: "progress", text: "half" })],
    ["yields what is no update", yielding({ type: "answer", text: 5 } as never)],
    ["yields what JSON cannot say", yielding({ type: "answer", text: "x", usage: { count: 1n } })],
    ["is no generator at all", (() => undefined) as never],
    [
      "throws, without a word of why in the answer, the store or the log",
      () => {
        throw new Error("the vault says hunter2");
      },
    ],
  ])("is execution_failed where the agent %s", async (_name, agent) => {
    const { call, store, lines } = createTestHost({ agent });
    const { error } = await call("execute_task", hello);
    expect(error).toMatchObject({ code: -32064, data: { reason: "execution_failed" } });
    const stored = JSON.stringify(await store.get({ id: error?.data.task_id ?? "" }));
    expect(JSON.stringify([error, lines]) + stored).not.toMatch(/vault|hunter2/);
  });

  it("takes the first ending and nothing after it", async () => {
    const agent = yielding({ type: "answer", text: "first" }, { type: "failure", reason: "plan_error" });
    expect((await createTestHost({ agent }).call("execute_task", hello)).result?.response_text).toBe("first");
  });

  it.each([
    ["a text of 256 KiB is passed on", [], 256 * 1024, undefined],
    ["a text above 256 KiB is refused", [], 256 * 1024 + 1, "payload_too_large"],
    ["artifacts count", [{ type: "artifact", artifact: { text: "x".repeat(200_000) } }], 100_000, "payload_too_large"],
  ] as const)("%s", async (_name, artifacts, length, reason) => {
    const agent = yielding(...artifacts, { type: "answer", text: "x".repeat(length) });
    const { call } = createTestHost({ agent });
    const id = randomUUID();
    const { error } = await call("execute_task", hello, { id });
    expect(error?.data.reason).toBe(reason);
    expect((await call("get_task", { request_id: id })).error?.data.reason).toBe(reason);
  });

  it("gives the agent the trace of the request with a span of its own, its ids and a signal that is not aborted", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const id = randomUUID();
    const { result } = await call("execute_task", hello, { id, headers: { traceparent, tracestate: "a=b" } });
    await gate.firstStart;
    const [{ context } = { context: undefined }] = gate.started;
    expect(context).toMatchObject({
      requestId: id,
      taskId: result?.task_id,
      trace: {
        traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/),
        tracestate: "a=b",
      },
    });
    expect(context?.trace.traceparent).not.toBe(traceparent);
    expect(context?.signal.aborted).toBe(false);
    gate.letGo();
  });

  it("starts a trace of its own where the request has none, or a malformed one", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    await call("execute_task", hello, { headers: { traceparent: "00-zz" } });
    await gate.firstStart;
    expect(gate.started[0]?.context.trace.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    gate.letGo();
  });
});

describe("past the sync budget", () => {
  it("answers accepted with what a client needs to poll, and works on", async () => {
    const gate = createGate();
    const { call, host } = createTestHost({ agent: gate.agent, syncBudgetMs: 5, pollAfterMs: 70 });
    const { result } = await call("execute_task", hello);
    expect(result).toMatchObject({ status: "accepted", poll_after_ms: 70, task_id: expect.any(String) });
    expect(Date.parse(result?.expires_at ?? "")).toBeGreaterThan(Date.now() + 24 * 3600_000 - 1000);
    expect(host.busy()).toBe(true);
    gate.letGo();
    const polled = await call("get_task", { task_id: result?.task_id, wait_ms: 10_000 });
    expect(polled.result).toMatchObject({ status: "success", response_text: "done" });
    await eventually(() => !host.busy());
  });

  it("keeps a task at least 24 hours after its end, and not for ever", async () => {
    let nowMs = 1_762_750_300_000;
    const now = () => nowMs;
    const { call } = createTestHost({ store: memoryStore(now), now });
    const id = randomUUID();
    await call("execute_task", hello, { id });
    nowMs += 24 * 3600_000 - 1;
    expect((await call("get_task", { request_id: id })).result?.status).toBe("success");
    nowMs += 3600_000;
    expect((await call("get_task", { request_id: id })).error?.data.reason).toBe("task_not_found");
  });
});

describe("the deadline", () => {
  it("aborts the agent's signal, and the task fails with timeout", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent });
    const { error } = await call("execute_task", { ...hello, timeout_ms: 300 });
    expect(error).toMatchObject({ code: -32001, data: { reason: "timeout", retryable: false } });
    expect(gate.started[0]?.context.signal.aborted).toBe(true);
  });

  it("holds for an agent that ignores its signal, and for hosts with a shorter limit than asked for", async () => {
    const gate = createGate({ heedsSignal: false });
    const { call } = createTestHost({ agent: gate.agent, maxTaskMs: 20 });
    expect((await call("execute_task", { ...hello, timeout_ms: 60_000 })).error?.data.reason).toBe("timeout");
    gate.letGo();
  });
});

describe("secrets and texts", () => {
  it("the bot token reaches the agent, and neither the store nor the log", async () => {
    const store = memoryStore();
    const written: unknown[] = [];
    const create: typeof store.create = (request) => {
      written.push(request.item);
      return store.create(request);
    };
    const gate = createGate();
    const { call, lines } = createTestHost({ agent: gate.agent, store: { ...store, create }, syncBudgetMs: 0 });
    await call("execute_task", { ...hello, text: "private words", bot_token: "token-to-hide" });
    await gate.firstStart;
    expect(gate.started[0]?.task.bot_token).toBe("token-to-hide");
    expect(JSON.stringify(written)).toContain("private words");
    expect(JSON.stringify([written, lines])).not.toContain("token-to-hide");
    expect(lines.join("")).not.toContain("private words");
    gate.letGo();
  });

  it("the text is forgotten when the task is over", async () => {
    const { call, store } = createTestHost();
    const id = randomUUID();
    await call("execute_task", { ...hello, text: "private words" }, { id });
    const [{ id: taskId } = { id: "" }] = (await store.list({ index: "state", key: "completed", limit: 1 })).items;
    expect(JSON.stringify(await store.get({ id: taskId }))).not.toContain("private words");
  });

  it("every log line of a task carries its request id, and none an id that is no UUID", async () => {
    const { call, lines } = createTestHost();
    const id = randomUUID();
    await call("execute_task", hello, { id });
    await call("execute_task", hello, { id: "my-own-secret" });
    expect(lines.slice(0, 2).map((line) => JSON.parse(line).request_id)).toEqual([id, id]);
    expect(lines.join("")).not.toContain("my-own-secret");
  });
});

it("never answers anything but a result or error of the contract, whatever the params", async () => {
  const { call } = createTestHost({ agent: createEchoAgent({ sleep: async () => {} }) });
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.constantFrom("slow 5s", "progress", "slow 1s fail"),
  );
  const params = fc.record({ channel: fc.string({ unit: "binary", minLength: 1, maxLength: 32 }), text });
  await fc.assert(
    fc.asyncProperty(params, async (given) => {
      const { result, error } = await call("execute_task", given);
      if (error === undefined) expect(taskResultSchema.safeParse(result).success).toBe(true);
      else expect(["invalid_params", "execution_failed"]).toContain(error.data.reason);
    }),
    { numRuns: 300 },
  );
});
