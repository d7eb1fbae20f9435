/** The A2A endpoint: streams over sockets, and requests that are refused. */
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { A2aTask, StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import { serverSentEvents } from "@sekisho/execution/a2a/endpoint.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import fc from "fast-check";
import { createGate, eventually, memoryStore, post, yielding } from "../test-host.ts";
import {
  type A2aAnswer,
  type A2aHost,
  type CallOptions,
  dataOf,
  firstAnswer,
  serveA2a,
  startA2aHost,
  userMessage,
} from "./a2a-host.ts";

describe("a stream of events", () => {
  it("sends keep-alive comments between messages, and ends when the client leaves", async () => {
    async function* messages(): AsyncGenerator<string> {
      yield "1";
      await new Promise(() => {});
    }
    const frames = serverSentEvents({ messages: messages(), keepAliveMs: 1 });
    const lines = [await frames.next(), await frames.next(), await frames.next()].map(
      ({ value }) => value,
    );
    expect(lines).toEqual(["data: 1\n\n", ": still here\n\n", ": still here\n\n"]);
    expect(await frames.return(undefined)).toMatchObject({ done: true });
  });

  it("fails when its messages fail", async () => {
    async function* breakingStream(): AsyncGenerator<string> {
      yield "1";
      throw new Error("broken");
    }
    const frames = serverSentEvents({ messages: breakingStream(), keepAliveMs: 10_000 });
    await frames.next();
    await expect(frames.next()).rejects.toThrow("broken");
  });
});

/** An event in few words. */
function describeEvent(event: StreamEvent): string {
  if ("task" in event) return `task ${event.task.status.state.slice(11)}`;
  if ("message" in event) return `message ${event.message.parts[0]?.text}`;
  if ("artifactUpdate" in event) return `artifact ${event.artifactUpdate.artifact.artifactId}`;
  const { state, message } = event.statusUpdate.status;
  return `status ${state.slice(11)}${message ? ` ${message.parts[0]?.text}` : ""}`;
}

async function allTold(stream: AsyncIterable<StreamEvent>): Promise<string[]> {
  const all: string[] = [];
  for await (const event of stream) all.push(describeEvent(event));
  return all;
}

/** Tells of its steps one by one, each when it is let on. */
function stepping() {
  const steps: (() => void)[] = [];
  const pause = () => new Promise<void>((resolve) => void steps.push(resolve));
  const agent: Agent = async function* () {
    await pause();
    yield { type: "progress", text: "reading", percent: 10 };
    await pause();
    yield { type: "artifact", artifact: { text: "made" } };
    await pause();
    yield { type: "answer", text: "done" };
  };
  return {
    agent,
    async next() {
      await eventually(() => steps.length > 0);
      steps.shift()?.();
    },
  };
}

const greeting = () => ({ message: userMessage("hi") });

async function begin(host: A2aHost): Promise<A2aTask> {
  const configuration = { returnImmediately: true };
  return (await host.result<{ task: A2aTask }>("SendMessage", { ...greeting(), configuration }))
    .task;
}

describe("a stream", () => {
  it("marks the last event of a stream of 0.3 as final", async () => {
    const host = await serveA2a({ agent: yielding({ type: "question", prompt: "Which?" }) });
    const messageOfV03 = { messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] };
    const events: { kind: string; final?: boolean }[] = [];
    const stream = host.stream<(typeof events)[0]>(
      "message/stream",
      { message: messageOfV03 },
      { version: "0.3" },
    );
    for await (const event of stream) events.push(event);
    expect(events.map(({ kind, final }) => [kind, final])).toEqual([
      ["task", undefined],
      ["status-update", true],
    ]);
    expect(events[1]).toMatchObject({
      status: { state: "input-required", message: { parts: [{ text: "Which?" }] } },
    });
  });

  it("streams one message if the answer needs no task", async () => {
    const host = await serveA2a({
      agent: yielding({ type: "answer", text: "Hello.", direct: true }),
      a2a: { firstSignMs: 5000 },
    });
    expect(await allTold(host.stream("SendStreamingMessage", greeting()))).toEqual([
      "message Hello.",
    ]);
  });

  it("ends a stream at a question, and continues in the stream of the reply", async () => {
    const agent: Agent = async function* ({ answers }) {
      yield answers.length === 0
        ? { type: "question", prompt: "Which?" }
        : { type: "answer", text: "done" };
    };
    const host = await serveA2a({ agent });
    const events: StreamEvent[] = [];
    for await (const event of host.stream("SendStreamingMessage", greeting())) events.push(event);
    expect(events.map(describeEvent)).toEqual(["task WORKING", "status INPUT_REQUIRED Which?"]);
    const [first] = events;
    const taskId = first && "task" in first ? first.task.id : "";
    const answer = { message: userMessage("this", { taskId }) };
    expect(await allTold(host.stream("SendStreamingMessage", answer))).toEqual([
      "task WORKING",
      "artifact answer",
      "status COMPLETED",
    ]);
  });

  it("streams the same events to all subscribers, on every instance", async () => {
    const { agent, next } = stepping();
    const store = memoryStore();
    const [runner, other] = [await serveA2a({ store, agent }), await serveA2a({ store })];
    const { id } = await begin(runner);
    const streams = [runner, runner, other].map((host) => host.stream("SubscribeToTask", { id }));
    for (const stream of streams)
      expect(describeEvent((await stream.next()).value as StreamEvent)).toBe("task WORKING");
    const eventTexts = streams.map(() => [] as string[]);
    for (let count = 0; count < 2; count += 1) {
      await next();
      for (const [index, stream] of streams.entries())
        eventTexts[index]?.push(describeEvent((await stream.next()).value as StreamEvent));
    }
    await next();
    for (const [index, stream] of streams.entries())
      eventTexts[index]?.push(...(await allTold(stream)));
    for (const events of eventTexts) {
      expect(events).toEqual([
        "status WORKING reading",
        "artifact artifact-1",
        "artifact answer",
        "status COMPLETED",
      ]);
    }
  });

  it("continues a subscription of 1.0 after a question, and ends one of 0.3 there", async () => {
    const agent: Agent = async function* ({ answers }) {
      yield answers.length === 0
        ? { type: "question", prompt: "Which?" }
        : { type: "answer", text: "done" };
    };
    const store = memoryStore();
    const [one, other] = [await serveA2a({ store, agent }), await serveA2a({ store, agent })];
    const { task } = await one.result<{ task: A2aTask }>("SendMessage", greeting());
    const { id } = task;
    const older: unknown[] = [];
    for await (const event of one.stream("tasks/resubscribe", { id }, { version: "0.3" }))
      older.push(event);
    expect(older).toMatchObject([{ kind: "task", status: { state: "input-required" } }]);
    const streams = [one, other].map((host) => host.stream("SubscribeToTask", { id }));
    for (const stream of streams)
      expect(describeEvent((await stream.next()).value as StreamEvent)).toBe("task INPUT_REQUIRED");
    await other.result("SendMessage", { message: userMessage("this", { taskId: id }) });
    for (const stream of streams)
      expect((await allTold(stream)).slice(-2)).toEqual(["artifact answer", "status COMPLETED"]);
  });

  it("ends a stream when another instance cancels the task", async () => {
    const store = memoryStore();
    const gate = createGate();
    const [runner, other] = [
      await serveA2a({ store, agent: gate.agent, leaseMs: 40 }),
      await serveA2a({ store }),
    ];
    const { id } = await begin(runner);
    const stream = runner.stream("SubscribeToTask", { id });
    await stream.next();
    await other.result("CancelTask", { id });
    expect(await allTold(stream)).toEqual(["status CANCELED The task was canceled."]);
  });

  it("refuses a stream that cannot begin by one JSON response", async () => {
    const host = await serveA2a();
    for (const [method, params, code] of [
      ["SubscribeToTask", { id: "nothing" }, -32001],
      ["SendStreamingMessage", { message: userMessage("hi", { taskId: "nothing" }) }, -32001],
      ["SendStreamingMessage", {}, -32602],
    ] as const) {
      const { headers, error } = await host.ask(method, params);
      expect([headers.get("content-type"), error?.code]).toEqual(["application/json", code]);
    }
  });

  it("ends a stream with an error, without its cause, if the task becomes unreadable", async () => {
    const innerStore = memoryStore();
    let isAway = false;
    const get: typeof innerStore.get = (request) =>
      isAway ? Promise.reject(new Error("db at 10.0.0.7")) : innerStore.get(request);
    const gate = createGate();
    const [runner, other] = [
      await serveA2a({ store: innerStore, agent: gate.agent }),
      await serveA2a({ store: { ...innerStore, get } }),
    ];
    const { id } = await begin(runner);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SubscribeToTask",
      params: { id },
    });
    const response = await other.post(body, { version: "1.0" });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    isAway = true;
    const all: string[] = [];
    for await (const data of dataOf(response)) all.push(data);
    expect(JSON.parse(all.at(-1) ?? "")).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(all.join("") + other.lines.join("")).not.toContain("10.0.0.7");
    gate.letGo();
  });
});

