import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, it } from "@jest/globals";
import { operations } from "@sekisho/contracts/a2a/operations.ts";
import { v03Operations } from "@sekisho/contracts/a2a/v03/params.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createBearerAuthorizer } from "@sekisho/runtime/auth/token-authorizer.ts";
import { createHttpsCarrier } from "@sekisho/verification/transport/a2a/https-carrier.ts";
import { createA2aTransport, respond } from "@sekisho/verification/transport/a2a/transport.ts";
import { type TapEntry, tapTransport } from "@sekisho/verification/transport/tap.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { collectLog } from "../../../doubles/collect-log.ts";
import { connectionReset } from "../../../doubles/web-server.ts";
import { clientOver, execute } from "../sample.ts";
import { agentOf, answerWith, hello, sessionId } from "./sample.ts";

const task = (state: string, more: object = {}) => ({
  id: "t1",
  contextId: "c1",
  status: { state },
  ...more,
});
const working = { result: { task: task("TASK_STATE_WORKING") } };

const fullTask = {
  ...{
    channel: "C1",
    thread_ts: "1700000000.000100",
    team_id: "T1",
    user_id: "U1",
    correlation_id: "corr-1",
  },
  text: "look at these",
  history: [{ role: "user" as const, text: "earlier", name: "Robin", bot: true }],
  context: {
    channel_name: "ops",
    channel_kind: "public" as const,
    open: [{ type: "canvas", id: "F1" }],
  },
  attachments: [
    {
      id: "F1",
      name: "a.pdf",
      mimetype: "application/pdf",
      size: 3,
      url: "https://files.example/a?signed",
    },
    { id: "F2", name: "", mimetype: "", size: 3, url: "https://files.example/b" },
  ],
  timeout_ms: 60_000,
  bot_token: "xoxb-of-nobody",
};

describe("a task over A2A", () => {
  it.each(["1.0", "0.3"] as const)(
    "sends a task as a message that the agent may accept without waiting, in %s",
    async (version) => {
      const agent = await agentOf({
        version,
        answer: () =>
          version === "1.0" ? working : { result: { kind: "task", ...task("working") } },
      });
      const id = randomUUID();
      await agent.call("execute_task", fullTask, { id });
      const [firstCall] = agent.calls;
      expect(firstCall).toMatchObject({
        id,
        method: version === "1.0" ? "SendMessage" : "message/send",
        path: "/a2a",
      });
      expect(firstCall?.headers.get("a2a-version")).toBe(version);
      const { channel, thread_ts, team_id, user_id, correlation_id, history, context } = fullTask;
      const schemas = version === "1.0" ? operations : v03Operations;
      expect(schemas.SendMessage.parse(firstCall?.params)).toEqual({
        message: {
          messageId: id,
          contextId: sessionId,
          role: "ROLE_USER",
          parts: [
            { text: "look at these" },
            {
              url: "https://files.example/a?signed",
              mediaType: "application/pdf",
              filename: "a.pdf",
            },
            { url: "https://files.example/b" },
          ],
          metadata: {
            "urn:sekisho:slack-message:v1": {
              channel,
              thread_ts,
              team_id,
              user_id,
              correlation_id,
              history,
              context,
            },
            "urn:sekisho:task:v1": { timeout_ms: 60_000 },
          },
        },
        configuration: { returnImmediately: true, historyLength: 5 },
      });
      expect(JSON.stringify(firstCall)).not.toContain("xoxb");
    },
  );

  it("sends a message of files without a text part", async () => {
    const agent = await agentOf({ answer: () => working });
    await agent.call("execute_task", { ...fullTask, text: "" });
    const { message } = operations.SendMessage.parse(agent.calls[0]?.params);
    expect(message.parts.map((part) => Object.keys(part)[0])).toEqual(["url", "url"]);
  });

  it("sends the identical message again", async () => {
    const agent = await agentOf({ answer: () => working });
    const id = randomUUID();
    for (const _ of [1, 2]) await agent.call("execute_task", fullTask, { id });
    expect(agent.calls[1]?.params).toEqual(agent.calls[0]?.params);
    expect(agent.calls[1]?.id).toBe(id);
  });

  it.each(["1.0", "0.3"] as const)(
    "leaves the question id out of an answer, since A2A has no field for it, in %s",
    async (version) => {
      const agent = await agentOf({
        version,
        answer: () =>
          version === "1.0" ? working : { result: { kind: "task", ...task("working") } },
      });
      const id = randomUUID();
      const answer = { task_id: "t1", option_id: "yes", user_id: "U1" };
      expect(
        await agent.call("answer_task", { ...answer, question_id: "m1" }, { id }),
      ).toMatchObject({
        status: "accepted",
      });
      await agent.call("answer_task", answer, { id });
      expect(agent.calls[0]?.params).toEqual(agent.calls[1]?.params);
      const schemas = version === "1.0" ? operations : v03Operations;
      expect(schemas.SendMessage.parse(agent.calls[0]?.params).message).toMatchObject({
        messageId: id,
        taskId: "t1",
      });
    },
  );

  it("sends a task and all its later calls to the tenant on the card", async () => {
    const agent = await agentOf({
      card: (_, base) =>
        json({
          name: "an agent",
          supportedInterfaces: [
            {
              url: `${base}/rpc`,
              protocolBinding: "JSONRPC",
              protocolVersion: "1.0",
              tenant: "Acme/1",
            },
          ],
        }),
      answer: ({ method }) => {
        if (method === "SendMessage") return working;
        return method === "ListTasks"
          ? { result: { tasks: [] } }
          : { result: task("TASK_STATE_CANCELED") };
      },
    });
    await agent.call("execute_task", hello);
    await agent.call("answer_task", { task_id: "t1", text: "yes" });
    await agent.call("cancel_task", { task_id: "t1" });
    await expect(agent.call("get_task", { task_id: "t1" })).rejects.toMatchObject({
      reason: "canceled",
    });
    await expect(agent.call("get_task", { request_id: "r1" })).rejects.toMatchObject({
      reason: "unsupported_operation",
    });
    expect(agent.calls.map(({ params }) => params.tenant)).toEqual(Array(5).fill("Acme/1"));
  });

  it("uses Retry-After as the poll delay, unless the task gives its own", async () => {
    const headers = { "retry-after": "3" };
    const notes = { metadata: { "urn:sekisho:task:v1": { poll_after_ms: 250 } } };
    const agent = await agentOf({
      answer: ({ id, params }) =>
        json(
          {
            ...{ jsonrpc: "2.0", id },
            result: {
              ...task("TASK_STATE_WORKING", params.id === "with-notes" ? notes : {}),
              id: params.id,
            },
          },
          { headers },
        ),
    });
    expect(await agent.call("get_task", { task_id: "without" })).toMatchObject({
      poll_after_ms: 3000,
    });
    expect(await agent.call("get_task", { task_id: "with-notes" })).toMatchObject({
      poll_after_ms: 250,
    });
  });

  it("accepts a response with the content type of A2A", async () => {
    const agent = await agentOf({
      answer: ({ id }) =>
        raw(JSON.stringify({ jsonrpc: "2.0", id, ...working }), {
          headers: { "content-type": "application/a2a+json" },
        }),
    });
    await expect(agent.call("execute_task", hello)).resolves.toMatchObject({ status: "accepted" });
  });
});

