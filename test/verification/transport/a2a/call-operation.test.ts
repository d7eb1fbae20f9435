import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createSentMessages } from "@sekisho/verification/transport/a2a/messages.ts";
import { cardOf } from "../../../doubles/a2a-peer.ts";
import type { AgentCall } from "../../../doubles/a2a-peer-agent.ts";
import { json, raw } from "../../../doubles/answers.ts";
import { agentOf, answerWith, clientTo, hello, sessionId } from "./sample.ts";

const requestId = "0e984725-c51c-4bf4-9960-e1c80e27aba0";

const listedTask = (id: string, ...messageIds: string[]) => ({
  ...{ id, contextId: "c1", status: { state: "TASK_STATE_WORKING" } },
  history: messageIds.map((messageId) => ({
    messageId,
    role: "ROLE_USER",
    parts: [{ text: "hello" }],
  })),
});

const completedResult = {
  result: {
    ...{ id: "t2", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } },
    artifacts: [{ artifactId: "a1", parts: [{ text: "done" }] }],
  },
};

describe("a task known only by its request id", () => {
  it("finds a task in its context by the message that began it", async () => {
    const agent = await agentOf({
      answer: ({ method }) =>
        method === "ListTasks"
          ? {
              result: {
                tasks: [listedTask("t1", "other"), listedTask("t2", requestId, "later")],
                nextPageToken: "",
              },
            }
          : completedResult,
    });
    expect(await agent.call("get_task", { request_id: requestId })).toMatchObject({
      response_text: "done",
    });
    expect(agent.calls).toMatchObject([
      { method: "ListTasks", params: { contextId: sessionId, pageSize: 20, historyLength: 20 } },
      { method: "GetTask", params: { id: "t2" } },
    ]);
  });

  it("cancels a task found by its message", async () => {
    const canceledResult = {
      result: { id: "t2", contextId: "c1", status: { state: "TASK_STATE_CANCELED" } },
    };
    const agent = await agentOf({
      answer: ({ method }) =>
        method === "ListTasks"
          ? { result: { tasks: [listedTask("t2", requestId)] } }
          : canceledResult,
    });
    expect(await agent.call("cancel_task", { request_id: requestId })).toEqual({
      status: "canceled",
      task_id: "t2",
    });
  });

  it("searches three pages at most and never concludes that the task is unknown", async () => {
    const agent = await agentOf({
      answer: ({ params }) => ({
        result: { tasks: [listedTask("t1", "other")], nextPageToken: `${params.pageToken}+` },
      }),
    });
    const call = agent.call("get_task", { request_id: requestId });
    await expect(call).rejects.toMatchObject({ reason: "unsupported_operation" });
    expect(agent.calls.map(({ params }) => params.pageToken)).toEqual([
      undefined,
      "undefined+",
      "undefined++",
    ]);
  });

  it("finds a task among broken tasks, tasks without history and broken messages", async () => {
    const wantedTask = listedTask("t2", requestId);
    const tasks = [
      ...[7, { id: 7 }, { id: "t1" }, { id: "t3", history: "?" }, { ...wantedTask, id: "" }],
      { ...wantedTask, history: [7, {}, ...wantedTask.history] },
    ];
    const agent = await agentOf({
      answer: ({ method }) => (method === "ListTasks" ? { result: { tasks } } : completedResult),
    });
    await expect(agent.call("get_task", { request_id: requestId })).resolves.toMatchObject({
      response_text: "done",
    });
  });

  const withoutAnswer = {
    "lists nothing": () => ({ result: { tasks: [] } }),
    "lists too many tasks": () => raw(" ".repeat(4096)),
  };
  it.each(Object.entries(withoutAnswer))(
    "never reports a task as unknown if the agent %s",
    async (_, answer) => {
      const agent = await agentOf({ answer });
      const { call } = clientTo(agent.cardUrl, { maxResponseBytes: 2048 });
      await expect(call("get_task", { request_id: requestId })).rejects.toMatchObject({
        reason: "unsupported_operation",
      });
      await expect(call("cancel_task", { request_id: requestId })).rejects.toMatchObject({
        reason: "unsupported_operation",
      });
    },
  );

  it("reports a missing listing and a failed listing by their own reasons", async () => {
    const answers = [
      { error: { code: -32601, message: "Method not found" } },
      json({}, { status: 503 }),
    ];
    const agent = await agentOf({ answer: () => answers.shift() ?? {} });
    const get = () => agent.call("get_task", { request_id: requestId });
    await expect(get()).rejects.toMatchObject({ reason: "method_not_found" });
    await expect(get()).rejects.toMatchObject({ reason: "unavailable" });
    expect(agent.gets).toHaveLength(1);
  });

  it("refuses to search for a task in 0.3, which has no listing", async () => {
    const agent = await agentOf({ version: "0.3" });
    await expect(agent.call("get_task", { request_id: requestId })).rejects.toMatchObject({
      reason: "unsupported_operation",
    });
    expect(agent.calls).toEqual([]);
  });
});

