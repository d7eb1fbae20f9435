import { describe, expect, it } from "@jest/globals";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { errorObjectSchema } from "@sekisho/contracts/envelope.ts";
import type { ExecuteTaskParams } from "@sekisho/contracts/methods.ts";
import type { CalledOperation } from "@sekisho/verification/transport/a2a/binding.ts";
import { httpJson } from "@sekisho/verification/transport/a2a/http-json.ts";
import { readHttpError } from "@sekisho/verification/transport/a2a/http-json-error.ts";
import {
  createAnswerParams,
  createTaskMessage,
} from "@sekisho/verification/transport/a2a/messages.ts";
import fc from "fast-check";
import { json, raw } from "../../../doubles/answers.ts";
import { forAll } from "../../../doubles/for-all.ts";
import { serve } from "../../../doubles/serving.ts";
import { clientTo, hello, sessionId } from "./sample.ts";

const interfaceAt = (
  url: string,
  { version = "1.0" as A2aVersion, tenant = undefined as string | undefined } = {},
) => ({ url: new URL(url), version, binding: "HTTP+JSON" as const, tenant });

function write(
  operation: "GetTask" | "CancelTask",
  id: string,
  to = interfaceAt("https://agent.example/a2a"),
) {
  const params = operation === "GetTask" ? { id, historyLength: 5 } : { id };
  const { method, url } = httpJson.write({ to, operation, params, id: "r1" }) ?? {};
  return `${method} ${url?.href}`;
}

function writeMessage(params: Partial<ExecuteTaskParams>, version: A2aVersion) {
  const message = createTaskMessage({
    messageId: "m1",
    contextId: "c1",
    params: { ...hello, ...params },
  });
  const to = interfaceAt("https://agent.example/a2a", { version });
  const request = httpJson.write({ to, operation: "SendMessage", params: message, id: "m1" });
  return { ...request, body: JSON.parse(Buffer.from(request?.body ?? []).toString()) };
}

