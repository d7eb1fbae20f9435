/** `get_task`, `cancel_task`, `answer_task` and `rpc.discover`. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { buildOpenRpc } from "@sekisho/contracts/openrpc.ts";
import { createGate, createTestHost, eventually, hello, memoryStore } from "../test-host.ts";

describe("get_task", () => {
  it("finds a running or finished task by its id and by its request id", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    const id = randomUUID();
    const { result } = await call("execute_task", hello, { id });
    const names = [{ task_id: result?.task_id }, { request_id: id }];
    for (const name of names) expect((await call("get_task", name)).result).toEqual(result);
    gate.letGo();
    for (const name of names) {
      const pollResult = await call("get_task", { ...name, wait_ms: 10_000 });
      expect(pollResult.result).toEqual({
        status: "success",
        response_text: "done",
        correlation_id: id,
      });
    }
  });

  it.each([
    { task_id: "nobody" },
    { request_id: "3f0f6b0e-5a35-4b0c-9d5e-0d7d5a6f3a11" },
    { request_id: "plain" },
  ])("answers task_not_found for an unknown task: %j", async (name) => {
    const { error } = await createTestHost().call("get_task", { ...name, wait_ms: 10_000 });
    expect(error).toMatchObject({ code: -32061, data: { reason: "task_not_found" } });
  });

  it("shows the latest progress on every instance", async () => {
    const percent = 120;
    const gate = createGate({ updates: [{ type: "progress", text: "Half way", percent }] });
    const { call, store } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    const { result } = await call("execute_task", hello);
    const other = createTestHost({ store });
    const pollOther = async () =>
      (await other.call("get_task", { task_id: result?.task_id })).result;
    await eventually(async () => (await pollOther())?.progress !== undefined);
    expect(await pollOther()).toMatchObject({
      status: "accepted",
      progress: { text: "Half way", percent: 100 },
    });
    gate.letGo();
  });

  it("stores only the first and the last of many progress updates", async () => {
    const store = memoryStore();
    const progressTexts: unknown[] = [];
    const replace: typeof store.replace = (request) => {
      if (request.item.progress !== undefined) progressTexts.push(request.item.progress.text);
      return store.replace(request);
    };
    const updates = Array.from({ length: 500 }, (_, index) => ({
      type: "progress" as const,
      text: `step ${index}`,
    }));
    const gate = createGate({ updates });
    const { call } = createTestHost({
      agent: gate.agent,
      store: { ...store, replace },
      syncBudgetMs: 0,
      progressMs: 20,
    });
    const { result } = await call("execute_task", hello);
    await eventually(() => progressTexts.includes("step 499"));
    expect(progressTexts).toEqual(["step 0", "step 499"]);
    gate.letGo();
    await call("get_task", { task_id: result?.task_id, wait_ms: 10_000 });
  });

  it("holds a poll until something changes or the requested time is over", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    const { result } = await call("execute_task", hello);
    const waitResult = await call("get_task", { task_id: result?.task_id, wait_ms: 30 });
    expect(waitResult.result).toEqual(result);
    const waiting = call("get_task", { task_id: result?.task_id, wait_ms: 25_000 });
    await call("cancel_task", { task_id: result?.task_id });
    expect((await waiting).error?.data.reason).toBe("canceled");
  });

  it("answers a poll at once if something has changed since the last poll", async () => {
    const signals = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { call, store } = createTestHost({
      async *agent(_task, { signal }) {
        yield { type: "progress", text: "one" };
        await signals[0]?.promise;
        yield { type: "progress", text: "two" };
        await Promise.race([
          signals[1]?.promise,
          new Promise((resolve) => signal.addEventListener("abort", resolve)),
        ]);
      },
      syncBudgetMs: 0,
      progressMs: 1,
    });
    const { result } = await call("execute_task", hello);
    const name = { task_id: result?.task_id };
    const textIn = async (poll: ReturnType<typeof call>) => (await poll).result?.progress?.text;
    await eventually(async () => (await textIn(call("get_task", name))) === "one");
    signals[0]?.resolve();
    await eventually(
      async () => (await store.get({ id: name.task_id ?? "" }))?.progress?.text === "two",
    );
    const isHeld = async () => {
      for (let count = 0; count < 50; count += 1) await call("rpc.discover", {});
      return "held";
    };
    const poll = () => textIn(call("get_task", { ...name, wait_ms: 25_000 }));
    expect(await Promise.race([poll(), isHeld()])).toBe("two");
    const again = poll();
    expect(await Promise.race([again, isHeld()])).toBe("held");
    await call("cancel_task", name);
    await again;
  });

  it("notices the end of a task that runs on another instance", async () => {
    const gate = createGate();
    const { call, store } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    const { result } = await call("execute_task", hello);
    const waiting = createTestHost({ store }).call("get_task", {
      task_id: result?.task_id,
      wait_ms: 25_000,
    });
    gate.letGo();
    expect((await waiting).result?.response_text).toBe("done");
  });
});

describe("cancel_task", () => {
  it("cancels for good, aborts the agent at once and ignores what it yields later", async () => {
    const gate = createGate({ heedsSignal: false });
    const { call, host } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    const id = randomUUID();
    const { result } = await call("execute_task", hello, { id });
    await gate.firstStart;
    const cancelResult = await call("cancel_task", { request_id: id, reason: "no longer needed" });
    expect(cancelResult.result).toEqual({ status: "canceled", task_id: result?.task_id });
    expect(gate.started[0]?.context.signal.aborted).toBe(true);
    gate.letGo();
    await eventually(() => !host.busy());
    const { error } = await call("get_task", { task_id: result?.task_id });
    expect(error).toMatchObject({
      code: -32076,
      data: { reason: "canceled", task_id: result?.task_id, correlation_id: id },
    });
    expect((await call("execute_task", hello, { id })).error?.data.reason).toBe("canceled");
  });

  it("cancels a task on another instance at the next renewal of its lease", async () => {
    const gate = createGate();
    const { call, store, host } = createTestHost({
      agent: gate.agent,
      syncBudgetMs: 0,
      renewMs: 10,
    });
    const { result } = await call("execute_task", hello);
    await gate.firstStart;
    await createTestHost({ store }).call("cancel_task", { task_id: result?.task_id });
    await eventually(() => !host.busy());
    expect(gate.started[0]?.context.signal.aborted).toBe(true);
    expect((await call("get_task", { task_id: result?.task_id })).error?.data.reason).toBe(
      "canceled",
    );
  });

  it("answers task_not_found to a cancel of an unknown task", async () => {
    const { error } = await createTestHost().call("cancel_task", { task_id: "nobody" });
    expect(error?.data.reason).toBe("task_not_found");
  });
});

describe("rpc.discover", () => {
  it("answers rpc.discover with the OpenRPC document of the contract", async () => {
    const { result } = await createTestHost().call("rpc.discover", {});
    expect(result).toEqual(JSON.parse(JSON.stringify(buildOpenRpc())));
  });
});