const secret = "the secret of another thread";

const taskOf = (id: string, state: string) => ({
  ...{ id, contextId: "c1", status: { state } },
  artifacts: [{ artifactId: "a1", parts: [{ text: secret }] }],
});

const messageOf = (taskId?: string) => ({
  messageId: "m1",
  role: "ROLE_AGENT",
  taskId,
  parts: [{ text: secret }],
});

describe("an answer for another task", () => {
  const completedTask = taskOf("theirs", "TASK_STATE_COMPLETED");
  it.each([
    ["get_task", { task_id: "mine" }, completedTask],
    ["get_task", { task_id: "mine" }, taskOf("theirs", "TASK_STATE_FAILED")],
    ["cancel_task", { task_id: "mine" }, taskOf("theirs", "TASK_STATE_CANCELED")],
    ["answer_task", { task_id: "mine", text: "yes" }, { task: completedTask }],
    ["answer_task", { task_id: "mine", text: "yes" }, { message: messageOf("theirs") }],
  ] as const)("rejects a response to %s about another task", async (method, params, result) => {
    const agent = await agentOf({ answer: () => ({ result }) });
    const call = agent.call(method, params);
    await expect(call).rejects.toMatchObject({
      reason: "invalid_response",
      certainty: "refused",
    });
    await expect(call).rejects.not.toThrow(secret);
  });

  it("rejects a response about another task after a search by message", async () => {
    const agent = await agentOf({
      answer: ({ method }) =>
        method === "ListTasks"
          ? { result: { tasks: [{ id: "mine", history: [{ messageId: "r1" }] }] } }
          : { result: completedTask },
    });
    for (const method of ["get_task", "cancel_task"] as const) {
      await expect(agent.call(method, { request_id: "r1" })).rejects.toMatchObject({
        reason: "invalid_response",
      });
    }
  });

  it.each([undefined, "", "mine"])(
    "accepts a message that names no other task as the response to an answer (%j)",
    async (id) => {
      const agent = await agentOf({ answer: () => ({ result: { message: messageOf(id) } }) });
      expect(await agent.call("answer_task", { task_id: "mine", text: "yes" })).toMatchObject({
        response_text: secret,
      });
    },
  );
});

describe("a task's id", () => {
  const call = async (id: string) => {
    const agent = await agentOf({
      answer: () => ({ result: { task: taskOf(id, "TASK_STATE_WORKING") } }),
    });
    return agent.call("execute_task", { channel: "C1", text: "hello" });
  };

  it("accepts a task id of 256 characters", async () => {
    expect(await call("i".repeat(256))).toMatchObject({
      status: "accepted",
      task_id: "i".repeat(256),
    });
  });

  it.each(["", "i".repeat(257)])(
    "rejects the task id %j and explains the limit of its length",
    async (id) => {
      await expect(call(id)).rejects.toMatchObject({
        reason: "invalid_response",
        cause: { message: expect.stringMatching(/expected string to have [<>]=\d+ characters/) },
      });
    },
  );
});