describe("the requests of A2A over HTTP+JSON", () => {
  it.each([
    ["https://agent.example", "https://agent.example/tasks/t1?historyLength=5"],
    ["https://agent.example/", "https://agent.example/tasks/t1?historyLength=5"],
    ["https://agent.example/a2a/v1", "https://agent.example/a2a/v1/tasks/t1?historyLength=5"],
    ["https://agent.example/a2a/", "https://agent.example/a2a/tasks/t1?historyLength=5"],
    [
      "https://agent.example/a2a?api-version=v1",
      "https://agent.example/a2a/tasks/t1?api-version=v1&historyLength=5",
    ],
  ])("appends the operation to the path of %s and keeps its query", (url, expected) => {
    expect(write("GetTask", "t1", interfaceAt(url))).toBe(`GET ${expected}`);
  });

  it("begins the path with v1 in 0.3, and with the tenant in 1.0", () => {
    const url = "https://agent.example/a2a";
    expect(write("CancelTask", "t1", interfaceAt(url, { version: "0.3" }))).toBe(
      `POST ${url}/v1/tasks/t1:cancel`,
    );
    expect(write("CancelTask", "t1", interfaceAt(url, { tenant: "Acme/1" }))).toBe(
      `POST ${url}/Acme%2F1/tasks/t1:cancel`,
    );
  });

  it.each([
    ["a/../../admin", "a%2F..%2F..%2Fadmin"],
    ["t1?x=1#y", "t1%3Fx%3D1%23y"],
    ["t1:cancel", "t1%3Acancel"],
    ["%2e%2e", "%252e%252e"],
    ["...", "..."],
    ["\\..\\x", "%5C..%5Cx"],
    ["関所", "%E9%96%A2%E6%89%80"],
    ["half \ud800", "half%20%EF%BF%BD"],
  ])("writes the task id %j as one segment of the path", (id, segment) => {
    expect(write("GetTask", id)).toBe(
      `GET https://agent.example/a2a/tasks/${segment}?historyLength=5`,
    );
  });

  it.each([".", ".."])("sends nothing for a task id that is another path: %s", (id) => {
    for (const operation of ["GetTask", "CancelTask"] as const) {
      expect(() => write(operation, id)).toThrow(
        expect.objectContaining({ reason: "unsupported_operation" }),
      );
    }
  });

  it("writes the members of a listing into the query, in camel case and without unset ones", () => {
    const to = interfaceAt("https://agent.example/a2a");
    const params = { contextId: "c 1&x", pageSize: 20, pageToken: undefined, historyLength: 20 };
    const listing = { operation: "ListTasks", params, id: "r1" } as const;
    expect(httpJson.write({ to, ...listing })?.url.href).toBe(
      "https://agent.example/a2a/tasks?contextId=c+1%26x&pageSize=20&historyLength=20",
    );
    const in03 = interfaceAt("https://agent.example/a2a", { version: "0.3" });
    expect(httpJson.write({ to: in03, ...listing })).toBeUndefined();
  });

  const task = {
    attachments: [
      { id: "F1", name: "a.pdf", mimetype: "application/pdf", size: 3, url: "https://x.example/a" },
    ],
  };

  it("writes a message of 0.3 as its Protocol Buffers do", () => {
    const { body, headers } = writeMessage(task, "0.3");
    expect(headers).toBeUndefined();
    expect(body).toMatchObject({
      message: {
        messageId: "m1",
        contextId: "c1",
        role: "ROLE_USER",
        content: [
          { text: "hello" },
          {
            file: {
              fileWithUri: "https://x.example/a",
              mimeType: "application/pdf",
              name: "a.pdf",
            },
          },
        ],
      },
      configuration: { blocking: false, historyLength: 5 },
    });
    expect(JSON.stringify(body)).not.toMatch(/"(kind|parts|returnImmediately)"/);
  });

  it("writes data of 0.3 as its Protocol Buffers do", () => {
    const params = createAnswerParams({
      messageId: "m1",
      params: { task_id: "t1", fields: { region: "eu" } },
    });
    const to = interfaceAt("https://agent.example/a2a", { version: "0.3" });
    const request = httpJson.write({ to, operation: "SendMessage", params, id: "m1" });
    expect(JSON.parse(Buffer.from(request?.body ?? []).toString()).message).toMatchObject({
      taskId: "t1",
      content: [{ data: { data: { fields: { region: "eu" } } } }],
    });
  });

  it("writes a message of 1.0 as the operation's params", () => {
    const { body, headers, url } = writeMessage(task, "1.0");
    expect(url?.href).toBe("https://agent.example/a2a/message:send");
    expect(headers).toEqual({
      "content-type": "application/a2a+json",
      accept: "application/a2a+json, application/json",
    });
    expect(body).toMatchObject({
      message: { role: "ROLE_USER", parts: [{ text: "hello" }, { url: "https://x.example/a" }] },
      configuration: { returnImmediately: true, historyLength: 5 },
    });
  });
});

const info = (reason: string, domain = "a2a-protocol.org") => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  ...{ reason, domain },
});

function codeOf(
  status: number,
  json: unknown,
  { operation = "GetTask" as CalledOperation, namesTask = true } = {},
) {
  return readHttpError({ status, json, operation, namesTask })?.code;
}

