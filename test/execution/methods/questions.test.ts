/** An agent that asks: the task waits, is answered once, and goes on with the answer, in whatever process. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createTestHost, eventually, memoryStore, yielding } from "../test-host.ts";

const hello = { channel: "C1", text: "deploy" };
/** One character more than an answer takes for the id of an option. */
const long = "x".repeat(129);
const options = [
  { id: "yes", label: "Deploy", style: "primary" },
  { id: "no", label: "Leave it" },
];

/** Asks as often as `questions` says, then tells what it heard. */
function asking({ questions = 1, started = [] as string[] } = {}): Agent {
  return async function* (task, { messageId }) {
    started.push(messageId);
    if (task.answers.length < questions) {
      yield { type: "artifact", artifact: { name: `plan ${task.answers.length + 1}`, text: "a plan" } };
      yield { type: "question", prompt: `Shall I? (${task.answers.length + 1})`, options };
    }
    yield { type: "answer", text: task.answers.map(({ option_id, text }) => option_id ?? text).join(", ") };
  };
}

describe("an agent that asks", () => {
  it("leaves the task waiting with its question, and nobody holds it", async () => {
    const { host, call, store } = createTestHost({ agent: asking() });
    const { result } = await call("execute_task", hello);
    expect(result).toMatchObject({ status: "input_required", prompt: "Shall I? (1)", options });
    expect(host.busy()).toBe(false);
    const record = await store.get({ id: result?.task_id ?? "" });
    expect(record).toMatchObject({ state: "input_required", artifacts: [{ name: "plan 1" }] });
    expect(record?.lease).toBeUndefined();
    expect((await call("get_task", { task_id: result?.task_id })).result).toEqual(result);
  });

  it("goes on with the answer, with all that was made before", async () => {
    const { call } = createTestHost({ agent: asking() });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const { result } = await call("answer_task", { task_id, option_id: "yes", user_id: "U1" });
    expect(result).toMatchObject({ status: "accepted", task_id });
    const ended = await call("get_task", { task_id, wait_ms: 5000 });
    expect(ended.result).toMatchObject({ status: "success", response_text: "yes", artifacts: [{ name: "plan 1" }] });
  });

  it("may ask again, and is told every answer so far", async () => {
    const started: string[] = [];
    const { call } = createTestHost({ agent: asking({ questions: 2, started }) });
    const id = randomUUID();
    const task_id = (await call("execute_task", hello, { id })).result?.task_id;
    const answerId = randomUUID();
    await call("answer_task", { task_id, text: "first" }, { id: answerId });
    await eventually(async () => (await call("get_task", { task_id })).result?.prompt === "Shall I? (2)");
    await call("answer_task", { task_id, text: "second" });
    const ended = await call("get_task", { task_id, wait_ms: 5000 });
    expect(ended.result?.response_text).toBe("first, second");
    expect(started.slice(0, 2)).toEqual([id, answerId]);
  });

  it("goes on in another process, where the first one has gone", async () => {
    const store = memoryStore();
    const first = createTestHost({ agent: asking(), store });
    const task_id = (await first.call("execute_task", hello)).result?.task_id;
    await first.host.stop({ graceMs: 0 });
    const second = createTestHost({ agent: asking(), store });
    await second.call("answer_task", { task_id, option_id: "no" });
    expect((await second.call("get_task", { task_id, wait_ms: 5000 })).result?.response_text).toBe("no");
  });

  it("hears of the credentials that it asked for as of any answer", async () => {
    const agent: Agent = async function* (task) {
      if (task.answers.length === 0) yield { type: "question", prompt: "Sign in first.", kind: "auth" };
      yield { type: "answer", text: "in" };
    };
    const { call } = createTestHost({ agent });
    const { result } = await call("execute_task", hello);
    expect(result).toMatchObject({ status: "input_required", prompt: "Sign in first.", kind: "auth" });
  });

  it.each<[string, { prompt?: string; options?: { id: string; label: string }[] }, string]>([
    ["says nothing", { prompt: "" }, "update.prompt: too_small"],
    ["is too long", { prompt: "x".repeat(10_001) }, "update.prompt: too_big"],
    ["offers nothing", { options: [] }, "update.options: too_small"],
    ["offers too much", { options: new Array(21).fill({ id: "a", label: "A" }) }, "update.options: too_big"],
    ["has an option without an id", { options: [{ id: "", label: "A" }] }, "update.options.0.id: too_small"],
    ["has an option that no answer can name", { options: [{ id: long, label: "A" }] }, "update.options.0.id: too_big"],
    ["has an option without words", { options: [{ id: "a", label: "" }] }, "update.options.0.label: too_small"],
    ["has an endless label", { options: [{ id: "a", label: long + long }] }, "update.options.0.label: too_big"],
  ])("fails where its question %s, and the log says where", async (_what, given, cause_kind) => {
    const { call, lines } = createTestHost({ agent: yielding({ type: "question", prompt: "Which?", ...given }) });
    expect((await call("execute_task", hello)).error?.data.reason).toBe("execution_failed");
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: "warn", message: "agent_update_refused", cause_kind }),
    );
    expect(lines.join("")).not.toMatch(/xxx|Which/);
  });

  it("may offer ids and labels as long as an answer and a reader can take", async () => {
    const id = long.slice(1);
    const agent: Agent = async function* ({ answers: [given] }) {
      if (given) yield { type: "answer", text: given.option_id ?? "" };
      else yield { type: "question", prompt: "Which?", options: [{ id, label: "x".repeat(200) }] };
    };
    const { call } = createTestHost({ agent });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    await call("answer_task", { task_id, option_id: id });
    expect((await call("get_task", { task_id, wait_ms: 5000 })).result?.response_text).toBe(id);
  });
});

