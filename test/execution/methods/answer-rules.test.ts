/** A question that says who may answer, or that has a link to sign in: what the host tells of it and which answers it accepts; over the zone contract and A2A. */
import { describe, expect, it } from "@jest/globals";
import { questionKey, slackMessageKey } from "@sekisho/contracts/a2a/extension.ts";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import type { Agent, TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { describeProblem } from "@sekisho/local/author/describe-update.ts";
import { serveA2a, userMessage } from "../a2a/a2a-host.ts";
import { createTestHost, hello, memoryStore } from "../test-host.ts";

type Question = Extract<TaskUpdate, { type: "question" }>;

const url = "https://sign-in.example/start?state=hunter2";
const signIn: Question = { type: "question", prompt: "Sign in.", kind: "auth", url };
const options = [
  { id: "go", label: "Deploy" },
  { id: "no", label: "Leave it", style: "danger" },
];
const approval: Question = { type: "question", prompt: "Deploy?", options, approvals: 2 };

/** Asks once, then tells the answer as it came. */
const asking = (question: Question): Agent =>
  async function* ({ answers: [reply] }) {
    if (reply === undefined) yield question;
    else {
      const { option_id, text, user_id, approved_by } = reply;
      yield { type: "answer", text: JSON.stringify({ option_id, text, user_id, approved_by }) };
    }
  };

async function ask(question: Question, params: object = { ...hello, user_id: "U1" }) {
  const store = memoryStore();
  const test = createTestHost({ agent: asking(question), store });
  const shownQuestion = (await test.call("execute_task", params)).result;
  const task_id = shownQuestion?.task_id ?? "";
  const answer = (reply: object) => test.call("answer_task", { task_id, ...reply });
  const end = async () =>
    JSON.parse(
      (await test.call("get_task", { task_id, wait_ms: 5000 })).result?.response_text ?? "",
    );
  return { ...test, store, shownQuestion, task_id, answer, end };
}

describe("a question with a link to sign in", () => {
  it("returns the link at every read, and tells the agent who has signed in", async () => {
    const { shownQuestion, call, task_id, answer, end } = await ask(signIn);
    expect(shownQuestion).toMatchObject({ status: "input_required", kind: "auth", url });
    expect((await call("get_task", { task_id })).result).toEqual(shownQuestion);
    await answer({ text: "Signed in.", user_id: "U1" });
    expect(await end()).toEqual({ text: "Signed in.", user_id: "U1" });
  });

  it("erases the link with the question, and never logs it", async () => {
    const answered = await ask(signIn);
    await answered.answer({ text: "Signed in.", user_id: "U1" });
    const canceled = await ask(signIn);
    await canceled.call("cancel_task", { task_id: canceled.task_id });
    for (const { store, task_id, lines } of [answered, canceled]) {
      expect(JSON.stringify(await store.get({ id: task_id }))).not.toContain("hunter2");
      expect(lines.join()).not.toContain("hunter2");
    }
  });

  it("refuses the confirmation of anybody but the person who asked", async () => {
    const { answer, shownQuestion, call, task_id } = await ask(signIn);
    for (const reply of [{ user_id: "U2" }, {}]) {
      const { error } = await answer({ text: "Signed in.", ...reply });
      expect(error?.data).toMatchObject({
        reason: "invalid_params",
        issues: [{ path: "user_id" }],
      });
    }
    expect((await call("get_task", { task_id })).result).toEqual(shownQuestion);
  });

  it("accepts a confirmation for a task that does not say who asked", async () => {
    const { answer, end } = await ask(signIn, hello);
    await answer({ text: "Signed in.", user_id: "U7" });
    expect(await end()).toMatchObject({ user_id: "U7" });
  });
});

describe("a question for two people", () => {
  it("tells the agent who has approved", async () => {
    const { shownQuestion, answer, end } = await ask({ ...approval, answerers: "anyone" });
    expect(shownQuestion).toMatchObject({ approvals: 2, answerers: "anyone" });
    await answer({ option_id: "go", user_id: "U3", approved_by: ["U2", "U3"] });
    expect(await end()).toEqual({
      option_id: "go",
      text: "",
      user_id: "U3",
      approved_by: ["U2", "U3"],
    });
  });

  it.each([
    ["by one person", { option_id: "go", user_id: "U2" }, "approved_by"],
    [
      "by one person twice",
      { option_id: "go", user_id: "U2", approved_by: ["U2", "U2"] },
      "approved_by",
    ],
    [
      "by others than the last one",
      { option_id: "go", user_id: "U4", approved_by: ["U2", "U3"] },
      "approved_by",
    ],
    ["in words", { text: "go", user_id: "U2", approved_by: ["U1", "U2"] }, "option_id"],
  ])("refuses an answer %s, and keeps the question open", async (_how, reply, path) => {
    const { answer, call, task_id, shownQuestion } = await ask(approval);
    expect((await answer(reply)).error?.data).toMatchObject({
      reason: "invalid_params",
      issues: [{ path }],
    });
    expect((await call("get_task", { task_id })).result).toEqual(shownQuestion);
  });

  it("lets one person alone choose an option of the style danger", async () => {
    const { answer, end } = await ask(approval);
    await answer({ option_id: "no", user_id: "U2" });
    expect(await end()).toEqual({ option_id: "no", text: "", user_id: "U2" });
  });
});

describe("a question for somebody else than the person who asked", () => {
  const question: Question = { ...approval, answerers: "not-asker" };

  it.each([
    { user_id: "U2", approved_by: ["U1", "U2"] },
    { user_id: "U1", approved_by: ["U2", "U1"] },
  ])("refuses an approval of the person who asked: %j", async (reply) => {
    const { answer } = await ask(question);
    expect((await answer({ option_id: "go", ...reply })).error?.data.reason).toBe("invalid_params");
  });

  it("refuses an answer that names nobody", async () => {
    const { answer } = await ask({ ...question, approvals: 1 });
    expect((await answer({ option_id: "go" })).error?.data.reason).toBe("invalid_params");
    expect((await answer({ option_id: "go", user_id: "U2" })).error).toBeUndefined();
  });
});

describe("an update with rules that nobody could follow", () => {
  it.each<[string, object]>([
    ["url", { ...signIn, url: "http://sign-in.example/hunter2" }],
    ["url", { ...signIn, url: `https://sign-in.example/${"hunter2".repeat(500)}` }],
    ["url", { ...signIn, url: new URL(url) }],
    ["url", { ...signIn, kind: undefined }],
    ["options", { ...signIn, options }],
    ["answerers", { ...signIn, answerers: "anyone" }],
    ["answerers", { ...approval, answerers: "admins" }],
    ["answerers", { ...approval, answerers: { group: "C1" } }],
    ["approvals", { ...approval, approvals: 0 }],
    ["approvals", { ...approval, approvals: 1e9 }],
    ["approvals", { ...approval, options: undefined }],
    ["approvals", { ...approval, answerers: "asker" }],
  ])("names the member %s of %j to the author, without the link", async (path, update) => {
    const problem = describeProblem(update) ?? "";
    expect(problem).toMatch(new RegExp(`^\`${path}\\b`));
    expect(problem).not.toContain("hunter2");
    const { lines, call } = createTestHost({ agent: asking(update as Question) });
    const { error } = await call("execute_task", hello);
    expect(error?.data.reason).toBe("execution_failed");
    expect(lines.join()).not.toContain("hunter2");
  });
});

describe("rules of a question over A2A", () => {
  type Sent = { task: A2aTask };
  const sentBy = (user_id: string) => ({ [slackMessageKey]: { user_id } });

  async function begin(question: Question) {
    const host = await serveA2a({ agent: asking(question) });
    const message = { ...userMessage("Deploy"), metadata: sentBy("U1") };
    const { task } = await host.result<Sent>("SendMessage", { message });
    const reply = (metadata: object, text = "") => ({
      message: { ...userMessage(text, { taskId: task.id }), metadata },
    });
    return { host, task, reply };
  }

  it("carries the link in the metadata of the status message only", async () => {
    const { host, task, reply } = await begin(signIn);
    expect(task.status).toMatchObject({
      state: "TASK_STATE_AUTH_REQUIRED",
      message: { parts: [{ text: "Sign in." }], metadata: { [questionKey]: { url } } },
    });
    const { task: endedTask } = await host.result<Sent>(
      "SendMessage",
      reply(sentBy("U1"), "Signed in."),
    );
    expect(endedTask.status.state).toBe("TASK_STATE_COMPLETED");
    expect(JSON.stringify(endedTask)).not.toContain("hunter2");
  });

  it("carries who has approved in the metadata", async () => {
    const { host, task, reply } = await begin({ ...approval, answerers: { group: "S1" } });
    expect(task.status.message?.metadata).toEqual({
      [questionKey]: { options, answerers: { group: "S1" }, approvals: 2 },
    });
    const incomplete = { ...sentBy("U3"), [questionKey]: { option_id: "go" } };
    const { error } = await host.ask("SendMessage", reply(incomplete));
    expect(error?.data[0]?.reason).toBe("INVALID_PARAMS");
    const complete = {
      ...sentBy("U3"),
      [questionKey]: { option_id: "go", approved_by: ["U2", "U3"] },
    };
    const { task: endedTask } = await host.result<Sent>("SendMessage", reply(complete));
    expect(JSON.parse(endedTask.artifacts?.[0]?.parts[0]?.text ?? "")).toMatchObject({
      approved_by: ["U2", "U3"],
    });
  });
});