describe("the other methods over A2A", () => {
  it("gets a task with the end of its history", async () => {
    const agent = await agentOf({ answer: () => ({ result: task("TASK_STATE_SUBMITTED") }) });
    expect(await agent.call("get_task", { task_id: "t1", wait_ms: 10_000 })).toEqual({
      status: "accepted",
      task_id: "t1",
    });
    expect(agent.calls[0]).toMatchObject({
      method: "GetTask",
      params: { id: "t1", historyLength: 5 },
    });
  });

  it.each([
    [{ text: "blue" }, "blue", undefined],
    [{ option_id: "b" }, "b", { option_id: "b" }],
    [{ option_id: "b", text: "blue" }, "blue", { option_id: "b" }],
  ])(
    "answers a question with a new message for the same task: %j",
    async (answer, text, optionId) => {
      const agent = await agentOf({ answer: () => working });
      const id = randomUUID();
      expect(
        await agent.call("answer_task", { task_id: "t1", user_id: "U1", ...answer }, { id }),
      ).toMatchObject({
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
          ...(optionId && { "urn:sekisho:question:v1": optionId }),
        },
      });
      expect(configuration?.returnImmediately).toBe(true);
    },
  );

  it("answers a question with the values of its fields as a data part", async () => {
    const agent = await agentOf({ answer: () => working });
    const fields = { region: "eu", count: 2, tags: ["a"] };
    await agent.call("answer_task", { task_id: "t1", fields, user_id: "U1" });
    const { message } = operations.SendMessage.parse(agent.calls[0]?.params);
    expect(message.parts).toEqual([{ data: { fields }, mediaType: "application/json" }]);
  });

  it.each([
    ["adk-approve:call-1", true],
    ["adk-deny:call-1", false],
  ])(
    "answers an ADK approval with the data that the agent expects: %s",
    async (option_id, isConfirmed) => {
      const agent = await agentOf({ answer: () => working });
      await agent.call("answer_task", { task_id: "t1", option_id, user_id: "U1" });
      const { message } = operations.SendMessage.parse(agent.calls[0]?.params);
      const data = {
        id: "call-1",
        name: "adk_request_confirmation",
        response: { confirmed: isConfirmed },
      };
      expect(message.parts).toEqual([{ data, metadata: { adk_type: "function_response" } }]);
    },
  );

  it("cancels a task and reports success only if the state is canceled", async () => {
    const states = ["TASK_STATE_CANCELED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"];
    const agent = await agentOf({ answer: () => ({ result: task(states.shift() ?? "") }) });
    const cancel = () => agent.call("cancel_task", { task_id: "t1" });
    expect(await cancel()).toEqual({ status: "canceled", task_id: "t1" });
    for (const current of ["working", "completed"]) {
      await expect(cancel()).rejects.toMatchObject({
        reason: "invalid_state",
        details: { current },
      });
    }
  });

  it("reports that it is too late to cancel", async () => {
    const agent = await agentOf({
      answer: () => ({ error: { code: -32002, message: "TaskNotCancelableError" } }),
    });
    await expect(agent.call("cancel_task", { task_id: "t1" })).rejects.toMatchObject({
      reason: "invalid_state",
      certainty: "refused",
    });
  });

  it.each([
    [-32001, "task_not_found"],
    [-32004, "invalid_state"],
    [-32005, "content_type_not_supported"],
    [-32602, "invalid_params"],
  ] as const)("passes on a refusal of the agent with code %i", async (code, reason) => {
    const agent = await agentOf({ answer: () => ({ error: { code, message: "no" } }) });
    await expect(agent.call("get_task", { task_id: "t1" })).rejects.toMatchObject({ reason, code });
  });

  it("refuses rpc.discover, since A2A has no such document", async () => {
    const agent = await agentOf({});
    await expect(agent.call("rpc.discover", {})).rejects.toMatchObject({
      reason: "unsupported_operation",
    });
    expect([...agent.gets, ...agent.calls]).toEqual([]);
  });

  it("rejects an event stream, and a message as the result of GetTask", async () => {
    const answers = [
      raw("data: {}\n\n", { headers: { "content-type": "text/event-stream" } }),
      answerWith("hi"),
    ];
    const agent = await agentOf({ answer: () => answers.shift() ?? {} });
    for (const _ of [1, 2]) {
      await expect(agent.call("get_task", { task_id: "t1" })).rejects.toMatchObject({
        reason: "invalid_response",
      });
    }
  });
});

