/** An agent that asks: the task waits, is answered once, by which answer to which question, and goes on in whatever process. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import type { Agent, TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { createTestHost, eventually, hello, memoryStore, yielding } from "../test-host.ts";

/** One character more than an answer takes for the id of an option. */
const long = "x".repeat(129);

const options = [
  { id: "yes", label: "Deploy", style: "primary" },
  { id: "no", label: "Leave it" },
];

/** Asks as often as `questions` says, then tells what it heard. */
function asking({
  questions = 1,
  offers = true,
  started: startTexts = [] as string[],
} = {}): Agent {
  return async function* ({ answers }, { messageId }) {
    startTexts.push(messageId);
    const number = answers.length + 1;
    if (answers.length < questions) {
      yield { type: "artifact", artifact: { name: `plan ${number}`, text: "a plan" } };
      yield { type: "question", prompt: `Shall I? (${number})`, ...(offers && { options }) };
    }
    yield {
      type: "answer",
      text: answers.map(({ option_id, text }) => option_id ?? text).join(", "),
    };
  };
}

/** A task that asks, and the calls of who answers it. */
async function waiting(agent = asking({ questions: 2, offers: false })) {
  const store = memoryStore();
  const test = createTestHost({ agent, store });
  const first = (await test.call("execute_task", hello)).result;
  const task_id = first?.task_id ?? "";
  const answer = (replyFields: Record<string, unknown>, id?: string | number) =>
    test.call("answer_task", { task_id, ...replyFields }, id === undefined ? {} : { id });
  const say = (text: string, question_id?: string, id?: string) =>
    answer({ text, user_id: "U1", question_id }, id);
  /** How the task stands once it asks or is over. */
  async function waitForTurn() {
    await eventually(async () =>
      ["input_required", "completed"].includes((await store.get({ id: task_id }))?.state ?? ""),
    );
    return (await test.call("get_task", { task_id })).result;
  }
  return { ...test, store, first, task_id, answer, say, settled: waitForTurn };
}

