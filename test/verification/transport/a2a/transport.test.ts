import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { operations } from "../../../../contracts/a2a/operations.ts";
import { v03Operations } from "../../../../contracts/a2a/v03/params.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { agentOf, clientTo, hello, said, sessionId } from "./sample.ts";

const task = (state: string, more: object = {}) => ({ id: "t1", contextId: "c1", status: { state }, ...more });
const working = { result: { task: task("TASK_STATE_WORKING") } };

const fullTask = {
  ...{ channel: "C1", thread_ts: "1700000000.000100", team_id: "T1", user_id: "U1", correlation_id: "corr-1" },
  text: "look at these",
  history: [{ role: "user" as const, text: "earlier" }],
  attachments: [
    { id: "F1", name: "a.pdf", mimetype: "application/pdf", size: 3, url: "https://files.example/a?signed" },
    { id: "F2", name: "", mimetype: "", size: 3, url: "https://files.example/b" },
  ],
  timeout_ms: 60_000,
  bot_token: "xoxb-of-nobody",
};

describe("a task over A2A", () => {
  it.each(["1.0", "0.3"] as const)("is a message that the agent need not wait with, in %s", async (version) => {
    const agent = await agentOf({
      version,
      answer: () => (version === "1.0" ? working : { result: { kind: "task", ...task("working") } }),
    });
    const id = randomUUID();
    await clientTo(agent.cardUrl).call("execute_task", fullTask, { id });
    const [sent] = agent.calls;
    expect(sent).toMatchObject({ id, method: version === "1.0" ? "SendMessage" : "message/send", path: "/a2a" });
    expect(sent?.headers.get("a2a-version")).toBe(version);
    const { channel, thread_ts, team_id, user_id, correlation_id, history } = fullTask;
    const schemas = version === "1.0" ? operations : v03Operations;
    expect(schemas.SendMessage.parse(sent?.params)).toEqual({
      message: {
        messageId: id,
        contextId: sessionId,
        role: "ROLE_USER",
        parts: [
          { text: "look at these" },
          { url: "https://files.example/a?signed", mediaType: "application/pdf", filename: "a.pdf" },
          { url: "https://files.example/b" },
        ],
        metadata: {
          "urn:sekisho:slack-message:v1": { channel, thread_ts, team_id, user_id, correlation_id, history },
          "urn:sekisho:task:v1": { timeout_ms: 60_000 },
        },
      },
      configuration: { returnImmediately: true, historyLength: 5 },
    });
    expect(JSON.stringify(sent)).not.toContain("xoxb");
  });

  it("of files alone has no text part", async () => {
    const agent = await agentOf({ answer: () => working });
    await clientTo(agent.cardUrl).call("execute_task", { ...fullTask, text: "" });
    const { message } = operations.SendMessage.parse(agent.calls[0]?.params);
    expect(message.parts.map((part) => Object.keys(part)[0])).toEqual(["url", "url"]);
  });

  it("is the same message when it is sent again", async () => {
    const agent = await agentOf({ answer: () => working });
    const id = randomUUID();
    const { call } = clientTo(agent.cardUrl);
    for (const _ of [1, 2]) await call("execute_task", fullTask, { id });
    expect(agent.calls[1]?.params).toEqual(agent.calls[0]?.params);
    expect(agent.calls[1]?.id).toBe(id);
  });

  it.each(["1.0", "0.3"] as const)(
    "that is an answer says nothing of which question it is to, in %s: there is no place for it",
    async (version) => {
      const agent = await agentOf({
        version,
        answer: () => (version === "1.0" ? working : { result: { kind: "task", ...task("working") } }),
      });
      const id = randomUUID();
      const answer = { task_id: "t1", option_id: "yes", user_id: "U1" };
      const { call } = clientTo(agent.cardUrl);
      expect(await call("answer_task", { ...answer, question_id: "m1" }, { id })).toMatchObject({ status: "accepted" });
      await call("answer_task", answer, { id });
      expect(agent.calls[0]?.params).toEqual(agent.calls[1]?.params);
      const schemas = version === "1.0" ? operations : v03Operations;
      expect(schemas.SendMessage.parse(agent.calls[0]?.params).message).toMatchObject({
        messageId: id,
        taskId: "t1",
      });
    },
  );

  it("goes to the tenant that the card names, and so does whatever follows", async () => {
    const agent = await agentOf({
      card: (_, base) =>
        json({
          name: "an agent",
          supportedInterfaces: [
            { url: `${base}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "Acme/1" },
          ],
        }),
      answer: ({ method }) => {
        if (method === "SendMessage") return working;
        return method === "ListTasks" ? { result: { tasks: [] } } : { result: task("TASK_STATE_CANCELED") };
      },
    });
    const { call } = clientTo(agent.cardUrl);
    await call("execute_task", hello);
    await call("answer_task", { task_id: "t1", text: "yes" });
    await call("cancel_task", { task_id: "t1" });
    await expect(call("get_task", { task_id: "t1" })).rejects.toMatchObject({ reason: "canceled" });
    await expect(call("get_task", { request_id: "r1" })).rejects.toMatchObject({ reason: "unsupported_operation" });
    expect(agent.calls.map(({ params }) => params.tenant)).toEqual(Array(5).fill("Acme/1"));
  });

  it("has the Retry-After of the answer as the time until it is looked at again, unless it says so itself", async () => {
    const headers = { "retry-after": "3" };
    const notes = { metadata: { "urn:sekisho:task:v1": { poll_after_ms: 250 } } };
    const agent = await agentOf({
      answer: ({ id, params }) =>
        json(
          {
            ...{ jsonrpc: "2.0", id },
            result: { ...task("TASK_STATE_WORKING", params.id === "with-notes" ? notes : {}), id: params.id },
          },
          { headers },
        ),
    });
    const { call } = clientTo(agent.cardUrl);
    expect(await call("get_task", { task_id: "without" })).toMatchObject({ poll_after_ms: 3000 });
    expect(await call("get_task", { task_id: "with-notes" })).toMatchObject({ poll_after_ms: 250 });
  });

  it("is read from an answer of the type that A2A prefers", async () => {
    const agent = await agentOf({
      answer: ({ id }) =>
        raw(JSON.stringify({ jsonrpc: "2.0", id, ...working }), {
          headers: { "content-type": "application/a2a+json" },
        }),
    });
    await expect(clientTo(agent.cardUrl).call("execute_task", hello)).resolves.toMatchObject({ status: "accepted" });
  });
});

describe("the other methods over A2A", () => {
  it("ask for a task with the end of its history", async () => {
    const agent = await agentOf({ answer: () => ({ result: task("TASK_STATE_SUBMITTED") }) });
    const { call } = clientTo(agent.cardUrl);
    expect(await call("get_task", { task_id: "t1", wait_ms: 10_000 })).toEqual({ status: "accepted", task_id: "t1" });
    expect(agent.calls[0]).toMatchObject({ method: "GetTask", params: { id: "t1", historyLength: 5 } });
  });

  it.each([
    [{ text: "blue" }, "blue", undefined],
    [{ option_id: "b" }, "b", { option_id: "b" }],
    [{ option_id: "b", text: "blue" }, "blue", { option_id: "b" }],
  ])("answer a question with a message of its own for the same task: %j", async (given, text, chosen) => {
    const agent = await agentOf({ answer: () => working });
    const id = randomUUID();
    const { call } = clientTo(agent.cardUrl);
    expect(await call("answer_task", { task_id: "t1", user_id: "U1", ...given }, { id })).toMatchObject({
      status: "accepted",
    });
    const { message, configuration } = operations.SendMessage.parse(agent.calls[0]?.params);
    expect(message).toEqual({
      messageId: id,
      taskId: "t1",
      role: "ROLE_USER",
      parts: [{ text }],
      metadata: {
        "urn:sekisho:slack-message:v1": { user_id: "U1" },
        ...(chosen && { "urn:sekisho:question:v1": chosen }),
      },
    });
    expect(configuration?.returnImmediately).toBe(true);
  });

  it("cancel a task, and say so only where it is canceled", async () => {
    const states = ["TASK_STATE_CANCELED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"];
    const agent = await agentOf({ answer: () => ({ result: task(states.shift() ?? "") }) });
    const { call } = clientTo(agent.cardUrl);
    const cancel = () => call("cancel_task", { task_id: "t1" });
    expect(await cancel()).toEqual({ status: "canceled", task_id: "t1" });
    for (const current of ["working", "completed"]) {
      await expect(cancel()).rejects.toMatchObject({ reason: "invalid_state", details: { current } });
    }
  });

  it("tell that it is too late to cancel", async () => {
    const agent = await agentOf({ answer: () => ({ error: { code: -32002, message: "TaskNotCancelableError" } }) });
    await expect(clientTo(agent.cardUrl).call("cancel_task", { task_id: "t1" })).rejects.toMatchObject({
      reason: "invalid_state",
      exact: true,
    });
  });

  it.each([
    [-32001, "task_not_found"],
    [-32004, "invalid_state"],
    [-32005, "content_type_not_supported"],
    [-32602, "invalid_params"],
  ] as const)("hand on what the agent refuses with %i", async (code, reason) => {
    const agent = await agentOf({ answer: () => ({ error: { code, message: "no" } }) });
    await expect(clientTo(agent.cardUrl).call("get_task", { task_id: "t1" })).rejects.toMatchObject({ reason, code });
  });

  it("have no document to discover", async () => {
    const agent = await agentOf({});
    await expect(clientTo(agent.cardUrl).call("rpc.discover", {})).rejects.toMatchObject({
      reason: "unsupported_operation",
    });
    expect([...agent.gets, ...agent.calls]).toEqual([]);
  });

  it("find no result in a stream of events, nor in a message where a task is due", async () => {
    const answers = [raw("data: {}\n\n", { headers: { "content-type": "text/event-stream" } }), said("hi")];
    const agent = await agentOf({ answer: () => answers.shift() ?? {} });
    const { call } = clientTo(agent.cardUrl);
    for (const _ of [1, 2]) {
      await expect(call("get_task", { task_id: "t1" })).rejects.toMatchObject({ reason: "invalid_response" });
    }
  });
});