const versionRefused = { error: { code: -32009, message: "VersionNotSupportedError" } };

/** An agent that moves from one path to another as soon as it was called. */
async function movingAgent(atOld: (method: string) => object | Response) {
  let path = "/old";
  return agentOf({
    card: (_, base) => json(cardOf({ url: `${base}${path}`, version: "1.0" })),
    answer: (call) => {
      path = "/new";
      return call.path === "/old" ? atOld(call.method) : answerWith("done");
    },
  });
}

describe("a message that may have arrived", () => {
  it("never repeats an ambiguous message at a new address, but sends others there", async () => {
    const agent = await movingAgent((method) =>
      method === "SendMessage" ? json({}, { status: 502 }) : versionRefused,
    );
    const { call } = clientTo(agent.cardUrl);
    const id = randomUUID();
    await expect(call("execute_task", hello, { id })).rejects.toMatchObject({
      reason: "ambiguous",
    });
    await expect(call("get_task", { request_id: id })).rejects.toMatchObject({
      reason: "unsupported_operation",
    });
    await expect(call("execute_task", hello, { id })).rejects.toMatchObject({
      reason: "ambiguous",
      certainty: "unknown",
    });
    expect(await call("execute_task", hello)).toMatchObject({ response_text: "done" });
    expect(agent.calls.map(({ path, method }) => `${method} ${path}`)).toEqual([
      "SendMessage /old",
      "ListTasks /old",
      "ListTasks /new",
      "SendMessage /new",
    ]);
  });

  it("never repeats an ambiguous message elsewhere, even if the first address now refuses its version", async () => {
    const answers = [json({}, { status: 502 }), versionRefused];
    const agent = await movingAgent(() => answers.shift() ?? {});
    const { call } = clientTo(agent.cardUrl);
    const id = randomUUID();
    for (const _ of [1, 2]) {
      await expect(call("execute_task", hello, { id })).rejects.toMatchObject({
        reason: "ambiguous",
      });
    }
    expect(agent.calls.map(({ path }) => path)).toEqual(["/old", "/old"]);
  });
});

describe("places of messages", () => {
  const say = (
    messages: ReturnType<typeof createSentMessages>,
    interfaceKey: string,
    messageId = "m1",
    fails?: SekishoError,
  ) =>
    messages.send({
      ...{ messageId, interfaceKey, isUntouched: (answer) => answer === "untouched" },
      post: async () => (fails ? Promise.reject(fails) : interfaceKey),
    });

  it("forgets the address of a message that was not sent or processed", async () => {
    const messages = createSentMessages();
    const nothingSent = new SekishoError("unavailable", { certainty: "undelivered" });
    await expect(say(messages, "a", "m1", nothingSent)).rejects.toBe(nothingSent);
    expect([await say(messages, "untouched"), await say(messages, "b")]).toEqual([
      "untouched",
      "b",
    ]);
    await expect(say(messages, "a")).rejects.toMatchObject({ reason: "ambiguous" });
  });

  it("keeps a message ambiguous after any later try", async () => {
    const messages = createSentMessages();
    await expect(say(messages, "a", "m1", new SekishoError("ambiguous"))).rejects.toMatchObject({});
    await expect(
      say(messages, "a", "m1", new SekishoError("unavailable", { certainty: "undelivered" })),
    ).rejects.toBeDefined();
    await expect(say(messages, "b")).rejects.toMatchObject({ reason: "ambiguous" });
  });

  it("remembers the addresses of the last thousand messages", async () => {
    const messages = createSentMessages();
    for (let count = 0; count <= 1000; count += 1) await say(messages, "a", `m${count}`);
    expect(await say(messages, "b", "m0")).toBe("b");
    await expect(say(messages, "b", "m1000")).rejects.toMatchObject({ reason: "ambiguous" });
  });
});

const refusals = {
  "-32009": { error: { code: -32009, message: "VersionNotSupportedError" } },
  "-32601": { error: { code: -32601, message: "Method not found" } },
};

