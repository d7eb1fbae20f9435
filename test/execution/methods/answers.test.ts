/** What counts as an answer to an agent's question, what counts as its repetition, and what is refused. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createTestHost, eventually, memoryStore } from "../test-host.ts";

const hello = { channel: "C1", text: "deploy" };
const options = [
  { id: "yes", label: "Deploy" },
  { id: "no", label: "Leave it" },
];

/** Asks as often as `questions` says, with options where `offers` says so, and then tells what it heard. */
function asking({ questions = 1, offers = false } = {}): Agent {
  return async function* (task) {
    const asked = task.answers.length;
    if (asked < questions) yield { type: "question", prompt: `Shall I? (${asked + 1})`, ...(offers && { options }) };
    else yield { type: "answer", text: task.answers.map(({ option_id, text }) => option_id ?? text).join(", ") };
  };
}

async function waiting(agent: Agent) {
  const test = createTestHost({ agent });
  const task_id = (await test.call("execute_task", hello)).result?.task_id ?? "";
  const answer = (said: Record<string, unknown>, id?: string | number) =>
    test.call("answer_task", { task_id, ...said }, id === undefined ? {} : { id });
  /** How the task stands when its turn is over. */
  const look = async () => {
    for (;;) {
      const answer = await test.call("get_task", { task_id });
      if (answer.result?.status !== "accepted") return answer;
    }
  };
  return { ...test, task_id, answer, look };
}

describe("an answer whose request has an id that is no UUID", () => {
  it.each([[["first", "second"]], [["again", "again"]]])(
    "answers each question in turn, though the id is the same: %j",
    async (said) => {
      const { answer, look } = await waiting(asking({ questions: 2 }));
      for (const text of said) {
        expect((await answer({ text }, 1)).result?.status).toBe("accepted");
        await look();
      }
      expect((await look()).result?.response_text).toBe(said.join(", "));
    },
  );

  it("counts once where its words come again before anything else was asked", async () => {
    const { answer, look } = await waiting(asking());
    await answer({ text: "first" }, 1);
    await look();
    expect((await answer({ text: "first" }, 2)).result?.status).toBe("success");
    expect((await answer({ text: "second" }, 3)).error?.data.reason).toBe("invalid_state");
  });
});

it("an answer's UUID is the same in any letter case", async () => {
  const { answer, look } = await waiting(asking({ questions: 2 }));
  const id = randomUUID();
  await answer({ text: "first" }, id);
  await look();
  const late = await answer({ text: "first" }, id.toUpperCase());
  expect(late.result).toMatchObject({ status: "input_required", prompt: "Shall I? (2)" });
});

describe("an answer is refused", () => {
  it.each([
    ["where it says nothing", {}, "text"],
    ["where its text is empty", { text: "" }, "text"],
    ["where its option was not offered", { option_id: "drop-all-tables" }, "option_id"],
  ])("%s, and the question stays", async (_what, said, path) => {
    const { answer, look, task_id, call } = await waiting(asking({ offers: true }));
    const { error } = await answer(said);
    expect(error?.data).toMatchObject({ reason: "invalid_params", issues: [{ path }] });
    expect((await call("get_task", { task_id })).result?.status).toBe("input_required");
    await answer({ option_id: "no" });
    expect((await look()).result?.response_text).toBe("no");
  });

  it("where it names an option and none were offered", async () => {
    const { answer } = await waiting(asking());
    expect((await answer({ option_id: "yes" })).error?.data.reason).toBe("invalid_params");
  });
});

it("words that are no option reach the agent as they are", async () => {
  const { answer, look } = await waiting(asking({ offers: true }));
  await answer({ text: "only on Mondays" });
  expect((await look()).result?.response_text).toBe("only on Mondays");
});

it("a task that was answered before its first turn was done with is still known to work", async () => {
  const store = memoryStore();
  const { promise: open, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: late, resolve: confirm } = Promise.withResolvers<void>();
  /** Says only later that a question is stored, which others can see at once. */
  const slow: typeof store.replace = async (request) => {
    const stored = await store.replace(request);
    if (stored?.state === "input_required") await late;
    return stored;
  };
  const agent: Agent = async function* (task) {
    if (task.answers.length === 0) yield { type: "question", prompt: "Shall I?" };
    else await open;
    yield { type: "answer", text: "done" };
  };
  const { call, host } = createTestHost({ agent, store: { ...store, replace: slow }, syncBudgetMs: 0 });
  const task_id = (await call("execute_task", hello)).result?.task_id ?? "";
  await eventually(async () => (await store.get({ id: task_id }))?.state === "input_required");
  await call("answer_task", { task_id, text: "yes" });
  await eventually(async () => (await store.get({ id: task_id }))?.lease !== undefined);
  confirm();
  await new Promise((passed) => setTimeout(passed, 20));
  expect(host.busy()).toBe(true);
  letGo();
  await host.stop({ graceMs: 1000 });
  expect((await store.get({ id: task_id }))?.state).toBe("completed");
});