describe("the errors of A2A over HTTP+JSON", () => {
  it.each([
    ["TASK_NOT_FOUND", -32001],
    ["TASK_NOT_CANCELABLE", -32004],
    ["PUSH_NOTIFICATION_NOT_SUPPORTED", -32003],
    ["UNSUPPORTED_OPERATION", -32004],
    ["CONTENT_TYPE_NOT_SUPPORTED", -32005],
    ["INVALID_AGENT_RESPONSE", -32006],
    ["EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007],
    ["EXTENSION_SUPPORT_REQUIRED", -32008],
    ["VERSION_NOT_SUPPORTED", -32009],
  ])("reads the reason %s whatever the HTTP status is", (reason, code) => {
    const body = { error: { code: 400, message: "no", details: [{}, info(reason)] } };
    for (const status of [200, 400, 404, 500]) expect(codeOf(status, body)).toBe(code);
  });

  it("reads a late cancel by its own number", () => {
    const operation = { operation: "CancelTask" } as const;
    const named = { error: { details: [info("TASK_NOT_CANCELABLE")] } };
    expect(codeOf(400, named, operation)).toBe(-32002);
    expect(codeOf(409, { message: "Task cannot be canceled" }, operation)).toBe(-32002);
    const google = { error: { code: 400, status: "FAILED_PRECONDITION", message: "no" } };
    expect(codeOf(400, google, operation)).toBe(-32002);
  });

  it.each([
    ["a status of Google", { error: { code: 404, status: "NOT_FOUND", message: "no" } }],
    ["an SDK of 0.3 for Python", { message: "Task not found" }],
    ["an SDK of 0.3 for JavaScript", { code: -32001, message: "Task not found: t1" }],
    ["an SDK of 0.3 for Java", { error: "TaskNotFoundError", message: "Task not found" }],
  ])("reads an unknown task in the words of %s", (_, body) => {
    expect(codeOf(404, body)).toBe(-32001);
    expect(codeOf(404, body, { operation: "SendMessage" })).toBe(-32001);
  });

  it.each([
    ["a page", undefined],
    ["another server", { detail: "Not Found" }],
    ["a list", []],
    ["null", null],
  ])("never takes a 404 of %s for an unknown task", (_, body) => {
    expect(codeOf(404, body)).toBeUndefined();
    expect(codeOf(404, body, { operation: "SendMessage", namesTask: false })).toBeUndefined();
  });

  it("reads a listing without a path, and a refused method, as missing operations", () => {
    expect(codeOf(404, undefined, { operation: "ListTasks", namesTask: false })).toBe(-32601);
    expect(codeOf(405, undefined, { operation: "CancelTask" })).toBe(-32601);
    expect(codeOf(405, undefined, { operation: "SendMessage" })).toBeUndefined();
  });

  it.each([
    [400, -32602],
    [422, -32602],
    [415, -32005],
    [501, -32004],
  ])("reads HTTP %i without a reason as %i", (status, code) => {
    expect(codeOf(status, { error: { code: status, message: "no" } })).toBe(code);
    expect(codeOf(status, undefined)).toBeUndefined();
  });

  it.each([401, 403, 413, 429, 500, 502, 503, 504])(
    "leaves HTTP %i without a reason to its status, since a proxy may have sent it",
    (status) => {
      expect(codeOf(status, { error: { code: status, message: "no" } })).toBeUndefined();
      if (status >= 500) expect(codeOf(status, { code: -32603, message: "no" })).toBeUndefined();
    },
  );

  it.each([
    { error: null },
    { error: [] },
    { error: { details: null } },
    { error: { details: "x", code: "y", message: {} } },
    { error: { details: [null, 7, [], info("__proto__"), info("constructor")] } },
    { error: { details: [info("TASK_NOT_FOUND", "elsewhere.example")] } },
    JSON.parse('{"error":{"__proto__":{"code":-32001},"code":1.5}}'),
  ])("names nothing for a strange error: %j", (body) => {
    expect(codeOf(403, body)).toBeUndefined();
  });

  it("reads any error of any status without throwing, as one of JSON-RPC or none", () => {
    const statuses = fc.integer({ min: 200, max: 599 });
    const names = fc.constantFrom("error", "message", "code", "details", "data", "status");
    const members = fc.dictionary(names, fc.jsonValue());
    const bodies = fc.oneof(members, fc.record({ error: members }), fc.jsonValue());
    const operations = fc.constantFrom<CalledOperation>("SendMessage", "GetTask", "CancelTask");
    forAll(statuses, bodies, operations, fc.boolean()).hold(
      (status, json, operation, namesTask) => {
        const error = readHttpError({ status, json, operation, namesTask });
        if (error !== undefined) expect(errorObjectSchema.safeParse(error).success).toBe(true);
      },
    );
  });

  it("drops details that are nested too deeply", () => {
    const depth = 100_000;
    const details = JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
    const error = readHttpError({
      ...{ status: 400, operation: "GetTask", namesTask: true },
      json: { error: { message: "no", details } },
    });
    expect(JSON.parse(JSON.stringify(error))).toEqual({ code: -32602, message: "no" });
  });
});

const task = (state: string) => ({ id: "t1", contextId: "c1", status: { state } });

/** An agent whose card offers these interfaces, at paths of their own. */
async function agentWith(
  offers: readonly [binding: string, version: string][],
  answer: (path: string) => Response,
) {
  const agent = await serve(({ request, target }) => {
    if (!target.startsWith("/.well-known/")) return answer(target);
    const supportedInterfaces = offers.map(([protocolBinding, protocolVersion]) => ({
      url: new URL(`/${protocolBinding}/${protocolVersion}`, request.url).href,
      ...{ protocolBinding, protocolVersion },
    }));
    return json({ name: "an agent", supportedInterfaces });
  });
  const { call } = clientTo(`${agent.url}/.well-known/agent-card.json`);
  const paths = () =>
    agent.received.map(({ target }) => target).filter((path) => !path.startsWith("/.well-known/"));
  return { call, paths };
}

const html = (status: number) =>
  raw("<html>", { status, headers: { "content-type": "text/html" } });

describe("an agent with several bindings", () => {
  const all = ["1.0", "0.3"].flatMap((version) =>
    ["HTTP+JSON", "JSONRPC"].map((binding): [string, string] => [binding, version]),
  );

  it.each([404, 405])(
    "tries every version and binding once, JSON-RPC first, until one is not refused (%i)",
    async (status) => {
      const agent = await agentWith(all, (path) =>
        path.startsWith("/HTTP+JSON/0.3/")
          ? json({ task: task("TASK_STATE_WORKING") })
          : path.startsWith("/HTTP")
            ? html(status)
            : json({ jsonrpc: "2.0", id: null, error: { code: -32009, message: "no" } }),
      );
      expect(await agent.call("execute_task", hello)).toMatchObject({ status: "accepted" });
      const lastPath = "/HTTP+JSON/0.3/v1/message:send";
      const firstPaths = ["/JSONRPC/1.0", "/HTTP+JSON/1.0/message:send", "/JSONRPC/0.3"];
      expect(agent.paths()).toEqual([...firstPaths, lastPath]);
      await agent.call("execute_task", hello);
      expect(agent.paths().slice(4)).toEqual([lastPath]);
    },
  );

  it("never tries another binding after an answer that may come from the agent's work", async () => {
    const agent = await agentWith(all.slice(0, 2).toReversed(), () => html(502));
    await expect(agent.call("execute_task", hello)).rejects.toMatchObject({ reason: "ambiguous" });
    expect(agent.paths()).toEqual(["/JSONRPC/1.0"]);
  });

  it.each([
    { error: { code: 404, status: "NOT_FOUND", message: "no" } },
    { message: "Task not found" },
    { code: -32001, message: "Task not found" },
  ])("never tries another version after a 404 in the agent's own words: %j", async (body) => {
    const offers: [string, string][] = [
      ["HTTP+JSON", "1.0"],
      ["HTTP+JSON", "0.3"],
    ];
    const agent = await agentWith(offers, () => json(body, { status: 404 }));
    await expect(agent.call("execute_task", hello)).rejects.toMatchObject({
      certainty: "refused",
    });
    expect(agent.paths()).toEqual(["/HTTP+JSON/1.0/message:send"]);
  });

  it.each([404, 405])(
    "explains a path that answers %i in every binding as a wrong address",
    async (status) => {
      const agent = await agentWith([["HTTP+JSON", "1.0"]], () => html(status));
      await expect(agent.call("execute_task", hello)).rejects.toMatchObject({
        ...{ reason: "invalid_response", certainty: "refused" },
        cause: { message: expect.stringContaining("Nothing accepts") },
      });
    },
  );
});

describe("the answers of A2A over HTTP+JSON", () => {
  const callWith = async (body: string, version = "0.3") => {
    const agent = await agentWith([["HTTP+JSON", version]], () => raw(body));
    return agent.call("execute_task", hello);
  };

  it.each([
    ["in a member", (message: object) => ({ message })],
    ["bare", (message: object) => message],
  ])("reads a message whose parts are in content, %s", async (_, wrap) => {
    const message = { messageId: "m1", role: "ROLE_AGENT", content: [{ text: "hi" }] };
    for (const version of ["0.3", "1.0"]) {
      expect(await callWith(JSON.stringify(wrap(message)), version)).toMatchObject({
        response_text: "hi",
      });
    }
  });

  it("reads files and data of 0.3, and leaves data of 1.0 as it is", async () => {
    const answered = (parts: object[]) =>
      JSON.stringify({
        task: { ...task("TASK_STATE_COMPLETED"), artifacts: [{ artifactId: "a1", parts }] },
      });
    const file = { fileWithBytes: "dGNr", mimeType: "text/plain", name: "a.txt" };
    const parts = [{ file }, { data: { data: { rows: [1] } } }];
    expect(await callWith(answered(parts))).toMatchObject({
      artifacts: [
        { base64: "dGNr", mimetype: "text/plain", name: "a.txt" },
        { data: { rows: [1] } },
      ],
    });
    expect(await callWith(answered(parts.slice(1)), "1.0")).toMatchObject({
      artifacts: [{ data: { data: { rows: [1] } } }],
    });
  });

  it("reads a canceled task as the Protocol Buffers of 0.3 spell it", async () => {
    await expect(
      callWith(JSON.stringify({ task: task("TASK_STATE_CANCELLED") })),
    ).rejects.toMatchObject({ reason: "canceled" });
  });

  const deep = (depth: number) => `${'{"task":'.repeat(depth)}{}${"}".repeat(depth)}`;
  it.each([
    ["null", "null"],
    ["a list", "[]"],
    ["a number", "7"],
    ["nothing", ""],
    ["half of its JSON", '{"task":{"id":"t1","status":{"sta'],
    ["a repeated key", '{"task":{"id":"t1","id":"t2","status":{"state":"TASK_STATE_WORKING"}}}'],
    ["an envelope of JSON-RPC", '{"jsonrpc":"2.0","id":"x","result":{}}'],
    ["nesting without end", deep(50_000)],
    ["parts that are no list", '{"message":{"messageId":"m1","role":"ROLE_AGENT","content":{}}}'],
    ["a task that is no object", '{"task":[1,2]}'],
    ["an error that says nothing", '{"error":{}}'],
    ["keys of a prototype", '{"__proto__":{"task":{}},"constructor":{"name":1}}'],
  ])("rejects %s as an invalid response", async (_, body) => {
    for (const version of ["0.3", "1.0"]) {
      await expect(callWith(body, version)).rejects.toMatchObject({ reason: "invalid_response" });
    }
  });

  it("reads no result from an answer that is cut off anywhere", () => {
    const body = JSON.stringify({ task: task("TASK_STATE_COMPLETED") });
    const to = interfaceAt("https://agent.example/a2a");
    const read = (text: string) =>
      httpJson.read({
        ...{ to, operation: "GetTask", params: { id: "t1" }, id: "r1" },
        response: { status: 200, body: Buffer.from(text) },
      });
    expect(read(body)).toEqual({ result: JSON.parse(body) });
    for (let end = 0; end < body.length; end += 1)
      expect(read(body.slice(0, end))).not.toHaveProperty("result");
  });

  it("ends a completed task whose answer cannot be read", async () => {
    const broken = { ...task("TASK_STATE_COMPLETED"), artifacts: [{ parts: [{ text: 7 }] }] };
    await expect(callWith(JSON.stringify({ task: broken }))).rejects.toMatchObject({
      ...{ reason: "invalid_response", certainty: "ended" },
    });
  });

  it("refuses more parts than are read, in content too", async () => {
    const content = Array.from({ length: 10_001 }, () => ({ text: "x" }));
    const message = { messageId: "m1", role: "ROLE_AGENT", content };
    await expect(callWith(JSON.stringify({ message }))).rejects.toMatchObject({
      reason: "invalid_response",
    });
  });

  it("sends the session, the version and the extensions with every operation", async () => {
    const agent = await serve(({ request, target }) => {
      const url = new URL("/a2a", request.url).href;
      if (target.startsWith("/.well-known/"))
        return json({
          name: "an agent",
          protocolVersion: "0.3",
          url,
          preferredTransport: "HTTP+JSON",
        });
      return json(
        target.includes(":send")
          ? { task: task("TASK_STATE_WORKING") }
          : task("TASK_STATE_WORKING"),
      );
    });
    const { call } = clientTo(`${agent.url}/.well-known/agent-card.json`);
    await call("execute_task", hello);
    await call("get_task", { task_id: "t1" });
    for (const { request } of agent.received.slice(1)) {
      expect(Object.fromEntries(request.headers)).toMatchObject({
        "a2a-version": "0.3",
        "x-a2a-extensions": expect.stringContaining("urn:sekisho:slack-message:v1"),
        "x-amzn-bedrock-agentcore-runtime-session-id": sessionId,
        traceparent: expect.any(String),
      });
    }
  });
});
