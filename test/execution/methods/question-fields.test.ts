/** A question with fields: what the host tells of it, which values it takes, and what the agent gets; over the zone contract and A2A. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import type { QuestionField } from "@sekisho/contracts/question-fields.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { serveA2a, userMessage } from "../a2a/a2a-host.ts";
import { createTestHost, hello, memoryStore } from "../test-host.ts";

const fields: QuestionField[] = [
  {
    id: "region",
    label: "Region",
    type: "choice",
    required: true,
    options: [
      { id: "eu", label: "Europe" },
      { id: "ap", label: "Asia" },
    ],
  },
  { id: "count", label: "How many", type: "number", min: 1, max: 9 },
];

/** Asks once, then tells the answer as it came. */
const asking: Agent = async function* ({ answers: [reply] }) {
  if (reply === undefined) yield { type: "question", prompt: "Where?", fields };
  else yield { type: "answer", text: JSON.stringify([reply.fields ?? null, reply.text]) };
};

async function askForm(agent = asking) {
  const store = memoryStore();
  const test = createTestHost({ agent, store });
  const question = (await test.call("execute_task", hello)).result;
  const task_id = question?.task_id ?? "";
  const answer = (replyFields: object, id: string = randomUUID()) =>
    test.call("answer_task", { task_id, ...replyFields }, { id });
  const end = async () =>
    (await test.call("get_task", { task_id, wait_ms: 5000 })).result?.response_text;
  return { ...test, store, question, task_id, answer, end };
}

describe("a question with fields", () => {
  it("returns a question with its fields at every read", async () => {
    const { question, call, task_id } = await askForm();
    expect(question).toMatchObject({ status: "input_required", prompt: "Where?", fields });
    expect((await call("get_task", { task_id })).result).toEqual(question);
  });

  it("passes field values to the agent without absent ones", async () => {
    const { answer, end } = await askForm();
    expect((await answer({ fields: { count: null, region: "ap" } })).result).toMatchObject({
      status: "accepted",
    });
    expect(JSON.parse((await end()) ?? "")).toEqual([{ region: "ap" }, ""]);
  });

  it("accepts a text from a client that does not know fields", async () => {
    const { answer, end } = await askForm();
    await answer({ text: "In Asia, I think" });
    expect(JSON.parse((await end()) ?? "")).toEqual([null, "In Asia, I think"]);
  });

  it.each<[fields: object, path: string, message: RegExp]>([
    [{}, "fields.region", /required/],
    [{ region: "eu", count: "two" }, "fields.count", /a number/],
    [{ region: { id: "eu" } }, "fields.region", /./],
    [{ "secret words": "eu" }, "fields", /./],
  ])(
    "refuses the fields %j, names the wrong one, and keeps the question open",
    async (replyFields, path, message) => {
      const { answer, call, task_id, question, lines } = await askForm();
      const { error } = await answer({ fields: replyFields });
      expect(error?.data).toMatchObject({ reason: "invalid_params", issues: [{ path }] });
      expect(error?.data.issues).toEqual([{ path, message: expect.stringMatching(message) }]);
      expect(JSON.stringify([error, lines])).not.toMatch(/two|secret/);
      expect((await call("get_task", { task_id })).result).toEqual(question);
    },
  );

  it("accepts the same values again in any order and refuses others", async () => {
    const { answer } = await askForm();
    const id = randomUUID();
    const first = await answer({ fields: { region: "eu", count: 2 } }, id);
    expect(first.result).toMatchObject({ status: "accepted" });
    for (const again of [id, randomUUID()]) {
      expect((await answer({ fields: { count: 2, region: "eu" } }, again)).error).toBeUndefined();
    }
    expect((await answer({ fields: { region: "ap" } })).error?.data.reason).toBe("invalid_state");
    expect((await answer({ fields: { region: "ap" } }, id)).error?.data.reason).toBe(
      "already_exists",
    );
  });

  it("removes the field values from the record when the task is over", async () => {
    const { answer, end, store, task_id } = await askForm();
    await answer({ fields: { region: "eu", count: 7 } });
    await end();
    expect((await store.get({ id: task_id }))?.answers).toEqual([
      expect.not.objectContaining({ fields: expect.anything() }),
    ]);
  });
});

describe("values for a question without fields", () => {
  it("refuses field values for a question without fields", async () => {
    const agent: Agent = async function* () {
      yield { type: "question", prompt: "Shall I?" };
    };
    const { answer } = await askForm(agent);
    const { error } = await answer({ fields: { region: "eu" } });
    expect(error?.data).toMatchObject({
      reason: "invalid_params",
      issues: [{ path: "fields.region" }],
    });
  });
});

describe("a question with fields over A2A", () => {
  type Sent = { task: A2aTask };
  const values = { data: { fields: { count: 3, region: "eu" } } };

  it("carries fields and values as data parts over A2A", async () => {
    const host = await serveA2a({ agent: asking });
    const { task } = await host.result<Sent>("SendMessage", { message: userMessage("Fly me") });
    expect(task.status.message?.parts).toEqual([
      { text: "Where?" },
      { data: { fields }, mediaType: "application/json" },
    ]);
    const message = { ...userMessage("", { taskId: task.id }), parts: [values] };
    const { task: endedTask } = await host.result<Sent>("SendMessage", { message });
    expect(JSON.parse(endedTask.artifacts?.[0]?.parts[0]?.text ?? "")).toEqual([
      { region: "eu", count: 3 },
      "",
    ]);
    expect(endedTask.history?.map(({ parts }) => parts.at(-1))).toEqual([
      { text: "Fly me" },
      { data: { fields }, mediaType: "application/json" },
      values,
    ]);
  });

  it("refuses invalid values and accepts a text over A2A", async () => {
    const host = await serveA2a({ agent: asking });
    const { task } = await host.result<Sent>("SendMessage", { message: userMessage("Fly me") });
    for (const fieldsGiven of [{ region: "us" }, { region: {} }, ["eu"]]) {
      const parts = [{ data: { fields: fieldsGiven } }];
      const { error } = await host.ask("SendMessage", {
        message: { ...userMessage("", { taskId: task.id }), parts },
      });
      expect([error?.code, error?.data[0]?.reason]).toEqual([-32602, "INVALID_PARAMS"]);
    }
    const message = userMessage("Europe", { taskId: task.id });
    const { task: endedTask } = await host.result<Sent>("SendMessage", { message });
    expect(JSON.parse(endedTask.artifacts?.[0]?.parts[0]?.text ?? "")).toEqual([null, "Europe"]);
  });
});
