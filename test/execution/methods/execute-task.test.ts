/** execute_task: results, accepted, deadlines, repetitions, conversations, and what never gets out. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { taskResultSchema } from "@sekisho/contracts/methods.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { serveA2a, userMessage } from "../a2a/a2a-host.ts";
import {
  answering,
  createGate,
  createTestHost,
  eventually,
  hello,
  memoryStore,
  yielding,
} from "../test-host.ts";

describe("the result", () => {
  it("returns the result at once under the id of the request when the agent is quick", async () => {
    const { call } = createTestHost({ agent: answering("関所 🏯") });
    const id = randomUUID();
    const { result, ...otherMembers } = await call("execute_task", hello, { id });
    expect(otherMembers).toEqual({ jsonrpc: "2.0", id });
    expect(result).toEqual({ status: "success", response_text: "関所 🏯", correlation_id: id });
    expect(taskResultSchema.safeParse(result).success).toBe(true);
  });

  it("returns artifacts, usage and the caller's correlation id", async () => {
    const artifact = { name: "a.txt", mimetype: "text/plain", text: "x", own: { deep: [1] } };
    const agent = yielding(
      { type: "artifact", artifact },
      { type: "answer", text: "see", usage: { tokens: 3 } },
    );
    const { result } = await createTestHost({ agent }).call("execute_task", {
      ...hello,
      correlation_id: "mine",
    });
    expect(result).toMatchObject({
      artifacts: [artifact],
      usage: { tokens: 3 },
      correlation_id: "mine",
    });
  });

  it.each(["execution_failed", "plan_error", "budget_exceeded"] as const)(
    "returns the error %s that the agent reports",
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
    [
      "yields a value that JSON cannot represent",
      yielding({ type: "answer", text: "x", usage: { count: 1n } }),
    ],
    ["is not a generator", (() => undefined) as never],
    [
      "throws, and keeps the error's text out of the answer, the store and the log",
      () => {
        throw new Error("the vault says hunter2");
      },
    ],
  ])("fails with execution_failed when the agent %s", async (_name, agent) => {
    const { call, store, lines } = createTestHost({ agent });
    const { error } = await call("execute_task", hello);
    expect(error).toMatchObject({ code: -32064, data: { reason: "execution_failed" } });
    const storedText = JSON.stringify(await store.get({ id: error?.data.task_id ?? "" }));
    expect(JSON.stringify([error, lines]) + storedText).not.toMatch(/vault|hunter2/);
  });

  it("keeps the first ending of an agent and ignores everything after it", async () => {
    const agent = yielding(
      { type: "answer", text: "first" },
      { type: "failure", reason: "plan_error" },
    );
    expect(
      (await createTestHost({ agent }).call("execute_task", hello)).result?.response_text,
    ).toBe("first");
  });

  it.each([
    ["a text of 256 KiB is passed on", [], 256 * 1024, undefined],
    ["a text above 256 KiB is refused", [], 256 * 1024 + 1, "payload_too_large"],
    [
      "artifacts count towards the limit",
      [{ type: "artifact", artifact: { text: "x".repeat(200_000) } }],
      100_000,
      "payload_too_large",
    ],
  ] as const)("limits the size of a result: %s", async (_name, artifacts, length, reason) => {
    const agent = yielding(...artifacts, { type: "answer", text: "x".repeat(length) });
    const { call } = createTestHost({ agent });
    const id = randomUUID();
    const { error } = await call("execute_task", hello, { id });
    expect(error?.data.reason).toBe(reason);
    expect((await call("get_task", { request_id: id })).error?.data.reason).toBe(reason);
  });

  it("gives the agent the request's trace with a span of its own, its ids and an open signal", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const id = randomUUID();
    const { result } = await call("execute_task", hello, {
      id,
      headers: { traceparent, tracestate: "a=b" },
    });
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
});

describe("a task beyond the sync budget", () => {
  it("answers accepted with what a client needs to poll, and continues the task", async () => {
    const gate = createGate();
    const { call, host } = createTestHost({ agent: gate.agent, syncBudgetMs: 5, pollAfterMs: 70 });
    const { result } = await call("execute_task", hello);
    expect(result).toMatchObject({
      status: "accepted",
      poll_after_ms: 70,
      task_id: expect.any(String),
    });
    expect(Date.parse(result?.expires_at ?? "")).toBeGreaterThan(Date.now() + 24 * 3600_000 - 1000);
    expect(host.busy()).toBe(true);
    gate.letGo();
    const pollResult = await call("get_task", { task_id: result?.task_id, wait_ms: 10_000 });
    expect(pollResult.result).toMatchObject({ status: "success", response_text: "done" });
    await eventually(() => !host.busy());
  });

  it("recommends a longer delay for a task with pushed changes until its answer is being written", async () => {
    const gate = createGate({ updates: [{ type: "progress", text: "Reading" }] });
    const writing = createGate({ updates: [{ type: "progress", partial: "A sekisho was" }] });
    const times = {
      syncBudgetMs: 200,
      pollAfterMs: 1000,
      pushedPollAfterMs: 10_000,
      progressMs: 500,
    };
    const { call } = createTestHost({ agent: gate.agent, ...times });
    const pushParams = { ...hello, callback: true };
    const adviceOf = async (params: object, options = {}) =>
      (await call("execute_task", params, options)).result;
    const pushAdvice = await adviceOf(pushParams);
    expect(pushAdvice).toMatchObject({ poll_after_ms: 10_000, progress: { text: "Reading" } });
    expect((await call("get_task", { task_id: pushAdvice?.task_id })).result?.poll_after_ms).toBe(
      10_000,
    );
    expect(await adviceOf(hello)).toMatchObject({ poll_after_ms: 1000 });
    // Such a task cannot be told by its request id.
    expect(await adviceOf(pushParams, { id: "not a UUID" })).toMatchObject({ poll_after_ms: 1000 });
    const ofWriter = createTestHost({ agent: writing.agent, ...times });
    expect((await ofWriter.call("execute_task", pushParams)).result?.poll_after_ms).toBe(500);
    for (const each of [gate, writing]) each.letGo();
  });

  it("recommends the usual delay when it answers before changes are pushed", async () => {
    const gate = createGate();
    const pushes: string[] = [];
    const completions = {
      async send({ body }: { body: string }) {
        pushes.push(body);
      },
    };
    const times = { syncBudgetMs: 3600_000, pollAfterMs: 1000, pushedPollAfterMs: 10_000 };
    const limits = { runsPerCaller: 9, openCallsPerCaller: 1 };
    const { call, host } = createTestHost({ agent: gate.agent, completions, limits, ...times });
    const heldCall = call("execute_task", { ...hello, callback: true });
    await eventually(() => gate.started.length === 1);
    // The only call that may wait is taken, so this one is answered at once, and nothing tells its caller of the end.
    const { result } = await call("execute_task", { ...hello, callback: true });
    expect(result).toMatchObject({ status: "accepted", poll_after_ms: 1000 });
    gate.letGo();
    await heldCall;
    await eventually(() => !host.busy());
    expect(pushes).toEqual([]);
  });

  it("answers accepted with a short delay once an answer is being written, before the sync budget ends", async () => {
    const gate = createGate({ updates: [{ type: "progress", partial: "A sekisho was" }] });
    const times = {
      syncBudgetMs: 3600_000,
      writingBudgetMs: 20,
      progressMs: 30,
      pollAfterMs: 1000,
    };
    const { call } = createTestHost({ agent: gate.agent, ...times });
    const { result } = await call("execute_task", hello);
    const progress = { partial_text: "A sekisho was" };
    expect(result).toMatchObject({ status: "accepted", poll_after_ms: 30, progress });
    gate.letGo();
  });

  it("waits for an answer that follows its first partial text at once", async () => {
    const agent = yielding(
      { type: "progress", partial: "A" },
      { type: "answer", text: "A sekisho" },
    );
    const { call } = createTestHost({ agent, syncBudgetMs: 3600_000, writingBudgetMs: 1800_000 });
    expect((await call("execute_task", hello)).result).toMatchObject({
      response_text: "A sekisho",
    });
  });

  it("keeps a task for 24 hours after its end and then removes it", async () => {
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
  it("aborts the agent's signal at the deadline and fails the task with timeout", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent });
    const { error } = await call("execute_task", { ...hello, timeout_ms: 300 });
    expect(error).toMatchObject({ code: -32001, data: { reason: "timeout", retryable: false } });
    expect(gate.started[0]?.context.signal.aborted).toBe(true);
  });

  it("ends an agent that ignores its signal at the shorter limit of the host", async () => {
    const gate = createGate({ heedsSignal: false });
    const { call } = createTestHost({ agent: gate.agent, maxTaskMs: 20 });
    expect((await call("execute_task", { ...hello, timeout_ms: 60_000 })).error?.data.reason).toBe(
      "timeout",
    );
    gate.letGo();
  });
});

describe("secrets and texts", () => {
  it("passes the bot token to the agent but not to the store or the log", async () => {
    const store = memoryStore();
    const writtenItems: unknown[] = [];
    const create: typeof store.create = (request) => {
      writtenItems.push(request.item);
      return store.create(request);
    };
    const gate = createGate();
    const { call, lines } = createTestHost({
      agent: gate.agent,
      store: { ...store, create },
      syncBudgetMs: 0,
    });
    await call("execute_task", { ...hello, text: "private words", bot_token: "token-to-hide" });
    await gate.firstStart;
    expect(gate.started[0]?.task.bot_token).toBe("token-to-hide");
    expect(JSON.stringify(writtenItems)).toContain("private words");
    expect(JSON.stringify([writtenItems, lines])).not.toContain("token-to-hide");
    expect(lines.join("")).not.toContain("private words");
    gate.letGo();
  });

  it("logs the request id of a task only if it is a UUID", async () => {
    const { call, lines } = createTestHost();
    const id = randomUUID();
    await call("execute_task", hello, { id });
    await call("execute_task", hello, { id: "my-own-secret" });
    expect(lines.slice(0, 2).map((line) => JSON.parse(line).request_id)).toEqual([id, id]);
    expect(lines.join("")).not.toContain("my-own-secret");
  });
});

/** Whoever the header names: so one host has several principals. */
const byName: Authenticator = {
  kind: "bearer",
  authenticate: async ({ header }) => header("x-name"),
};

