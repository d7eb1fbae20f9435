/** Which question an answer is to: one that names it can never answer another one, however late and by whatever request it comes. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createTestHost, eventually, hello, memoryStore } from "../test-host.ts";

/** Asks as often as `questions` says, and then tells what it heard. */
function asking({ questions }: { questions: number }): Agent {
  return async function* (task) {
    const asked = task.answers.length;
    if (asked < questions) yield { type: "question", prompt: `Shall I? (${asked + 1})` };
    else yield { type: "answer", text: JSON.stringify(task.answers) };
  };
}

async function waiting({ questions = 2 } = {}) {
  const store = memoryStore();
  const test = createTestHost({ agent: asking({ questions }), store });
  const first = (await test.call("execute_task", hello)).result;
  const task_id = first?.task_id ?? "";
  const answer = (text: string, question_id?: string, id?: string) =>
    test.call("answer_task", { task_id, text, user_id: "U1", question_id }, id === undefined ? {} : { id });
  /** How the task stands once it asks or is over. */
  const settled = async () => {
    await eventually(async () =>
      ["input_required", "completed"].includes((await store.get({ id: task_id }))?.state ?? ""),
    );
    return (await test.call("get_task", { task_id })).result;
  };
  return { ...test, store, first, task_id, answer, settled };
}

describe("a question's id", () => {
  it("is the same at every read and on every instance, and another one for the next question", async () => {
    const { call, store, first, task_id, answer, settled } = await waiting();
    const elsewhere = createTestHost({ agent: asking({ questions: 2 }), store });
    const read = [await call("get_task", { task_id }), await elsewhere.call("get_task", { task_id })];
    expect(first?.question_id).toEqual(expect.any(String));
    expect(read.map(({ result }) => result?.question_id)).toEqual([first?.question_id, first?.question_id]);
    await answer("yes", first?.question_id);
    const next = await settled();
    expect(next).toMatchObject({ status: "input_required", question_id: expect.any(String) });
    expect(next?.question_id).not.toBe(first?.question_id);
  });

  it("is no affair of the agent", async () => {
    const { first, answer, settled } = await waiting({ questions: 1 });
    await answer("yes", first?.question_id);
    const heard = JSON.parse((await settled())?.response_text ?? "");
    expect(heard).toEqual([{ prompt: "Shall I? (1)", text: "yes", user_id: "U1" }]);
  });
});

describe("an answer that names its question", () => {
  it("is taken where that is the open one", async () => {
    const { first, answer, settled } = await waiting();
    expect((await answer("one", first?.question_id)).result?.status).toBe("accepted");
    const { question_id } = (await settled()) ?? {};
    await answer("two", question_id);
    expect((await settled())?.response_text).toMatch(/one.*two/);
  });

  it("and comes again late, under another id, leaves the next question open", async () => {
    const { first, answer, settled } = await waiting();
    await answer("one", first?.question_id);
    await settled();
    const late = await answer("one", first?.question_id, randomUUID());
    expect(late.result).toMatchObject({ status: "input_required", prompt: "Shall I? (2)" });
    expect((await settled())?.prompt).toBe("Shall I? (2)");
  });

  it("and comes again after all questions gets the end of the task, whichever question it was to", async () => {
    const { first, answer, settled } = await waiting();
    await answer("one", first?.question_id);
    const second = await settled();
    await answer("two", second?.question_id);
    const end = await settled();
    expect(end?.status).toBe("success");
    expect((await answer("one", first?.question_id)).result).toEqual(end);
    expect((await answer("two", second?.question_id)).result).toEqual(end);
    expect((await answer("two", first?.question_id)).error?.data.reason).toBe("invalid_state");
  });

  it.each([
    ["has been answered otherwise", (first: string) => first],
    ["was never asked", () => "nobody-asked-this"],
  ])("is refused where that one %s, and the open question stays", async (_what, idOf) => {
    const { first, answer, settled } = await waiting();
    await answer("one", first?.question_id);
    const second = await settled();
    const { error } = await answer("another", idOf(first?.question_id ?? ""));
    expect(error?.data).toMatchObject({ reason: "invalid_state", current: "input_required" });
    expect((await settled())?.question_id).toBe(second?.question_id);
  });

  it("is refused where its request id came before with the answer to another one", async () => {
    const { first, answer, settled } = await waiting();
    const id = randomUUID();
    await answer("yes", first?.question_id, id);
    const second = await settled();
    expect((await answer("yes", second?.question_id, id)).error?.data.reason).toBe("already_exists");
    expect((await answer("yes", first?.question_id, id)).result?.question_id).toBe(second?.question_id);
  });

  it("counts once, where many of it come at the same time", async () => {
    const { first, answer, settled } = await waiting();
    const all = await Promise.all(Array.from({ length: 5 }, () => answer("one", first?.question_id)));
    expect(all.map(({ error }) => error)).toEqual(all.map(() => undefined));
    expect((await settled())?.prompt).toBe("Shall I? (2)");
  });
});

it("an answer that names no question is to whatever the task asks, as ever", async () => {
  const { answer, settled } = await waiting();
  await answer("same");
  await settled();
  await answer("same");
  expect((await settled())?.response_text).toMatch(/same.*same/);
});

it("a question that was stored before answers had questions is answered by its id", async () => {
  const { store, task_id, answer, settled, first } = await waiting();
  await answer("one", first?.question_id);
  const second = await settled();
  const record = await store.get({ id: task_id });
  if (record === undefined) throw new Error("no record");
  const answers = record.answers?.map(({ questionId: _none, ...rest }) => rest);
  await store.replace({ item: { ...record, answers } });
  expect((await answer("one", first?.question_id)).error?.data.reason).toBe("invalid_state");
  await answer("two", second?.question_id);
  expect((await settled())?.status).toBe("success");
});