it("rejects a result that cannot be serialized, instead of dropping it", () => {
  const endless: Record<string, unknown> = {};
  endless.data = endless;
  const outcome = { status: "success" as const, response_text: "done", artifacts: [endless] };
  expect(() => respond({ call: { id: "r1" }, outcome, size: {} })).toThrow(
    expect.objectContaining({ reason: "invalid_response", certainty: "refused" }),
  );
});

const token = "bearer-of-nobody";
const echo = (headers: Headers) => JSON.stringify([...headers]);

/** Agents that repeat what they got, credentials included, in every unfriendly way. */
const agents: Record<string, Parameters<typeof agentOf>[0]> = {
  "echoes headers in place of its card": { card: ({ headers }) => raw(echo(headers)) },
  "echoes headers in its card": {
    card: ({ headers }) => raw(JSON.stringify({ name: echo(headers), url: echo(headers) })),
  },
  "redirects to where the token is": {
    card: ({ headers }) =>
      new Response(null, {
        status: 302,
        headers: { location: `https://${headers.get("authorization")?.slice(7)}.example` },
      }),
  },
  "echoes headers as an error page": {
    answer: ({ headers }) =>
      raw(echo(headers), { status: 500, headers: { "content-type": "text/plain" } }),
  },
  "echoes headers as a state": {
    answer: ({ headers }) => ({ result: { task: { id: "t1", status: { state: echo(headers) } } } }),
  },
  "echoes headers as an error": {
    answer: ({ headers }) => ({ error: { code: -32603, message: echo(headers) } }),
  },
  "echoes headers as a failed task": {
    answer: ({ headers }) => {
      const message = { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: echo(headers) }] };
      return { result: { task: { id: "t1", status: { state: "TASK_STATE_FAILED", message } } } };
    },
  },
  "resets the connection": {
    answer: () => {
      throw connectionReset;
    },
  },
};

describe("secrets of the A2A transport", () => {
  it.each(Object.keys(agents))(
    "shows no secret in an error, a log or a tap if the agent %s",
    async (behaviour) => {
      const agent = await agentOf(agents[behaviour] ?? {});
      const { log, lines } = collectLog({ level: "debug" });
      const entries: TapEntry[] = [];
      const transport = tapTransport({
        transport: createA2aTransport({
          carrier: createHttpsCarrier({
            cardUrl: agent.cardUrl,
            authorizer: createBearerAuthorizer({ readToken: async () => token }),
          }),
        }),
        tap: (entry) => entries.push(entry),
      });
      const error = await execute(clientOver((request) => transport.send(request), { log })).catch(
        (error) => error,
      );
      await transport.close?.();
      expect(error).toBeInstanceOf(SekishoError);
      expect(agent.gets.length + agent.calls.length).toBeGreaterThan(0);
      // What a peer writes into an error object is shown to whoever watches the wire, as it is by every transport.
      const shownEntries = behaviour === "echoes headers as an error" ? [] : entries;
      for (const text of [
        inspect(error, { depth: 20 }),
        lines.join(""),
        JSON.stringify(shownEntries),
      ]) {
        expect(text).not.toMatch(new RegExp(`${token}|xoxb-of-nobody`));
      }
      expect(lines.join("")).not.toContain("the text of a user");
    },
  );
});
