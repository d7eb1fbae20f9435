/** `execute_task` with an id that was there before: one agent, one outcome, for one principal. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import type { Authenticator } from "../../../lambdas/execution/http/exchange.ts";
import { createGate, createTestHost, hello, yielding } from "../test-host.ts";

/** Whoever the header names: so one host has several principals. */
const byName: Authenticator = { kind: "bearer", authenticate: async ({ header }) => header("x-name") };

describe("a repeated request id", () => {
  it("gets the stored outcome, and the agent runs once", async () => {
    let runs = 0;
    const agent: Agent = async function* () {
      runs += 1;
      yield { type: "answer", text: `run ${runs}` };
    };
    const { call } = createTestHost({ agent });
    const id = randomUUID();
    const first = await call("execute_task", hello, { id });
    expect(await call("execute_task", { ...hello, timeout_ms: 5000, history: [] }, { id })).toEqual(first);
    expect(await call("execute_task", hello, { id: id.toUpperCase() })).toMatchObject({ result: first.result });
    expect(runs).toBe(1);
  });

  it("gets the stored failure, too", async () => {
    const { call } = createTestHost({ agent: yielding({ type: "failure", reason: "budget_exceeded" }) });
    const id = randomUUID();
    const first = await call("execute_task", hello, { id });
    expect(await call("execute_task", hello, { id })).toEqual(first);
  });

  it("gets the same task id while the task runs, and waits for the end like the first", async () => {
    const gate = createGate();
    const quick = createTestHost({ agent: gate.agent, syncBudgetMs: 5 });
    const id = randomUUID();
    const first = await quick.call("execute_task", hello, { id });
    expect((await quick.call("execute_task", hello, { id })).result?.task_id).toBe(first.result?.task_id);
    const patient = createTestHost({ agent: gate.agent, store: quick.store });
    const waiting = patient.call("execute_task", hello, { id });
    gate.letGo();
    expect((await waiting).result?.response_text).toBe("done");
    expect(gate.started).toHaveLength(1);
  });

  it("starts one agent for fifty at once", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent });
    const id = randomUUID();
    const calls = Array.from({ length: 50 }, () => call("execute_task", hello, { id }));
    await gate.firstStart;
    gate.letGo();
    for (const { result } of await Promise.all(calls)) expect(result?.response_text).toBe("done");
    expect(gate.started).toHaveLength(1);
  });

  it.each(["text", "channel", "thread_ts", "user_id"])("with another %s is already_exists", async (field) => {
    const { call } = createTestHost();
    const id = randomUUID();
    await call("execute_task", hello, { id });
    const { error } = await call("execute_task", { ...hello, [field]: "9.9" }, { id });
    expect(error).toMatchObject({ code: -32068, data: { reason: "already_exists" } });
  });

  it("with other attachments is already_exists, with other links to the same ones it is not", async () => {
    const { call } = createTestHost();
    const id = randomUUID();
    const file = { id: "F1", name: "a", mimetype: "text/plain", size: 1, url: "https://files.example/1" };
    const first = await call("execute_task", { ...hello, attachments: [file] }, { id });
    const signedAnew = { ...file, url: "https://files.example/2" };
    expect(await call("execute_task", { ...hello, attachments: [signedAnew] }, { id })).toEqual(first);
    const { error } = await call("execute_task", { ...hello, attachments: [{ ...file, id: "F2" }] }, { id });
    expect(error?.data.reason).toBe("already_exists");
  });

  it.each(["plain", 7, -7])("that is no UUID (%s) is a new task each time", async (id) => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    const answers = [await call("execute_task", hello, { id }), await call("execute_task", hello, { id })];
    expect(new Set(answers.map(({ result }) => result?.task_id)).size).toBe(2);
    expect(answers.map((answer) => answer.id)).toEqual([id, id]);
    gate.letGo();
  });

  it("belongs to its principal: another one's is another task, and unknown to him", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent, authenticator: byName, syncBudgetMs: 0 });
    const id = randomUUID();
    const [ann, bob] = [{ headers: { "x-name": "ann" } }, { headers: { "x-name": "bob" } }];
    const { result } = await call("execute_task", hello, { id, ...ann });
    for (const params of [{ request_id: id }, { task_id: result?.task_id }]) {
      expect((await call("get_task", params, bob)).error?.data.reason).toBe("task_not_found");
      expect((await call("cancel_task", params, bob)).error?.data.reason).toBe("task_not_found");
      expect((await call("get_task", params, ann)).result?.task_id).toBe(result?.task_id);
    }
    const second = await call("execute_task", { ...hello, text: "other" }, { id, ...bob });
    expect(second.result?.task_id).not.toBe(result?.task_id);
    expect(gate.started).toHaveLength(2);
    gate.letGo();
  });
});