const bothVersions = (_: Request, base: string) =>
  json({
    name: "an agent",
    supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
      ...{ url: `${base}/a2a`, protocolBinding: "JSONRPC", protocolVersion },
    })),
  });

const versionOf = ({ headers }: AgentCall) => headers.get("a2a-version");
const inV03 = {
  result: {
    kind: "message",
    messageId: "m1",
    role: "agent",
    parts: [{ kind: "text", text: "hi" }],
  },
};

describe("an agent that refuses the version on its card", () => {
  it.each(Object.values(refusals))(
    "switches to the other version on the card after the refusal %j and keeps using it",
    async (refusal) => {
      const agent = await agentOf({
        card: bothVersions,
        answer: (call) => (versionOf(call) === "1.0" ? refusal : inV03),
      });
      for (const _ of [1, 2])
        expect(await agent.call("execute_task", hello)).toMatchObject({ response_text: "hi" });
      expect(agent.calls.map(versionOf)).toEqual(["1.0", "0.3", "0.3"]);
      expect(agent.gets).toHaveLength(2);
      expect(agent.calls[1]?.params.message).toMatchObject({ messageId: agent.calls[0]?.id });
    },
  );

  it("follows a new card when the agent has been updated", async () => {
    let version: "1.0" | "0.3" = "0.3";
    const agent = await agentOf({
      card: (_, base) => json(cardOf({ url: `${base}/${version}`, version })),
      answer: (call) => {
        if (versionOf(call) !== version) return refusals["-32009"];
        return version === "1.0" ? answerWith("hi") : inV03;
      },
    });
    await agent.call("execute_task", hello);
    version = "1.0";
    expect(await agent.call("execute_task", hello)).toMatchObject({ response_text: "hi" });
    expect(agent.calls.map(({ path }) => path)).toEqual(["/0.3", "/0.3", "/1.0"]);
  });

  it.each(Object.values(refusals))(
    "fetches the card again if the agent refuses the only version on its card with %j",
    async (refusal) => {
      const agent = await agentOf({ answer: () => refusal });
      await expect(agent.call("execute_task", hello)).rejects.toMatchObject({
        code: refusal.error.code,
        certainty: expect.not.stringMatching("undelivered"),
      });
      expect([agent.calls.length, agent.gets.length]).toEqual([1, 2]);
    },
  );

  it("calls an agent once in each version before it gives up", async () => {
    const agent = await agentOf({ card: bothVersions, answer: () => refusals["-32009"] });
    await expect(agent.call("execute_task", hello)).rejects.toMatchObject({
      reason: "version_not_supported",
    });
    expect(agent.calls.map(versionOf)).toEqual(["1.0", "0.3"]);
  });

  it("uses the old card if the new one cannot be fetched", async () => {
    let count = 0;
    const agent = await agentOf({
      card: (request, base) =>
        count++ === 0 ? bothVersions(request, base) : json({}, { status: 500 }),
      answer: (call) => (versionOf(call) === "1.0" ? refusals["-32009"] : inV03),
    });
    expect(await agent.call("execute_task", hello)).toMatchObject({ response_text: "hi" });
  });

  it.each([-32602, -32603, -32004])(
    "keeps the version if the agent refuses the message itself (%i)",
    async (code) => {
      const agent = await agentOf({
        card: bothVersions,
        answer: () => ({ error: { code, message: "no" } }),
      });
      await expect(agent.call("execute_task", hello)).rejects.toMatchObject({ code });
      expect(agent.calls).toHaveLength(1);
    },
  );
});