describe("an agent with a question", () => {
  it("leaves the task waiting with its question and without a lease", async () => {
    const { host, call, store } = createTestHost({ agent: asking() });
    const { result } = await call("execute_task", hello);
    expect(result).toMatchObject({ status: "input_required", prompt: "Shall I? (1)", options });
    expect(host.busy()).toBe(false);
    const record = await store.get({ id: result?.task_id ?? "" });
    expect(record).toMatchObject({ state: "input_required", artifacts: [{ name: "plan 1" }] });
    expect(record?.lease).toBeUndefined();
    expect((await call("get_task", { task_id: result?.task_id })).result).toEqual(result);
  });

  it("continues with the answer and keeps the artifacts made before", async () => {
    const { call } = createTestHost({ agent: asking() });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const { result } = await call("answer_task", { task_id, option_id: "yes", user_id: "U1" });
    expect(result).toMatchObject({ status: "accepted", task_id });
    const endResult = await call("get_task", { task_id, wait_ms: 5000 });
    expect(endResult.result).toMatchObject({
      status: "success",
      response_text: "yes",
      artifacts: [{ name: "plan 1" }],
    });
  });

  it("lets an agent ask again and gives it every answer so far", async () => {
    const startTexts: string[] = [];
    const { call } = createTestHost({ agent: asking({ questions: 2, started: startTexts }) });
    const id = randomUUID();
    const task_id = (await call("execute_task", hello, { id })).result?.task_id;
    const answerId = randomUUID();
    await call("answer_task", { task_id, text: "first" }, { id: answerId });
    await eventually(
      async () => (await call("get_task", { task_id })).result?.prompt === "Shall I? (2)",
    );
    await call("answer_task", { task_id, text: "second" });
    const endResult = await call("get_task", { task_id, wait_ms: 5000 });
    expect(endResult.result?.response_text).toBe("first, second");
    expect(startTexts.slice(0, 2)).toEqual([id, answerId]);
  });

  it("ends a held poll with the next question although the state has not changed", async () => {
    const { call, store } = createTestHost({ agent: asking({ questions: 2 }) });
    const task_id = (await call("execute_task", hello)).result?.task_id ?? "";
    await call("get_task", { task_id });
    await call("answer_task", { task_id, text: "first" });
    await eventually(
      async () => (await store.get({ id: task_id }))?.question?.prompt === "Shall I? (2)",
    );
    let result: unknown;
    const heldCall = call("get_task", { task_id, wait_ms: 25_000 }).then(
      (answer) => (result = answer.result),
    );
    for (let turn = 0; turn < 1000 && result === undefined; turn += 1) await sleep(1);
    expect(result).toMatchObject({ status: "input_required", prompt: "Shall I? (2)" });
    await heldCall;
  });

  it("marks a question for credentials with the kind auth", async () => {
    const agent: Agent = async function* (task) {
      if (task.answers.length === 0)
        yield { type: "question", prompt: "Sign in first.", kind: "auth" };
      yield { type: "answer", text: "in" };
    };
    const { call } = createTestHost({ agent });
    const { result } = await call("execute_task", hello);
    expect(result).toMatchObject({
      status: "input_required",
      prompt: "Sign in first.",
      kind: "auth",
    });
  });

  it.each<
    [
      string,
      { prompt?: string; options?: { id: string; label: string }[]; fields?: object[] },
      string,
    ]
  >([
    ["has no text", { prompt: "" }, "update.prompt: too_small"],
    ["has only invisible characters", { prompt: " \n\u00a0" }, "update.prompt: custom"],
    [
      "has two options of one id",
      {
        options: [
          { id: "a", label: "A" },
          { id: "a", label: "B" },
        ],
      },
      "update.options: custom",
    ],
    ["is too long", { prompt: "x".repeat(10_001) }, "update.prompt: too_big"],
    ["has an empty list of options", { options: [] }, "update.options: too_small"],
    [
      "has too many options",
      { options: new Array(21).fill({ id: "a", label: "A" }) },
      "update.options: too_big",
    ],
    [
      "has an option without an id",
      { options: [{ id: "", label: "A" }] },
      "update.options.0.id: too_small",
    ],
    [
      "has an option with an invalid id",
      { options: [{ id: long, label: "A" }] },
      "update.options.0.id: too_big",
    ],
    [
      "has an option without a label",
      { options: [{ id: "a", label: "" }] },
      "update.options.0.label: too_small",
    ],
    [
      "has options and fields",
      { options: [{ id: "a", label: "A" }], fields: [{ id: "a", label: "A", type: "text" }] },
      "update.fields: custom",
    ],
    [
      "has an oversized label",
      { options: [{ id: "a", label: long + long }] },
      "update.options.0.label: too_big",
    ],
  ])(
    "fails when the question of the agent %s, and logs the field",
    async (_what, question, cause_kind) => {
      const { call, lines } = createTestHost({
        agent: yielding({ type: "question", prompt: "Which?", ...question } as TaskUpdate),
      });
      expect((await call("execute_task", hello)).error?.data.reason).toBe("execution_failed");
      expect(lines.map((line) => JSON.parse(line))).toContainEqual(
        expect.objectContaining({ level: "warn", message: "agent_update_refused", cause_kind }),
      );
      expect(lines.join("")).not.toMatch(/xxx|Which/);
    },
  );

  it("accepts option ids and labels of the maximum length", async () => {
    const id = long.slice(1);
    const agent: Agent = async function* ({ answers: [reply] }) {
      if (reply) yield { type: "answer", text: reply.option_id ?? "" };
      else yield { type: "question", prompt: "Which?", options: [{ id, label: "x".repeat(200) }] };
    };
    const { call } = createTestHost({ agent });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    await call("answer_task", { task_id, option_id: id });
    expect((await call("get_task", { task_id, wait_ms: 5000 })).result?.response_text).toBe(id);
  });
});