describe("a repeated request id", () => {
  it("returns the stored outcome for a repeated request id and runs the agent once", async () => {
    let runs = 0;
    const agent: Agent = async function* () {
      runs += 1;
      yield { type: "answer", text: `run ${runs}` };
    };
    const { call } = createTestHost({ agent });
    const id = randomUUID();
    const first = await call("execute_task", hello, { id });
    expect(await call("execute_task", { ...hello, timeout_ms: 5000, history: [] }, { id })).toEqual(
      first,
    );
    expect(await call("execute_task", hello, { id: id.toUpperCase() })).toMatchObject({
      result: first.result,
    });
    expect(runs).toBe(1);
  });

  it("returns the running task for a repeated request id and waits for its end", async () => {
    const gate = createGate();
    const quick = createTestHost({ agent: gate.agent, syncBudgetMs: 5 });
    const id = randomUUID();
    const first = await quick.call("execute_task", hello, { id });
    expect((await quick.call("execute_task", hello, { id })).result?.task_id).toBe(
      first.result?.task_id,
    );
    const patient = createTestHost({ agent: gate.agent, store: quick.store });
    const waiting = patient.call("execute_task", hello, { id });
    gate.letGo();
    expect((await waiting).result?.response_text).toBe("done");
    expect(gate.started).toHaveLength(1);
  });

  it.each(["text", "channel", "thread_ts", "user_id"])(
    "refuses a repeated request id with another %s as already_exists",
    async (field) => {
      const { call } = createTestHost();
      const id = randomUUID();
      await call("execute_task", hello, { id });
      const { error } = await call("execute_task", { ...hello, [field]: "9.9" }, { id });
      expect(error).toMatchObject({ code: -32068, data: { reason: "already_exists" } });
    },
  );

  it("refuses a repeated request id with other attachments but accepts new links to the same ones", async () => {
    const { call } = createTestHost();
    const id = randomUUID();
    const file = {
      id: "F1",
      name: "a",
      mimetype: "text/plain",
      size: 1,
      url: "https://files.example/1",
    };
    const first = await call("execute_task", { ...hello, attachments: [file] }, { id });
    const signedAnew = { ...file, url: "https://files.example/2" };
    expect(await call("execute_task", { ...hello, attachments: [signedAnew] }, { id })).toEqual(
      first,
    );
    const { error } = await call(
      "execute_task",
      { ...hello, attachments: [{ ...file, id: "F2" }] },
      { id },
    );
    expect(error?.data.reason).toBe("already_exists");
  });

  it.each(["plain", 7, -7])(
    "starts a new task each time for an id that is not a UUID (%s)",
    async (id) => {
      const gate = createGate();
      const { call } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
      const answers = [
        await call("execute_task", hello, { id }),
        await call("execute_task", hello, { id }),
      ];
      expect(new Set(answers.map(({ result }) => result?.task_id)).size).toBe(2);
      expect(answers.map((answer) => answer.id)).toEqual([id, id]);
      gate.letGo();
    },
  );

  it("hides a task from another principal, for whom the same request id starts another task", async () => {
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

const session_id = `s-${"0".repeat(64)}`;

/** Answers with what was said before in the same conversation, and who says it. */
function remembering(): Agent {
  const memory = new Map<string | undefined, string[]>();
  return async function* (task, { contextId, caller }) {
    const earlierTexts = memory.get(contextId) ?? [];
    memory.set(contextId, [...earlierTexts, task.text]);
    yield {
      type: "answer",
      text: JSON.stringify({ before: earlierTexts, contextId, caller, task }),
    };
  };
}

type Told = { before: string[]; contextId?: string; caller: string; task: object };

describe("an agent's memory of a conversation", () => {
  function startZone() {
    const { call } = createTestHost({ agent: remembering(), authenticator: byName });
    return async (name: string, params: object): Promise<Told> => {
      const { result } = await call(
        "execute_task",
        { channel: "C1", ...params },
        { headers: { "x-name": name } },
      );
      return JSON.parse(result?.response_text ?? "{}");
    };
  }

  it("separates what an agent remembers by caller, even for the same session id", async () => {
    const ask = startZone();
    const first = await ask("kim", { text: "my secret", session_id });
    const again = await ask("kim", { text: "and now?", session_id });
    const other = await ask("lee", { text: "what did they say?", session_id });
    expect([first.before, again.before, other.before]).toEqual([[], ["my secret"], []]);
    expect(again.contextId).toBe(first.contextId);
    expect(other.contextId).not.toBe(first.contextId);
  });

  it("reveals no conversation to a caller who sends the agent's context id as a session id", async () => {
    const ask = startZone();
    const { contextId = "" } = await ask("kim", { text: "my secret", session_id });
    expect((await ask("lee", { text: "?", session_id: `${contextId}` })).before).toEqual([]);
  });

  it("passes the session id of the caller to the agent in no field of the task", async () => {
    const { task } = await startZone()("kim", { text: "hello", session_id });
    expect(JSON.stringify(task)).not.toContain(session_id);
  });

  it("gives the agent no context id without a session id", async () => {
    expect((await startZone()("kim", { text: "hello" })).contextId).toBeUndefined();
  });

  it("separates conversations of A2A clients and returns the context id that each client sent", async () => {
    const host = await serveA2a({ agent: remembering(), authenticator: byName });
    const say = async (name: string, text: string) => {
      const message = userMessage(text, { contextId: "the deal", messageId: randomUUID() });
      const options = { headers: { "x-name": name } };
      const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message }, options);
      const toldMemory: Told = JSON.parse(task.artifacts?.[0]?.parts[0]?.text ?? "{}");
      return { ...toldMemory, wire: [task.contextId, task.history?.[0]?.contextId] };
    };
    const toldMemories = [
      await say("kim", "my secret"),
      await say("kim", "and now?"),
      await say("lee", "what is it?"),
    ];
    expect(toldMemories.map(({ before }) => before)).toEqual([[], ["my secret"], []]);
    for (const { wire } of toldMemories) expect(wire).toEqual(["the deal", "the deal"]);
    expect(toldMemories.some(({ contextId }) => contextId?.includes("deal"))).toBe(false);
  });
});

describe("the caller in an agent's task", () => {
  it("identifies a principal to the agent by the same opaque value in all conversations", async () => {
    const { call } = createTestHost({ agent: remembering(), authenticator: byName });
    const callerOf = async (name: string, session?: string) => {
      const params = { channel: "C1", text: "hi", ...(session && { session_id: session }) };
      const { result } = await call("execute_task", params, { headers: { "x-name": name } });
      return (JSON.parse(result?.response_text ?? "{}") as Told).caller;
    };
    const kim = [await callerOf("kim"), await callerOf("kim", session_id)];
    expect(new Set(kim).size).toBe(1);
    expect(await callerOf("lee")).not.toBe(kim[0]);
    expect(kim[0]).toMatch(/^[0-9a-f-]{36}$/);
  });
});
