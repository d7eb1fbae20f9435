/** What an agent tells of another task than the one that it was asked about. */
import { describe, expect, it } from "@jest/globals";
import { agentOf, clientTo } from "./sample.ts";

const secret = "the secret of another thread";
const taskOf = (id: string, state: string) => ({
  ...{ id, contextId: "c1", status: { state } },
  artifacts: [{ artifactId: "a1", parts: [{ text: secret }] }],
});
const messageOf = (taskId?: string) => ({ messageId: "m1", role: "ROLE_AGENT", taskId, parts: [{ text: secret }] });

describe("an answer for another task", () => {
  const completed = taskOf("theirs", "TASK_STATE_COMPLETED");
  it.each([
    ["get_task", { task_id: "mine" }, completed],
    ["get_task", { task_id: "mine" }, taskOf("theirs", "TASK_STATE_FAILED")],
    ["cancel_task", { task_id: "mine" }, taskOf("theirs", "TASK_STATE_CANCELED")],
    ["answer_task", { task_id: "mine", text: "yes" }, { task: completed }],
    ["answer_task", { task_id: "mine", text: "yes" }, { message: messageOf("theirs") }],
  ] as const)("breaks the contract: %s", async (method, params, result) => {
    const agent = await agentOf({ answer: () => ({ result }) });
    const answered = clientTo(agent.cardUrl).call(method, params);
    await expect(answered).rejects.toMatchObject({ reason: "invalid_response", undelivered: false });
    await expect(answered).rejects.not.toThrow(secret);
  });

  it("breaks it too where the task was found by its message", async () => {
    const agent = await agentOf({
      answer: ({ method }) =>
        method === "ListTasks"
          ? { result: { tasks: [{ id: "mine", history: [{ messageId: "r1" }] }] } }
          : { result: completed },
    });
    const { call } = clientTo(agent.cardUrl);
    for (const method of ["get_task", "cancel_task"] as const) {
      await expect(call(method, { request_id: "r1" })).rejects.toMatchObject({ reason: "invalid_response" });
    }
  });

  it.each([undefined, "", "mine"])(
    "is none that names no other: an answer's answer may be a message (%j)",
    async (id) => {
      const agent = await agentOf({ answer: () => ({ result: { message: messageOf(id) } }) });
      expect(await clientTo(agent.cardUrl).call("answer_task", { task_id: "mine", text: "yes" })).toMatchObject({
        response_text: secret,
      });
    },
  );
});

describe("a task's id", () => {
  const call = async (id: string) => {
    const agent = await agentOf({ answer: () => ({ result: { task: taskOf(id, "TASK_STATE_WORKING") } }) });
    return clientTo(agent.cardUrl).call("execute_task", { channel: "C1", text: "hello" });
  };

  it("may have 256 characters", async () => {
    expect(await call("i".repeat(256))).toEqual({ status: "accepted", task_id: "i".repeat(256) });
  });

  it.each(["", "i".repeat(257)])("may not be empty, nor longer, which is told in words", async (id) => {
    await expect(call(id)).rejects.toMatchObject({
      reason: "invalid_response",
      cause: { message: expect.stringMatching(/expected string to have [<>]=\d+ characters/) },
    });
  });
});