describe("an answer", () => {
  it("counts a repeated answer once, by its id or by its content", async () => {
    const startTexts: string[] = [];
    const { call } = createTestHost({ agent: asking({ started: startTexts }) });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const answer = { task_id, option_id: "yes" };
    const id = randomUUID();
    const all = await Promise.all([
      call("answer_task", answer, { id }),
      call("answer_task", answer, { id }),
    ]);
    all.push(await call("answer_task", answer));
    for (const { result } of all) expect(["accepted", "success"]).toContain(result?.status);
    await call("get_task", { task_id, wait_ms: 5000 });
    expect((await call("answer_task", answer)).result).toMatchObject({
      status: "success",
      response_text: "yes",
    });
    expect(startTexts).toHaveLength(2);
  });

  it("accepts the same answer of another person and names only the first person to the agent", async () => {
    const userIds: unknown[] = [];
    const agent: Agent = async function* ({ answers }) {
      if (answers.length === 0) yield { type: "question", prompt: "Shall I?", options };
      userIds.push(...answers.map(({ user_id }) => user_id));
      yield { type: "answer", text: "done" };
    };
    const { call } = createTestHost({ agent });
    const { task_id, question_id } = (await call("execute_task", hello)).result ?? {};
    const answer = { task_id, question_id, option_id: "yes" };
    await call("answer_task", { ...answer, user_id: "U1" });
    expect((await call("answer_task", { ...answer, user_id: "U2" })).error).toBeUndefined();
    await call("get_task", { task_id, wait_ms: 5000 });
    expect((await call("answer_task", { ...answer, user_id: "U2" })).result?.status).toBe(
      "success",
    );
    expect(userIds).toEqual(["U1"]);
  });

  it("refuses an answer that differs from the first one", async () => {
    const { call } = createTestHost({ agent: asking() });
    const task_id = (await call("execute_task", hello)).result?.task_id;
    const id = randomUUID();
    await call("answer_task", { task_id, option_id: "yes" }, { id });
    const other = await call("answer_task", { task_id, option_id: "no" });
    expect(other.error?.data).toMatchObject({ reason: "invalid_state", target: "working" });
    const sameId = await call("answer_task", { task_id, option_id: "no" }, { id });
    expect(sameId.error?.data.reason).toBe("already_exists");
  });

  it("reports task_not_found for an answer to an unknown task", async () => {
    const { call } = createTestHost({ agent: asking() });
    expect((await call("answer_task", { task_id: "nobody", text: "x" })).error?.data.reason).toBe(
      "task_not_found",
    );
  });
});

describe("a question", () => {
  it("removes the texts of questions and answers from the record when the task is over", async () => {
    const { call, store } = createTestHost({ agent: asking() });
    const task_id = (await call("execute_task", hello)).result?.task_id ?? "";
    await call("answer_task", { task_id, text: "the code is swordfish" });
    await call("get_task", { task_id, wait_ms: 5000 });
    const { outcome: _outcome, ...record } = (await store.get({ id: task_id })) ?? {};
    expect(JSON.stringify(record)).not.toMatch(/swordfish|Shall I|hello/);
  });
});

describe("a reply under an id that is not a UUID", () => {
  it.each([[["first", "second"]], [["again", "again"]]])(
    "accepts replies under the non-UUID ids %j to one question after the other",
    async (texts) => {
      const { answer, settled } = await waiting(asking({ questions: 2, offers: false }));
      for (const text of texts) {
        expect((await answer({ text }, 1)).result?.status).toBe("accepted");
        await settled();
      }
      expect((await settled())?.response_text).toBe(texts.join(", "));
    },
  );
});

it("recognizes the UUID of an answer in any letter case", async () => {
  const { answer, settled } = await waiting(asking({ questions: 2, offers: false }));
  const id = randomUUID();
  await answer({ text: "first" }, id);
  await settled();
  const late = await answer({ text: "first" }, id.toUpperCase());
  expect(late.result).toMatchObject({ status: "input_required", prompt: "Shall I? (2)" });
});