/** A client of its own socket, which reads only when it is told to. */
function subscribe(host: A2aHost, id: string): { socket: Socket; received: () => string } {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SubscribeToTask", params: { id } });
  const socket = connect(host.port, "127.0.0.1");
  let receivedText = "";
  socket.on("data", (chunk) => {
    receivedText += chunk.toString();
  });
  socket.on("error", () => {});
  const head = `POST /a2a HTTP/1.1\r\nHost: 127.0.0.1\r\nA2A-Version: 1.0\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(head + body);
  return { socket, received: () => receivedText };
}

describe("a client of a stream", () => {
  it("ends only the stream of a client that hangs up", async () => {
    const { agent, next } = stepping();
    const store = memoryStore();
    let reads = 0;
    const get: typeof store.get = (request) => {
      reads += 1;
      return store.get(request);
    };
    const [runner, other] = [
      await serveA2a({ store, agent }),
      await serveA2a({ store: { ...store, get } }),
    ];
    const { id } = await begin(runner);
    const staying = runner.stream("SubscribeToTask", { id });
    await staying.next();
    const { socket, received } = subscribe(other, id);
    await eventually(() => received().includes("data: "));
    socket.destroy();
    // Whoever still followed would read the store once in that time.
    await eventually(async () => {
      const readsThen = reads;
      await new Promise((resolve) => setTimeout(resolve, 450));
      return reads === readsThen;
    });
    for (let count = 0; count < 3; count += 1) await next();
    expect((await allTold(staying)).at(-1)).toBe("status COMPLETED");
  });

  it("ends a stream at once when the server closes", async () => {
    const gate = createGate();
    const host = await startA2aHost({ agent: gate.agent });
    const stream = host.stream("SubscribeToTask", { id: (await begin(host)).id });
    await stream.next();
    const otherEvents = allTold(stream);
    await host.close();
    expect(await otherEvents).toEqual(["status FAILED The agent ran and failed."]);
  });
});

async function open(openCallsPerCaller: number) {
  const gate = createGate();
  const host = await serveA2a({
    agent: gate.agent,
    limits: { runsPerCaller: 100, openCallsPerCaller },
  });
  return { ...gate, host };
}

describe("a stream beyond the limit of its caller", () => {
  it("refuses a stream beyond the limit of its caller with 429, and begins no task for it", async () => {
    const { host, started, letGo } = await open(1);
    const first = host.stream("SendStreamingMessage", greeting());
    await first.next();
    const refusal = await host.ask("SendStreamingMessage", greeting());
    expect([refusal.status, refusal.error?.message]).toEqual([
      429,
      "Too many requests; try again later.",
    ]);
    expect(JSON.stringify(refusal.error)).toMatch(/rate_limited/i);
    expect(started).toHaveLength(1);
    letGo();
    for await (const _event of first);
    const again = host.stream("SendStreamingMessage", greeting());
    expect((await again.next()).value).toBeDefined();
    for await (const _event of again);
  });

  it("frees the place of a client that left without reading", async () => {
    const { host, letGo } = await open(1);
    const configuration = { returnImmediately: true };
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", {
      ...greeting(),
      configuration,
    });
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "SubscribeToTask",
      params: { id: task.id },
    });
    const subscribe = async ({ signal }: AbortController) => {
      const response = await host.post(body, { version: "1.0", signal });
      if (response.status !== 200) await response.text();
      return response.status;
    };
    const [leaving, staying] = [new AbortController(), new AbortController()];
    expect(await subscribe(leaving)).toBe(200);
    expect(await subscribe(staying)).toBe(429);
    leaving.abort();
    await eventually(async () => (await subscribe(staying)) === 200);
    expect(await subscribe(staying)).toBe(429);
    staying.abort();
    letGo();
  });

  it("frees the places of streams that were refused or failed", async () => {
    const { host, letGo } = await open(1);
    for (let i = 0; i < 3; i++) {
      expect((await host.ask("SubscribeToTask", { id: "no-such-task" })).error?.message).toMatch(
        /never known/,
      );
    }
    letGo();
    const stream = host.stream("SendStreamingMessage", greeting());
    expect((await stream.next()).value).toBeDefined();
    for await (const _event of stream);
  });
});

const secret = "hunter2-do-not-tell";
let host: A2aHost;
let authenticatedHost: A2aHost;

beforeAll(async () => {
  host = await startA2aHost({ config: { tenant: "acme" } });
  const authenticator = createBearerAuthenticator({ readTokens: async () => ["token"] });
  authenticatedHost = await startA2aHost({ authenticator });
});

afterAll(async () => {
  await host.close();
  await authenticatedHost.close();
});

const request = (more: object) =>
  JSON.stringify({ jsonrpc: "2.0", id: "1", method: "GetTask", params: {}, ...more });
const sending = (params: object) =>
  request({ method: "SendMessage", params: { tenant: "acme", ...params } });
const message = userMessage("hi");

async function answerTo(body: string, options: CallOptions = {}) {
  const response = await host.post(body, { version: "1.0", ...options });
  const text = await response.text();
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(text).not.toMatch(/hunter2|Error:|at .*\.ts|\[object/);
  return { status: response.status, ...(JSON.parse(text) as A2aAnswer<unknown>) };
}

describe("an invalid body", () => {
  it.each<[string, string, number, string | null]>([
    ["an empty body", "", -32700, null],
    ["a truncated body", request({}).slice(0, -1), -32700, null],
    ["a batch", `[${request({})}]`, -32600, null],
    ["a number", "7", -32600, null],
    ["a body without JSON-RPC", request({ jsonrpc: "1.0" }), -32600, "1"],
    ["an id with a fraction", request({ id: 1.5 }), -32600, null],
    ["an invalid method", request({ method: 7 }), -32600, "1"],
  ])(
    "refuses %s as a request in 1.0 and 0.3, and repeats its id if it is readable",
    async (_name, body, code, own) => {
      const first = await answerTo(body);
      expect([first.status, first.id, first.error?.code, Array.isArray(first.error?.data)]).toEqual(
        [200, own, code, true],
      );
      for (const version of ["0.3", undefined]) {
        const { id, error } = await answerTo(body, { version });
        expect([id, error?.code, Array.isArray(error?.data)]).toEqual([own, code, false]);
      }
    },
  );

  it("answers a request without an id with the id null, like the official SDK's server", async () => {
    const pendingCall = request({
      id: undefined,
      method: "SendMessage",
      params: { tenant: "acme", message },
    });
    expect(await answerTo(pendingCall)).toMatchObject({ id: null, result: { task: {} } });
    const unknown = request({ id: undefined, method: "Nothing" });
    expect(await answerTo(unknown)).toMatchObject({ id: null, error: { code: -32601 } });
  });
});

describe("a method", () => {
  it.each(["2.0", "0.2", "1", secret])(
    "refuses the version %s with the reason of A2A first",
    async (version) => {
      const { id, error } = await answerTo(request({}), { version });
      expect([id, error?.code]).toEqual(["1", -32009]);
      expect(error?.data[0]).toEqual({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "VERSION_NOT_SUPPORTED",
        domain: "a2a-protocol.org",
      });
    },
  );

  it("reads the version from the query", async () => {
    const { error } = await answerTo(request({}), {
      version: undefined,
      path: "/a2a?A2A-Version=2.0",
    });
    expect(error?.code).toBe(-32009);
  });
});

describe("params", () => {
  it.each<[string, string, string]>([
    ["by position", request({ method: "SendMessage", params: ["a"] }), ""],
    ["that are missing", request({ method: "SendMessage", params: undefined }), "message"],
    [
      "with a part of two contents",
      sending({ message: { ...message, parts: [{ text: secret, data: 1 }] } }),
      "message.parts.0",
    ],
    [
      "with the role of the agent",
      sending({ message: { ...message, role: "ROLE_AGENT" } }),
      "message.role",
    ],
    ["for another tenant", request({ params: { tenant: "other", id: "a" } }), "tenant"],
    ["without a tenant", request({ params: { id: "a" } }), "tenant"],
    ["for an empty tenant", request({ params: { tenant: "", id: "a" } }), "tenant"],
    [
      "that are missing although a tenant is required",
      request({ method: "GetExtendedAgentCard", params: undefined }),
      "tenant",
    ],
  ])("refuses params %s, and names the wrong field", async (_name, body, field) => {
    const { id, error } = await answerTo(body);
    expect([id, error?.code]).toEqual(["1", -32602]);
    const [own, badRequest] = error?.data ?? [];
    expect(own).toMatchObject({ reason: "INVALID_PARAMS", domain: "sekisho" });
    expect(badRequest).toMatchObject({ "@type": "type.googleapis.com/google.rpc.BadRequest" });
    const violation = expect.objectContaining({ field, description: expect.any(String) });
    expect(badRequest?.fieldViolations).toEqual(expect.arrayContaining([violation]));
  });

  it("names the fields of invalid params as 0.3 does, and requires no tenant there", async () => {
    const parts = [{ kind: "file", file: { bytes: "!", name: secret } }];
    const params = { message: { messageId: "m", role: "user", parts } };
    const { error } = await answerTo(request({ method: "message/send", params }), {
      version: "0.3",
    });
    expect([error?.code, error?.data.reason]).toEqual([-32602, "invalid_params"]);
    expect(error?.data.issues).toEqual([
      { path: "message.parts.0.file.bytes", message: "must be base64" },
    ]);
  });

  it("refuses a tenant in params unless one is configured", async () => {
    const headers = { authorization: "Bearer token" };
    const { error } = await authenticatedHost.ask(
      "GetTask",
      { tenant: "acme", id: "a" },
      { headers },
    );
    expect(error?.code).toBe(-32602);
    expect(
      (await authenticatedHost.ask("GetTask", { tenant: "", id: "a" }, { headers })).error?.code,
    ).toBe(-32001);
  });
});

describe("a content type", () => {
  it.each(["text/plain", "application/jsonp", "application/x-a2a+json"])(
    "refuses the content type %s",
    async (type) => {
      for (const version of ["1.0", undefined]) {
        const { id, error } = await answerTo(request({}), {
          version,
          headers: { "content-type": type },
        });
        expect([id, error?.code]).toEqual([null, -32005]);
      }
    },
  );

  it.each(["application/a2a+json", "Application/A2A+JSON; charset=utf-8"])(
    "accepts the content type %s",
    async (type) => {
      const { error } = await answerTo(request({ params: { tenant: "acme", id: "a" } }), {
        headers: { "content-type": type },
      });
      expect(error?.code).toBe(-32001);
    },
  );
});

describe("a refusal with a status", () => {
  it("answers 413 to a body that is too large, in any version", async () => {
    const body = " ".repeat(256 * 1024 + 1);
    const { status, id, error } = await answerTo(body);
    expect([status, id, error?.code, error?.data[0]?.reason]).toEqual([
      413,
      null,
      -32602,
      "PAYLOAD_TOO_LARGE",
    ]);
    expect((await answerTo(body, { version: undefined })).error?.data.reason).toBe(
      "payload_too_large",
    );
  });

  it.each([
    ["1.0", "GetTask"],
    ["0.3", "tasks/get"],
    ["0.3", "message/stream"],
  ])(
    "answers 401 in %s to an unknown caller, and says how to authenticate",
    async (version, method) => {
      const { status, headers, error } = await authenticatedHost.ask(
        method,
        { id: "a" },
        { version },
      );
      expect([status, headers.get("www-authenticate"), error?.code]).toEqual([
        401,
        "Bearer",
        -32066,
      ]);
    },
  );

  it("answers 405 to another HTTP method, and 404 to another path", async () => {
    const getResponse = await fetch(`${host.url}/a2a`);
    expect([getResponse.status, getResponse.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await host.post(request({}), { path: "/a2a/more" })).status).toBe(404);
  });
});

describe("hostile params", () => {
  it("answers any JSON params with a result or a specified error, without repeating a secret", async () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(secret, "acme", message, [message]),
    );
    const names =
      "tenant id message configuration metadata taskId url pageToken status __proto__".split(" ");
    const params = fc.dictionary(fc.constantFrom(...names), value);
    const methods =
      "SendMessage GetTask ListTasks CancelTask SubscribeToTask CreateTaskPushNotificationConfig";
    const older =
      "message/send tasks/get tasks/cancel tasks/resubscribe tasks/pushNotificationConfig/set";
    const method = fc.constantFrom(...methods.split(" "), ...older.split(" "));
    const version = fc.constantFrom("1.0", "0.3", "");
    await fc.assert(
      fc.asyncProperty(method, version, fc.oneof(params, value), async (name, path, params) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params });
        const response = await host.host.handle(
          post(body, { path: "/a2a", headers: { "a2a-version": path } }),
        );
        const { error } = await firstAnswer(response);
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
  it("logs one line per refusal, with operation, version, reason and only UUIDs as ids", async () => {
    const loggedHost = await serveA2a({ store: memoryStore() });
    const taskId = "6f1d4a3e-7b52-8c1f-9a55-2a6d3c0f7e11";
    await loggedHost.ask("tasks/get", { id: taskId }, { version: "0.3" });
    const sentMessage = userMessage(secret, { taskId: secret });
    await loggedHost.ask("SendMessage", { message: sentMessage });
    const lines = loggedHost.lines.map((line) => JSON.parse(line));
    const common = { level: "info", message: "request_refused", reason: "task_not_found" };
    expect(lines).toEqual([
      expect.objectContaining({ ...common, operation: "GetTask", version: "0.3", task_id: taskId }),
      expect.objectContaining({
        ...common,
        operation: "SendMessage",
        version: "1.0",
        request_id: sentMessage.messageId,
      }),
    ]);
    expect(loggedHost.lines.join("")).not.toContain(secret);
  });

  it("logs the request that began a task when its state forbids an operation", async () => {
    const loggedHost = await serveA2a({ store: memoryStore() });
    const message = userMessage("hi");
    const { task } = await loggedHost.result<{ task: A2aTask }>("SendMessage", { message });
    await loggedHost.ask("CancelTask", { id: task.id });
    await loggedHost.ask("SendMessage", { message: userMessage("more", { taskId: task.id }) });
    const refusedLines = loggedHost.lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === "request_refused");
    const ids = { task_id: task.id, request_id: message.messageId, reason: "invalid_state" };
    expect(refusedLines).toMatchObject([
      { ...ids, operation: "CancelTask" },
      { ...ids, operation: "SendMessage" },
    ]);
  });
});