describe("an error for another request", () => {
  it.each([
    ["-32009", "somebody-elses"],
    ["-32601", "somebody-elses"],
    ["-32601", null],
  ] as const)("ignores a refusal that belongs to another request (%s for %s)", async (code, id) => {
    const agent = await agentOf({
      card: bothVersions,
      answer: (call) =>
        versionOf(call) === "1.0" ? json({ jsonrpc: "2.0", id, ...refusals[code] }) : inV03,
    });
    await expect(agent.call("execute_task", hello)).rejects.toMatchObject({
      certainty: expect.not.stringMatching("undelivered"),
    });
    expect(agent.calls.map(versionOf)).toEqual(["1.0"]);
  });

  it("accepts a version refusal with a null id, as the agent could not read the request", async () => {
    const refusal = { jsonrpc: "2.0", id: null, ...refusals["-32009"] };
    const agent = await agentOf({
      card: bothVersions,
      answer: (call) => (versionOf(call) === "1.0" ? json(refusal) : inV03),
    });
    expect(await agent.call("execute_task", hello)).toMatchObject({ response_text: "hi" });
  });
});

describe("an operation that an agent lacks", () => {
  const calls = {
    GetTask: ["get_task", { task_id: "t1" }],
    CancelTask: ["cancel_task", { task_id: "t1" }],
    ListTasks: ["get_task", { request_id: "r1" }],
  } as const;
  it.each(Object.entries(calls))(
    "keeps the version if an agent lacks the operation %s",
    async (lacked, [method, params]) => {
      const agent = await agentOf({
        card: bothVersions,
        answer: (call) => (call.method === lacked ? refusals["-32601"] : answerWith("hi")),
      });
      await expect(agent.call(method, params)).rejects.toMatchObject({
        reason: "method_not_found",
      });
      expect(await agent.call("execute_task", hello)).toMatchObject({ response_text: "hi" });
      expect(agent.calls.map(versionOf)).toEqual(["1.0", "1.0"]);
      expect(agent.gets).toHaveLength(1);
    },
  );
});

describe("another tenant", () => {
  const cardFor =
    (...tenants: string[]) =>
    (_: Request, base: string) =>
      json({
        name: "an agent",
        supportedInterfaces: tenants.map((tenant) => ({
          ...{ url: `${base}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant },
        })),
      });
  const tenantsOf = (calls: readonly AgentCall[]) => calls.map(({ params }) => params.tenant);

  it("never sends a refused message to another tenant of the same card", async () => {
    const agent = await agentOf({
      card: cardFor("acme", "other-corp"),
      answer: () => refusals["-32009"],
    });
    for (const _ of [1, 2])
      await expect(agent.call("execute_task", hello)).rejects.toMatchObject({ code: -32009 });
    expect(tenantsOf(agent.calls)).toEqual(["acme", "acme"]);
  });

  it("sends new messages to the tenant of a newer card, but never the refused one", async () => {
    let card = cardFor("acme");
    const agent = await agentOf({
      card: (...cardRequest) => card(...cardRequest),
      answer: ({ params }) => (params.tenant === "acme" ? refusals["-32009"] : answerWith("hi")),
    });
    const stop = await agent.call("execute_task", hello).catch(() => "refused");
    card = cardFor("other-corp");
    await expect(agent.call("execute_task", hello)).rejects.toMatchObject({ code: -32009 });
    expect([stop, await agent.call("execute_task", hello)]).toMatchObject([
      "refused",
      { response_text: "hi" },
    ]);
    expect(tenantsOf(agent.calls)).toEqual(["acme", "acme", "other-corp"]);
  });
});

describe("the version that the configuration pins", () => {
  it("uses the pinned version even if the agent offers a higher one", async () => {
    const agent = await agentOf({ card: bothVersions, answer: () => inV03 });
    await clientTo(agent.cardUrl, { version: "0.3" }).call("execute_task", hello);
    expect(agent.calls.map(versionOf)).toEqual(["0.3"]);
    expect(agent.gets[0]?.headers.get("a2a-version")).toBe("0.3");
  });

  it("keeps the pinned version even if the agent refuses it", async () => {
    const agent = await agentOf({ card: bothVersions, answer: () => refusals["-32009"] });
    const { call } = clientTo(agent.cardUrl, { version: "1.0" });
    await expect(call("execute_task", hello)).rejects.toMatchObject({
      reason: "version_not_supported",
    });
    expect(agent.calls.map(versionOf)).toEqual(["1.0"]);
  });
});