describe("an invalid reply", () => {
  it.each([
    ["without content", {}, "text"],
    ["with an empty text", { text: "" }, "text"],
    ["with white space as its text", { text: " \n" }, "text"],
    ["with only invisible characters", { text: "\u200b" }, "text"],
    ["with an option that was not offered", { option_id: "drop-all-tables" }, "option_id"],
  ])("refuses a reply %s and keeps the question open", async (_what, replyFields, path) => {
    const { answer, settled, task_id, call } = await waiting(asking());
    const { error } = await answer(replyFields);
    expect(error?.data).toMatchObject({ reason: "invalid_params", issues: [{ path }] });
    expect((await call("get_task", { task_id })).result?.status).toBe("input_required");
    await answer({ option_id: "no" });
    expect((await settled())?.response_text).toBe("no");
  });

  it("refuses an option id when the question offers no options", async () => {
    const { answer } = await waiting(asking({ offers: false }));
    expect((await answer({ option_id: "yes" })).error?.data.reason).toBe("invalid_params");
  });
});

it("keeps a task running if the answer came before its first run had finished", async () => {
  const store = memoryStore();
  const { promise: open, resolve: letGo } = Promise.withResolvers<void>();
  const { promise: late, resolve: confirm } = Promise.withResolvers<void>();
  /** Says only later that a question is stored, which others can see at once. */
  const slow: typeof store.replace = async (request) => {
    const storedTask = await store.replace(request);
    if (storedTask?.state === "input_required") await late;
    return storedTask;
  };
  const agent: Agent = async function* (task) {
    if (task.answers.length === 0) yield { type: "question", prompt: "Shall I?" };
    else await open;
    yield { type: "answer", text: "done" };
  };
  const { call, host } = createTestHost({
    agent,
    store: { ...store, replace: slow },
    syncBudgetMs: 0,
  });
  const task_id = (await call("execute_task", hello)).result?.task_id ?? "";
  await eventually(async () => (await store.get({ id: task_id }))?.state === "input_required");
  await call("answer_task", { task_id, text: "yes" });
  await eventually(async () => (await store.get({ id: task_id }))?.lease !== undefined);
  confirm();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(host.busy()).toBe(true);
  letGo();
  await host.stop({ graceMs: 1000 });
  expect((await store.get({ id: task_id }))?.state).toBe("completed");
});

describe("a question's id", () => {
  it("gives a question one id at every read and on every instance, and the next question another id", async () => {
    const { call, store, first, task_id, say, settled } = await waiting();
    const elsewhere = createTestHost({ agent: asking({ questions: 2 }), store });
    const pollResults = [
      await call("get_task", { task_id }),
      await elsewhere.call("get_task", { task_id }),
    ];
    expect(first?.question_id).toEqual(expect.any(String));
    expect(pollResults.map(({ result }) => result?.question_id)).toEqual([
      first?.question_id,
      first?.question_id,
    ]);
    await say("yes", first?.question_id);
    const next = await settled();
    expect(next).toMatchObject({ status: "input_required", question_id: expect.any(String) });
    expect(next?.question_id).not.toBe(first?.question_id);
  });

  it("hides the id of the question from the agent", async () => {
    const telling: Agent = async function* ({ answers }) {
      if (answers.length === 0) yield { type: "question", prompt: "Shall I? (1)" };
      yield { type: "answer", text: JSON.stringify(answers) };
    };
    const { first, say, settled } = await waiting(telling);
    await say("yes", first?.question_id);
    const answersToAgent = JSON.parse((await settled())?.response_text ?? "");
    expect(answersToAgent).toEqual([{ prompt: "Shall I? (1)", text: "yes", user_id: "U1" }]);
  });
});