describe("an answer", () => {
  it("that comes twice counts once, by its id or by what it says", async () => {
    const started: string[] = [];
    const { call } = createTestHost({ agent: asking({ started }) });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const answer = { task_id, option_id: "yes" };
    const id = randomUUID();
    const all = await Promise.all([call("answer_task", answer, { id }), call("answer_task", answer, { id })]);
    all.push(await call("answer_task", answer));
    for (const { result } of all) expect(["accepted", "success"]).toContain(result?.status);
    await call("get_task", { task_id, wait_ms: 5000 });
    expect((await call("answer_task", answer)).result).toMatchObject({ status: "success", response_text: "yes" });
    expect(started).toHaveLength(2);
  });

  it("that differs from the one given is refused", async () => {
    const { call } = createTestHost({ agent: asking() });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const id = randomUUID();
    await call("answer_task", { task_id, option_id: "yes" }, { id });
    const other = await call("answer_task", { task_id, option_id: "no" });
    expect(other.error?.data).toMatchObject({ reason: "invalid_state", target: "working" });
    const sameId = await call("answer_task", { task_id, option_id: "no" }, { id });
    expect(sameId.error?.data.reason).toBe("already_exists");
  });

  it("that is repeated late is none to the next question", async () => {
    const { call } = createTestHost({ agent: asking({ questions: 2 }) });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const id = randomUUID();
    await call("answer_task", { task_id, text: "first" }, { id });
    await eventually(async () => (await call("get_task", { task_id })).result?.prompt === "Shall I? (2)");
    const late = await call("answer_task", { task_id, text: "first" }, { id });
    expect(late.result).toMatchObject({ status: "input_required", prompt: "Shall I? (2)" });
  });

  it("to a task that asks nothing is refused, while it works and when it is over", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const agent: Agent = async function* () {
      await promise;
      yield { type: "answer", text: "done" };
    };
    const { call } = createTestHost({ agent, syncBudgetMs: 0 });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const current = async () => (await call("answer_task", { task_id, text: "x" })).error?.data;
    expect(await current()).toMatchObject({ reason: "invalid_state", current: "working" });
    resolve();
    await call("get_task", { task_id, wait_ms: 5000 });
    expect(await current()).toMatchObject({ reason: "invalid_state", current: "completed" });
  });

  it("of somebody else finds no task", async () => {
    const { call } = createTestHost({ agent: asking() });
    expect((await call("answer_task", { task_id: "nobody", text: "x" })).error?.data.reason).toBe("task_not_found");
  });
});

describe("a question", () => {
  it("can be canceled, and canceled it stays", async () => {
    const { call } = createTestHost({ agent: asking() });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    expect((await call("cancel_task", { task_id })).result?.status).toBe("canceled");
    expect((await call("answer_task", { task_id, option_id: "yes" })).error?.data.current).toBe("canceled");
  });

  it("leaves no text behind when the task is over", async () => {
    const { call, store } = createTestHost({ agent: asking() });
    const task_id = (await call("execute_task", hello)).result?.task_id ?? "";
    await call("answer_task", { task_id, text: "the code is swordfish" });
    await call("get_task", { task_id, wait_ms: 5000 });
    const { outcome: _outcome, ...record } = (await store.get({ id: task_id })) ?? {};
    expect(JSON.stringify(record)).not.toMatch(/swordfish|Shall I|deploy/);
  });
});
