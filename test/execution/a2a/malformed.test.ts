/** What is no good request of A2A: each has its code, in the shape of its version, and nothing of an exception or of the input. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import { createBearerAuthenticator } from "../../../lambdas/execution/authenticator/create-authenticator.ts";
import { memoryStore, post } from "../test-host.ts";
import { type A2aAnswer, type A2aHost, type CallOptions, startA2aHost, userMessage } from "./a2a-host.ts";

const secret = "hunter2-do-not-tell";
let host: A2aHost;
let closed: A2aHost;
beforeAll(async () => {
  host = await startA2aHost({ config: { tenant: "acme" } });
  const authenticator = createBearerAuthenticator({ readTokens: async () => ["token"] });
  closed = await startA2aHost({ authenticator });
});
afterAll(async () => {
  await host.close();
  await closed.close();
});

const request = (more: object) => JSON.stringify({ jsonrpc: "2.0", id: "1", method: "GetTask", params: {}, ...more });
const sending = (params: object) => request({ method: "SendMessage", params: { tenant: "acme", ...params } });
const message = userMessage("hi");

async function answerTo(body: string, options: CallOptions = {}) {
  const response = await host.post(body, { version: "1.0", ...options });
  const text = await response.text();
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(text).not.toMatch(/hunter2|Error:|at .*\.ts|\[object/);
  return { status: response.status, ...(JSON.parse(text) as A2aAnswer<unknown>) };
}

describe("a body that is no request", () => {
  it.each<[string, string, number]>([
    ["nothing", "", -32700],
    ["half of one", request({}).slice(0, -1), -32700],
    ["a batch", `[${request({})}]`, -32600],
    ["a number", "7", -32600],
    ["another protocol", request({ jsonrpc: "1.0" }), -32600],
    ["a notification", request({ id: undefined }), -32600],
    ["an id with a fraction", request({ id: 1.5 }), -32600],
    ["a method that is none", request({ method: 7 }), -32600],
  ])("(%s) is refused without an id, in 1.0 and in 0.3", async (_name, body, code) => {
    const first = await answerTo(body);
    expect([first.status, first.id, first.error?.code, Array.isArray(first.error?.data)]).toEqual([
      200,
      null,
      code,
      true,
    ]);
    for (const version of ["0.3", undefined]) {
      const { id, error } = await answerTo(body, { version });
      expect([id, error?.code, Array.isArray(error?.data)]).toEqual([null, code, false]);
    }
  });
});

describe("a method", () => {
  it.each([
    ["1.0", "message/send"],
    ["1.0", "execute_task"],
    ["0.3", "SendMessage"],
    [undefined, "GetTasks"],
    ["1.0", "__proto__"],
  ])("that %s does not have is not found (%s)", async (version, method) => {
    const { id, error } = await answerTo(request({ method, id: 7 }), { version });
    expect([id, error?.code]).toEqual([7, -32601]);
  });

  it.each(["2.0", "0.2", "1", secret])("in version %s is refused with A2A's own reason first", async (version) => {
    const { id, error } = await answerTo(request({}), { version });
    expect([id, error?.code]).toEqual(["1", -32009]);
    expect(error?.data[0]).toEqual({
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: "VERSION_NOT_SUPPORTED",
      domain: "a2a-protocol.org",
    });
  });

  it("may have its version in the query", async () => {
    const { error } = await answerTo(request({}), { version: undefined, path: "/a2a?A2A-Version=2.0" });
    expect(error?.code).toBe(-32009);
  });
});

describe("params", () => {
  it.each<[string, string, string]>([
    ["by position", request({ method: "SendMessage", params: ["a"] }), ""],
    ["that are missing", request({ method: "SendMessage", params: undefined }), "message"],
    ["without a message", sending({}), "message"],
    ["with no parts", sending({ message: { ...message, parts: [] } }), "message.parts"],
    ["with a part of nothing", sending({ message: { ...message, parts: [{}] } }), "message.parts.0"],
    ["with a part of two", sending({ message: { ...message, parts: [{ text: secret, data: 1 }] } }), "message.parts.0"],
    ["with a part of 0.3", sending({ message: { ...message, parts: [{ kind: "text" }] } }), "message.parts.0"],
    [
      "with bytes that are none",
      sending({ message: { ...message, parts: [{ raw: `${secret}!` }] } }),
      "message.parts.0.raw",
    ],
    ["with the role of the agent", sending({ message: { ...message, role: "ROLE_AGENT" } }), "message.role"],
    ["with a role that nobody has", sending({ message: { ...message, role: secret } }), "message.role"],
    ["with the role's number", sending({ message: { ...message, role: 1 } }), "message.role"],
    ["without a message id", sending({ message: { ...message, messageId: "" } }), "message.messageId"],
    ["with a length below zero", request({ params: { tenant: "acme", id: "a", historyLength: -1 } }), "historyLength"],
    [
      "with a state that nobody knows",
      request({ method: "ListTasks", params: { tenant: "acme", status: secret } }),
      "status",
    ],
    [
      "with a page that is too large",
      request({ method: "ListTasks", params: { tenant: "acme", pageSize: 101 } }),
      "pageSize",
    ],
    ["of another tenant", request({ params: { tenant: "other", id: "a" } }), "tenant"],
    ["of no tenant", request({ params: { id: "a" } }), "tenant"],
    ["of an empty tenant", request({ params: { tenant: "", id: "a" } }), "tenant"],
    [
      "without a tenant and of no operation's own",
      request({ method: "GetExtendedAgentCard", params: undefined }),
      "tenant",
    ],
  ])("%s are refused, and told where they are wrong", async (_name, body, field) => {
    const { id, error } = await answerTo(body);
    expect([id, error?.code]).toEqual(["1", -32602]);
    const [own, badRequest] = error?.data ?? [];
    expect(own).toMatchObject({ reason: "INVALID_PARAMS", domain: "sekisho" });
    expect(badRequest).toMatchObject({ "@type": "type.googleapis.com/google.rpc.BadRequest" });
    const violation = expect.objectContaining({ field, description: expect.any(String) });
    expect(badRequest?.fieldViolations).toEqual(expect.arrayContaining([violation]));
  });

  it("of 0.3 are told of by their names there, and have no tenant", async () => {
    const parts = [{ kind: "file", file: { bytes: "!", name: secret } }];
    const params = { message: { messageId: "m", role: "user", parts } };
    const { error } = await answerTo(request({ method: "message/send", params }), { version: "0.3" });
    expect([error?.code, error?.data.reason]).toEqual([-32602, "invalid_params"]);
    expect(error?.data.issues).toEqual([{ path: "message.parts.0.file.bytes", message: "must be base64" }]);
  });

  it("with a tenant are refused where there is none", async () => {
    const headers = { authorization: "Bearer token" };
    const { error } = await closed.ask("GetTask", { tenant: "acme", id: "a" }, { headers });
    expect(error?.code).toBe(-32602);
    expect((await closed.ask("GetTask", { tenant: "", id: "a" }, { headers })).error?.code).toBe(-32001);
  });
});

describe("a content type", () => {
  it.each(["text/plain", "application/jsonp", "application/x-a2a+json"])("%s is refused", async (type) => {
    for (const version of ["1.0", undefined]) {
      const { id, error } = await answerTo(request({}), { version, headers: { "content-type": type } });
      expect([id, error?.code]).toEqual([null, -32005]);
    }
  });

  it.each(["application/a2a+json", "Application/A2A+JSON; charset=utf-8"])("%s is taken", async (type) => {
    const { error } = await answerTo(request({ params: { tenant: "acme", id: "a" } }), {
      headers: { "content-type": type },
    });
    expect(error?.code).toBe(-32001);
  });
});

describe("a refusal with a status", () => {
  it("is 413 for what is too large, whatever is said of the version", async () => {
    const body = " ".repeat(256 * 1024 + 1);
    const { status, id, error } = await answerTo(body);
    expect([status, id, error?.code, error?.data[0]?.reason]).toEqual([413, null, -32602, "PAYLOAD_TOO_LARGE"]);
    expect((await answerTo(body, { version: undefined })).error?.data.reason).toBe("payload_too_large");
  });

  it.each([
    ["1.0", "GetTask"],
    ["0.3", "tasks/get"],
    ["0.3", "message/stream"],
  ])("is 401 in %s for who cannot be known, and says how one would be let in", async (version, method) => {
    const { status, headers, error } = await closed.ask(method, { id: "a" }, { version });
    expect([status, headers.get("www-authenticate"), error?.code]).toEqual([401, "Bearer", -32066]);
  });

  it("is 405 for another HTTP method, and 404 where no A2A is served", async () => {
    const got = await fetch(`${host.url}/a2a`);
    expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await host.post(request({}), { path: "/a2a/more" })).status).toBe(404);
  });
});

describe("hostile params", () => {
  it("of any JSON, for any operation in any version, are answered by the book", async () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(secret, "acme", message, [message]));
    const names = [
      "tenant",
      "id",
      "message",
      "configuration",
      "metadata",
      "taskId",
      "url",
      "pageToken",
      "status",
      "__proto__",
    ];
    const params = fc.dictionary(fc.constantFrom(...names), value);
    const methods = [
      "SendMessage",
      "GetTask",
      "ListTasks",
      "CancelTask",
      "SubscribeToTask",
      "CreateTaskPushNotificationConfig",
    ];
    const older = [
      "message/send",
      "tasks/get",
      "tasks/cancel",
      "tasks/resubscribe",
      "tasks/pushNotificationConfig/set",
    ];
    const method = fc.constantFrom(...methods, ...older);
    const version = fc.constantFrom("1.0", "0.3", "");
    await fc.assert(
      fc.asyncProperty(method, version, fc.oneof(params, value), async (name, asked, sent) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params: sent });
        const response = await host.host.handle(post(body, { path: "/a2a", headers: { "a2a-version": asked } }));
        const { error } = (await response.json()) as A2aAnswer<unknown>;
        if (error === undefined) return;
        expect([-32601, -32602, -32001, -32003]).toContain(error.code);
        expect(JSON.stringify(error)).not.toContain(secret);
      }),
      { numRuns: 400 },
    );
    expect(host.lines.join("")).not.toContain(secret);
  });
});

describe("a refusal", () => {
  it("leaves one line: the operation in 1.0's words, the version, the reason, and ids that are UUIDs", async () => {
    const logged = await startA2aHost({ store: memoryStore() });
    const taskId = "6f1d4a3e-7b52-8c1f-9a55-2a6d3c0f7e11";
    await logged.ask("tasks/get", { id: taskId }, { version: "0.3" });
    const sent = userMessage(secret, { taskId: secret });
    await logged.ask("SendMessage", { message: sent });
    const lines = logged.lines.map((line) => JSON.parse(line));
    const common = { level: "info", message: "request_refused", reason: "task_not_found" };
    expect(lines).toEqual([
      expect.objectContaining({ ...common, operation: "GetTask", version: "0.3", task_id: taskId }),
      expect.objectContaining({ ...common, operation: "SendMessage", version: "1.0", request_id: sent.messageId }),
    ]);
    expect(logged.lines.join("")).not.toContain(secret);
    await logged.close();
  });

  it("of what a task's state forbids names the request that began it", async () => {
    const logged = await startA2aHost({ store: memoryStore() });
    const message = userMessage("hi");
    const { task } = await logged.result<{ task: A2aTask }>("SendMessage", { message });
    await logged.ask("CancelTask", { id: task.id });
    await logged.ask("SendMessage", { message: userMessage("more", { taskId: task.id }) });
    const refused = logged.lines.map((line) => JSON.parse(line)).filter(({ message }) => message === "request_refused");
    const ids = { task_id: task.id, request_id: message.messageId, reason: "invalid_state" };
    expect(refused).toMatchObject([
      { ...ids, operation: "CancelTask" },
      { ...ids, operation: "SendMessage" },
    ]);
    await logged.close();
  });
});