describe("a reply that names its question", () => {
  it("keeps the next question open when an earlier answer is repeated under another id", async () => {
    const { first, say, settled } = await waiting();
    await say("one", first?.question_id);
    await settled();
    const late = await say("one", first?.question_id, randomUUID());
    expect(late.result).toMatchObject({ status: "input_required", prompt: "Shall I? (2)" });
    expect((await settled())?.prompt).toBe("Shall I? (2)");
  });

  it("returns the end of the task for a repeated answer to any of its questions", async () => {
    const { first, say, settled } = await waiting();
    await say("one", first?.question_id);
    const second = await settled();
    await say("two", second?.question_id);
    const end = await settled();
    expect(end?.status).toBe("success");
    expect((await say("one", first?.question_id)).result).toEqual(end);
    expect((await say("two", second?.question_id)).result).toEqual(end);
    expect((await say("two", first?.question_id)).error?.data.reason).toBe("invalid_state");
  });

  it.each([
    ["was answered differently", (first: string) => first],
    ["was never asked", () => "nobody-asked-this"],
  ])(
    "refuses an answer to a question that %s, and keeps the open question",
    async (_what, idOf) => {
      const { first, say, settled } = await waiting();
      await say("one", first?.question_id);
      const second = await settled();
      const { error } = await say("another", idOf(first?.question_id ?? ""));
      expect(error?.data).toMatchObject({ reason: "invalid_state", current: "input_required" });
      expect((await settled())?.question_id).toBe(second?.question_id);
    },
  );

  it("refuses a request id that already answered another question", async () => {
    const { first, say, settled } = await waiting();
    const id = randomUUID();
    await say("yes", first?.question_id, id);
    const second = await settled();
    expect((await say("yes", second?.question_id, id)).error?.data.reason).toBe("already_exists");
    expect((await say("yes", first?.question_id, id)).result?.question_id).toBe(
      second?.question_id,
    );
  });

  it("counts many equal answers at the same time once", async () => {
    const { first, say, settled } = await waiting();
    const all = await Promise.all(Array.from({ length: 5 }, () => say("one", first?.question_id)));
    expect(all.map(({ error }) => error)).toEqual(all.map(() => undefined));
    expect((await settled())?.prompt).toBe("Shall I? (2)");
  });
});

it("finds the open question by its id in a record whose answers have no question ids", async () => {
  const { store, task_id, say, settled, first } = await waiting();
  await say("one", first?.question_id);
  const second = await settled();
  const record = await store.get({ id: task_id });
  if (record === undefined) throw new Error("no record");
  const answers = record.answers?.map(({ questionId: _none, ...otherFields }) => otherFields);
  await store.replace({ item: { ...record, answers } });
  expect((await say("one", first?.question_id)).error?.data.reason).toBe("invalid_state");
  await say("two", second?.question_id);
  expect((await settled())?.status).toBe("success");
});

it("gives the agent the state of its question with the answer, and shows it to nobody else", async () => {
  const agent: Agent = async function* ({ answers: [answer] }) {
    if (answer === undefined)
      yield { type: "question", prompt: "Which one?", state: { run: "hunter2", at: [1, null] } };
    yield { type: "answer", text: `${answer?.text} ${JSON.stringify(answer?.state)}` };
  };
  const { say, settled, first, call, task_id, store } = await waiting(agent);
  expect(JSON.stringify([first, await call("get_task", { task_id })])).not.toContain("hunter2");
  await say("the first");
  expect(await settled()).toMatchObject({
    response_text: 'the first {"run":"hunter2","at":[1,null]}',
  });
  const record = await store.get({ id: task_id });
  expect(JSON.stringify(record?.answers)).not.toContain("hunter2");
});

it("fails the task if the state of a question has more than 64 KiB", async () => {
  const agent = yielding({ type: "question", prompt: "?", state: "x".repeat(64 * 1024) });
  const { call, lines } = createTestHost({ agent });
  const { error } = await call("execute_task", hello);
  expect(error?.data.reason).toBe("execution_failed");
  expect(lines.join()).toContain("update.state");
});

it("stores a failure as lost if the agent does not know what was done", async () => {
  const agent = yielding({ type: "failure", reason: "execution_failed", lost: true });
  const { error } = await createTestHost({ agent }).call("execute_task", hello);
  expect(error?.data).toMatchObject({ reason: "execution_failed", lost: true });
});
