import { describe, expect, it } from "@jest/globals";
import { json, raw } from "../../../doubles/answers.ts";
import { agentOf, clientTo, sessionId } from "./sample.ts";

const requestId = "0e984725-c51c-4bf4-9960-e1c80e27aba0";
const listed = (id: string, ...messageIds: string[]) => ({
  ...{ id, contextId: "c1", status: { state: "TASK_STATE_WORKING" } },
  history: messageIds.map((messageId) => ({ messageId, role: "ROLE_USER", parts: [{ text: "hello" }] })),
});
const completed = {
  result: {
    ...{ id: "t2", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } },
    artifacts: [{ artifactId: "a1", parts: [{ text: "done" }] }],
  },
};

describe("a task of which only the request id is known", () => {
  it("is found among those of its context by the message that began it", async () => {
    const agent = await agentOf({
      answer: ({ method }) =>
        method === "ListTasks"
          ? { result: { tasks: [listed("t1", "other"), listed("t2", requestId, "later")], nextPageToken: "" } }
          : completed,
    });
    const { call } = clientTo(agent.cardUrl);
    expect(await call("get_task", { request_id: requestId })).toMatchObject({ response_text: "done" });
    expect(agent.calls).toMatchObject([
      { method: "ListTasks", params: { contextId: sessionId, pageSize: 20, historyLength: 20 } },
      { method: "GetTask", params: { id: "t2" } },
    ]);
  });

  it("is canceled once it is found", async () => {
    const canceled = { result: { id: "t2", contextId: "c1", status: { state: "TASK_STATE_CANCELED" } } };
    const agent = await agentOf({
      answer: ({ method }) => (method === "ListTasks" ? { result: { tasks: [listed("t2", requestId)] } } : canceled),
    });
    expect(await clientTo(agent.cardUrl).call("cancel_task", { request_id: requestId })).toEqual({
      status: "canceled",
      task_id: "t2",
    });
  });

  it("is looked for on three pages and no more; that it is not there proves nothing", async () => {
    const agent = await agentOf({
      answer: ({ params }) => ({ result: { tasks: [listed("t1", "other")], nextPageToken: `${params.pageToken}+` } }),
    });
    const call = clientTo(agent.cardUrl).call("get_task", { request_id: requestId });
    await expect(call).rejects.toMatchObject({ reason: "unsupported_operation" });
    expect(agent.calls.map(({ params }) => params.pageToken)).toEqual([undefined, "undefined+", "undefined++"]);
  });

  it("is found beside tasks that are broken, or have no history, and beside messages that are", async () => {
    const wanted = listed("t2", requestId);
    const tasks = [
      ...[7, { id: 7 }, { id: "t1" }, { id: "t3", history: "?" }, { ...wanted, id: "" }],
      { ...wanted, history: [7, {}, ...wanted.history] },
    ];
    const agent = await agentOf({
      answer: ({ method }) => (method === "ListTasks" ? { result: { tasks } } : completed),
    });
    const { call } = clientTo(agent.cardUrl);
    await expect(call("get_task", { request_id: requestId })).resolves.toMatchObject({ response_text: "done" });
  });

  const withoutAnswer = {
    "lists nothing": () => ({ result: { tasks: [] } }),
    "lists too much": () => raw(" ".repeat(4096)),
  };
  it.each(Object.entries(withoutAnswer))("is never told as unknown by an agent that %s", async (_, answer) => {
    const agent = await agentOf({ answer });
    const { call } = clientTo(agent.cardUrl, { maxResponseBytes: 2048 });
    await expect(call("get_task", { request_id: requestId })).rejects.toMatchObject({
      reason: "unsupported_operation",
    });
    await expect(call("cancel_task", { request_id: requestId })).rejects.toMatchObject({
      reason: "unsupported_operation",
    });
  });

  it("stays in doubt where the agent lists no tasks, and may be asked for again where it only fails to", async () => {
    const answers = [{ error: { code: -32601, message: "Method not found" } }, json({}, { status: 503 })];
    const agent = await agentOf({ answer: () => answers.shift() ?? {} });
    const { call } = clientTo(agent.cardUrl);
    const get = () => call("get_task", { request_id: requestId });
    await expect(get()).rejects.toMatchObject({ reason: "method_not_found" });
    await expect(get()).rejects.toMatchObject({ reason: "unavailable" });
    expect(agent.gets).toHaveLength(1);
  });

  it("cannot be looked for in 0.3, which has no listing", async () => {
    const agent = await agentOf({ version: "0.3" });
    const { call } = clientTo(agent.cardUrl);
    await expect(call("get_task", { request_id: requestId })).rejects.toMatchObject({
      reason: "unsupported_operation",
    });
    expect(agent.calls).toEqual([]);
  });
});
