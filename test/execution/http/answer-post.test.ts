/** The HTTP face of the host: paths, statuses, who is let in, limits before anything is parsed, and hostile bytes. */
import { afterAll, describe, expect, it } from "@jest/globals";
import { responseSchema } from "@sekisho/contracts/envelope.ts";
import { errorDataSchema } from "@sekisho/contracts/error-data.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import { isAmbiguousOrTooDeep } from "@sekisho/runtime/repeated-keys.ts";
import { isNestedTooDeep, isTooDeep } from "@sekisho/runtime/untrusted-input.ts";
import fc from "fast-check";
import {
  type Answer,
  createGate,
  createTestHost,
  eventually,
  hello,
  post,
  yielding,
} from "../test-host.ts";

const request = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "execute_task", params: hello });

async function answerOf(response: Response): Promise<Answer> {
  expect(response.headers.get("content-type")).toBe("application/json");
  return (await response.json()) as Answer;
}

describe("paths", () => {
  it.each(["/", "/invocations"])("accepts POST %s with and without a query", async (path) => {
    const { host } = createTestHost();
    for (const query of ["", "?qualifier=DEFAULT"]) {
      const response = await host.handle(post(request, { path: path + query }));
      expect(response.status).toBe(200);
      expect((await answerOf(response)).result?.response_text).toBe("done");
    }
  });

  it("reports on GET /ping the activity to the platform, and only health to other callers", async () => {
    const gate = createGate();
    const bootSeconds = Math.floor(Date.now() / 1000);
    const clock = { nowMs: 0 };
    const { host, call } = createTestHost({
      agent: gate.agent,
      syncBudgetMs: 0,
      now: () => clock.nowMs,
    });
    const stranger = async () => (await host.handle(new Request("http://127.0.0.1/ping"))).json();
    const platform = async () => {
      const exchange = {
        method: "GET",
        path: "/ping",
        platformPrincipal: "agentcore",
        canStream: false,
      };
      const { body } = await host.exchange({
        ...exchange,
        query: () => undefined,
        header: () => undefined,
        readBody: async () => new Uint8Array(),
        openSignal: () => new AbortController().signal,
      });
      return JSON.parse(String(body));
    };
    const bySecond = (seconds: number) => (clock.nowMs = (bootSeconds + seconds) * 1000 + 999);
    const stampStatus = (status: string, seconds: number) => ({
      status,
      time_of_last_update: bootSeconds + seconds,
    });
    bySecond(1);
    expect([await stranger(), await platform()]).toEqual([
      { status: "Healthy" },
      stampStatus("Healthy", 1),
    ]);
    bySecond(2);
    const { result } = await call("execute_task", hello);
    bySecond(3);
    expect([await stranger(), await platform()]).toEqual([
      { status: "Healthy" },
      stampStatus("HealthyBusy", 2),
    ]);
    bySecond(4);
    expect(await platform()).toEqual(stampStatus("HealthyBusy", 2));
    gate.letGo();
    await call("get_task", { task_id: result?.task_id, wait_ms: 10_000 });
    await eventually(() => !host.busy());
    bySecond(5);
    expect([await platform(), await platform()]).toEqual([
      stampStatus("Healthy", 4),
      stampStatus("Healthy", 4),
    ]);
  });

  it.each([
    ["/healthz", { status: "ok" }],
    [
      "/openrpc.json",
      expect.objectContaining({ openrpc: expect.any(String), methods: expect.any(Array) }),
    ],
  ])("serves GET %s without credentials", async (path, statusAndReason) => {
    const { host } = createTestHost({
      authenticator: createBearerAuthenticator({ readTokens: async () => ["t"] }),
    });
    const response = await host.handle(new Request(`http://127.0.0.1${path}`));
    expect([response.status, await response.json()]).toEqual([200, statusAndReason]);
  });

  it.each([
    ["GET", "/nothing", 404, null],
    ["POST", "/rpc", 404, null],
    ["GET", "/", 405, "POST"],
    ["DELETE", "/invocations", 405, "POST"],
    ["POST", "/ping", 405, "GET, HEAD"],
    ["POST", "/openrpc.json", 405, "GET, HEAD"],
  ])("answers %s %s with %i and an empty body", async (method, path, status, allow) => {
    const response = await createTestHost().host.handle(
      new Request(`http://127.0.0.1${path}`, { method }),
    );
    expect([response.status, response.headers.get("allow"), await response.text()]).toEqual([
      status,
      allow,
      "",
    ]);
  });
});

describe("the bearer authenticator", () => {
  const authenticator = createBearerAuthenticator({
    readTokens: async () => ["old-token", "new-token"],
  });

  it.each(["Bearer old-token", "Bearer new-token", "bearer new-token"])(
    "accepts the header %s",
    async (authorization) => {
      const { call } = createTestHost({ authenticator });
      expect(
        (await call("execute_task", hello, { headers: { authorization } })).result?.status,
      ).toBe("success");
    },
  );

  it.each<[string, Record<string, string>]>([
    ["no header", {}],
    ["an empty header", { authorization: "" }],
    ["no token", { authorization: "Bearer " }],
    ["another token", { authorization: "Bearer other" }],
    ["the beginning of a token", { authorization: "Bearer old-toke" }],
    ["a token and more characters", { authorization: "Bearer old-token2" }],
    ["two tokens", { authorization: "Bearer old-token new-token" }],
    ["another scheme", { authorization: "Basic old-token" }],
  ])("answers 401 to a request with %s and names the Bearer scheme", async (_name, headers) => {
    const { host, lines } = createTestHost({ authenticator });
    const response = await host.handle(post(request, { headers }));
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    const { id, error } = await answerOf(response);
    expect([id, error?.code]).toEqual([null, -32066]);
    expect(JSON.stringify(error) + lines.join("")).not.toMatch(/old-toke|other/);
  });

  it("refuses with 200 on /invocations, where the platform would replace the body", async () => {
    const { host } = createTestHost({ authenticator });
    const response = await host.handle(post(request, { path: "/invocations" }));
    expect([response.status, (await answerOf(response)).error?.data.reason]).toEqual([
      200,
      "unauthenticated",
    ]);
  });

  it.each([[[]], [[""]]])(
    "refuses every token when the configured tokens are %j",
    async (tokens) => {
      const { host } = createTestHost({
        authenticator: createBearerAuthenticator({ readTokens: async () => tokens }),
      });
      for (const authorization of ["Bearer", "Bearer ", "Bearer x"]) {
        expect((await host.handle(post(request, { headers: { authorization } }))).status).toBe(401);
      }
    },
  );

  it("answers unavailable when the tokens cannot be read, and hides the reason", async () => {
    const readTokens = () => Promise.reject(new Error("vault at 10.0.0.7"));
    const { host, lines } = createTestHost({
      authenticator: createBearerAuthenticator({ readTokens }),
    });
    const response = await host.handle(post(request, { headers: { authorization: "Bearer x" } }));
    const { error } = await answerOf(response);
    expect(error?.data).toEqual({ reason: "unavailable", retryable: true });
    expect(lines.join("")).not.toContain("10.0.0.7");
  });
});

describe("a host without an authenticator", () => {
  it.each([
    ["a page of another site", { origin: "https://evil.example" }],
    ["a page in a sandboxed frame", { origin: "null" }],
    ["a foreign host name that resolves to this machine", { host: "evil.example:8080" }],
    ["a host that looks like loopback", { host: "127.0.0.1.evil.example" }],
  ])("refuses %s", async (_name, headers) => {
    const response = await createTestHost().host.handle(post(request, { headers }));
    expect(response.status).toBe(401);
  });

  it.each(["127.0.0.1:8080", "localhost:8080", "[::1]:8080"])(
    "serves a request for the host %s",
    async (host) => {
      const response = await createTestHost().host.handle(post(request, { headers: { host } }));
      expect(response.status).toBe(200);
    },
  );
});

describe("limits", () => {
  it.each([
    "text/plain",
    "application/jsonp",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
  ])("refuses the content type %s", async (type) => {
    const response = await createTestHost().host.handle(
      post(request, { headers: { "content-type": type } }),
    );
    const reason = (await answerOf(response)).error?.data.reason;
    expect([response.status, reason]).toEqual([200, "content_type_not_supported"]);
  });

  it.each([
    "application/json",
    "Application/JSON; charset=utf-8",
    "application/json ;charset=UTF-8",
    "application/json-rpc",
  ])("accepts the content type %s", async (type) => {
    const response = await createTestHost().host.handle(
      post(request, { headers: { "content-type": type } }),
    );
    expect((await answerOf(response)).result?.status).toBe("success");
  });

  it("answers 413 without reading a body that is announced as too large", async () => {
    let pullCount = 0;
    const body = new ReadableStream<Uint8Array>(
      { pull: () => void pullCount++ },
      { highWaterMark: 0 },
    );
    const headers = { "content-length": String(256 * 1024 + 1) };
    const response = await createTestHost().host.handle(post(body, { headers }));
    expect([response.status, (await answerOf(response)).error?.code, pullCount]).toEqual([
      413, -32075, 0,
    ]);
  });

  it.each([
    ["exactly the limit", 0, 200],
    ["one byte more, without a declared length", 1, 413],
  ])("applies the size limit to a body of %s", async (_name, extra, status) => {
    const bytes = new Uint8Array(256 * 1024 + extra).fill(0x20);
    bytes.set(new TextEncoder().encode(request));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 50_000)
          controller.enqueue(bytes.subarray(at, at + 50_000));
        controller.close();
      },
    });
    expect((await createTestHost().host.handle(post(body))).status).toBe(status);
  });

  it.each([
    ["that never ends", () => new Promise<void>(() => {})],
    ["that breaks off", () => Promise.reject(new Error("reset by 10.0.0.7"))],
  ])(
    "answers unavailable to a body %s, so that the request may be sent again",
    async (_name, pull) => {
      const { host } = createTestHost({ bodyTimeoutMs: 20 });
      const response = await host.handle(post(new ReadableStream<Uint8Array>({ pull })));
      const { error } = await answerOf(response);
      expect([response.status, error?.data]).toEqual([
        200,
        { reason: "unavailable", retryable: true },
      ]);
    },
  );
});

describe("an invalid request", () => {
  const invalid = (body: unknown) => JSON.stringify(body);
  it.each<[string, string, number]>([
    ["an empty body", "", -32700],
    ["half a request", request.slice(0, -1), -32700],
    ["two requests in one", request + request, -32700],
    ["a batch", `[${request}]`, -32600],
    ["a byte order mark", `\ufeff${request}`, -32700],
    ["a repeated key", `${request.slice(0, -1)},"id":"2"}`, -32600],
    [
      "a repeated key, deep inside",
      request.replace('"params":{', '"params":{"x":[{"a":1,"\\u0061":2}],'),
      -32600,
    ],
    ["null", "null", -32600],
    ["a notification", invalid({ jsonrpc: "2.0", method: "execute_task", params: hello }), -32600],
    ["another version", invalid({ jsonrpc: "1.0", id: "1", method: "execute_task" }), -32600],
  ])("refuses %s", async (_name, body, code) => {
    const response = await createTestHost().host.handle(post(body));
    const { id, error } = await answerOf(response);
    expect([response.status, id, error?.code]).toEqual([200, null, code]);
  });

  it("refuses a body that is not UTF-8, even inside a string", async () => {
    const bytes = new Uint8Array(Buffer.from(request));
    bytes[bytes.length - 5] = 0xff;
    expect((await answerOf(await createTestHost().host.handle(post(bytes)))).error?.code).toBe(
      -32700,
    );
  });

  it.each(["execute", "constructor", "__proto__", "toString", "EXECUTE_TASK"])(
    "refuses the unknown method %s",
    async (method) => {
      const answer = await createTestHost().call(method, {}, { id: "mine" });
      expect([answer.id, answer.error?.code]).toEqual(["mine", -32601]);
    },
  );

  it("names the fields of invalid params but never their values", async () => {
    const params = { channel: 7, text: 7, user_id: "the secret value".repeat(9), bot_token: 5 };
    const answer = await createTestHost().call("execute_task", params, { id: 9 });
    expect([answer.id, answer.error?.code]).toEqual([9, -32602]);
    const issues = answer.error?.data.issues as { path: string }[];
    expect(issues.map(({ path }) => path).sort()).toEqual([
      "bot_token",
      "channel",
      "text",
      "user_id",
    ]);
    expect(JSON.stringify(answer)).not.toContain("secret");
  });

  it("refuses params by position", async () => {
    expect((await createTestHost().call("execute_task", ["C1", "hello"])).error?.code).toBe(-32602);
  });
});

const nest = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Strings of what an ill-made count would stumble over. */
const trap = fc.string({ unit: fc.constantFrom("[", "{", '"', "\\", "]", "関") });

const json = fc.jsonValue({ stringUnit: fc.constantFrom("[", "{", '"', "\\", "]", "関") });

describe("JSON", () => {
  it("counts JSON as too deep from 101 levels on, regardless of brackets in its texts", () => {
    fc.assert(
      fc.property(fc.integer({ min: 95, max: 105 }), trap, json, (levels, text, value) => {
        const whole = `${`{${JSON.stringify(text)}:`.repeat(levels)}${JSON.stringify(value)}${"}".repeat(levels)}`;
        expect(isTooDeep(Buffer.from(whole))).toBe(levels + depthOf(value) > 100);
        expect(isNestedTooDeep(JSON.parse(whole))).toBe(levels + depthOf(value) > 100);
        expect(isAmbiguousOrTooDeep({ json: whole, value: JSON.parse(whole) })).toBe(
          levels + depthOf(value) > 100,
        );
      }),
    );
  });
});

describe("a deeply nested request", () => {
  it.each([101, 5000, 60_000])(
    "refuses a request with %i levels and logs no error",
    async (levels) => {
      const { host, lines } = createTestHost();
      const body = `{"jsonrpc":"2.0","id":"1","method":"execute_task","params":{"channel":"C1","text":"t","x":${"[".repeat(levels)}${"]".repeat(levels)}}}`;
      const answer = await host.handle(post(body));
      expect(await answer.json()).toMatchObject({ id: null, error: { code: -32600 } });
      expect(lines.map((line) => JSON.parse(line).level)).toEqual(["info"]);
    },
  );

  it("accepts a request at the limit of nesting", async () => {
    const { call } = createTestHost();
    expect((await call("execute_task", { ...hello, x: nest(98) })).result?.status).toBe("success");
  });
});

describe("half a surrogate pair", () => {
  it("replaces an unpaired surrogate in a request and keeps the rest of the text", async () => {
    const agent: Agent = async function* ({ channel, text }) {
      yield { type: "answer", text: `${channel} ${text}` };
    };
    const { host } = createTestHost({ agent });
    const params = '{"channel":"C\\uD800","text":"a\\ud83c\\udfef b\\udfef \\\\ud800"}';
    const answer = await host.handle(
      post(`{"jsonrpc":"2.0","id":"1","method":"execute_task","params":${params}}`),
    );
    expect((await answerOf(answer)).result?.response_text).toBe("C\ufffd a🏯 b\ufffd \\ud800");
  });

  it("replaces an unpaired surrogate in the output of an agent", async () => {
    const artifact = { name: "a\ud83c.txt", data: { "k\ud83c": ["v\udfef"] } };
    const { host } = createTestHost({
      agent: yielding(
        { type: "artifact", artifact },
        { type: "answer", text: "done \ud83c \\ud83c" },
      ),
    });
    const body = await (await host.handle(post(request))).text();
    expect(body).not.toMatch(/(?<!\\)\\u[dD]/);
    expect(JSON.parse(body).result).toMatchObject({
      response_text: "done \ufffd \\ud83c",
      artifacts: [{ name: "a\ufffd.txt", data: { "k\ufffd": ["v\ufffd"] } }],
    });
  });
});

describe("a deeply nested output of an agent", () => {
  it.each<[string, Parameters<typeof yielding>]>([
    ["in an artifact", [{ type: "artifact", artifact: { data: nest(101) } }]],
    ["in its token usage", [{ type: "answer", text: "done", usage: { deep: nest(101) } }]],
    ["beyond the stack", [{ type: "artifact", artifact: { data: nest(50_000) } }]],
  ])("fails a task whose output is nested too deeply: %s", async (_what, updates) => {
    const { call } = createTestHost({
      agent: yielding(...updates, { type: "answer", text: "done" }),
    });
    expect((await call("execute_task", hello)).error?.data.reason).toBe("execution_failed");
  });
});

const secret = "hunter2-do-not-tell";
const { host, lines } = createTestHost({
  agent: createEchoAgent({ sleep: async () => {} }),
  syncBudgetMs: 0,
});

/** Text that must not come back in an error, nor be logged, wherever in a request it stood. */
const secretText = fc.string({ unit: "binary", maxLength: 20 }).map((text) => `${secret}${text}`);

const value = fc.oneof(
  secretText,
  fc.jsonValue(),
  fc.constantFrom("2.0", "execute_task", "get_task", "C1", -1, Number.MAX_VALUE, null),
);

const names =
  "jsonrpc id method params channel text task_id request_id wait_ms __proto__ history".split(" ");

const almostParams = fc.dictionary(fc.constantFrom(...names), value);

const almostRequest = fc.record(
  {
    jsonrpc: fc.oneof(fc.constant("2.0"), value),
    id: fc.oneof(fc.uuid(), fc.integer(), value),
    method: fc.constantFrom(
      "execute_task",
      "get_task",
      "cancel_task",
      "answer_task",
      "rpc.discover",
      "rpc.x",
      secret,
    ),
    params: fc.oneof(almostParams, value),
  },
  { requiredKeys: [] },
);

async function expectContract(body: Uint8Array<ArrayBuffer>): Promise<void> {
  const response = await host.handle(post(body));
  expect(response.status).toBe(body.byteLength > 256 * 1024 ? 413 : 200);
  const answer = responseSchema.parse(await response.json());
  if (!("error" in answer)) return;
  expect(errorDataSchema.safeParse(answer.error.data).success).toBe(true);
  expect(Object.keys(answer.error).sort()).toEqual(["code", "data", "message"]);
  expect(JSON.stringify(answer.error)).not.toContain(secret);
}

describe("hostile bodies", () => {
  afterAll(async () => {
    await host.stop({ graceMs: 1000 });
  });

  it("answers any bytes according to the contract", async () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 8000, size: "max" });
    await fc.assert(
      fc.asyncProperty(bytes, (body) => expectContract(new Uint8Array(body))),
      { numRuns: 200 },
    );
  });

  it("answers almost valid requests according to the contract", async () => {
    await fc.assert(
      fc.asyncProperty(almostRequest, (body) => expectContract(utf8(JSON.stringify(body)))),
      { numRuns: 1500 },
    );
  });

  it("answers requests with changed, cut or doubled bytes according to the contract", async () => {
    const request = JSON.stringify({
      jsonrpc: "2.0",
      id: "1",
      method: "execute_task",
      params: { channel: "C1", text: secret },
    });
    const whole = Buffer.from(request);
    const cut = fc.tuple(
      fc.nat(whole.length),
      fc.nat(whole.length),
      fc.uint8Array({ maxLength: 3 }),
    );
    await fc.assert(
      fc.asyncProperty(cut, ([from, to, insert]) =>
        expectContract(
          new Uint8Array(Buffer.concat([whole.subarray(0, from), insert, whole.subarray(to)])),
        ),
      ),
      { numRuns: 1500 },
    );
  });

  it.each([
    ["deep arrays", "[".repeat(250_000)],
    ["deep objects", '{"a":'.repeat(50_000)],
    ["deep but complete arrays", "[".repeat(100_000) + "]".repeat(100_000)],
    [
      "deep params",
      `{"jsonrpc":"2.0","id":"1","method":"get_task","params":${"[".repeat(1e5)}${"]".repeat(1e5)}}`,
    ],
    ["many keys", `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(",")}}`],
    ["a long number", `{"jsonrpc":"2.0","id":${"9".repeat(250_000)},"method":"get_task"}`],
    ["a long text", `{"jsonrpc":"2.0","id":"1","method":"${"x".repeat(250_000)}"}`],
    [
      "lone surrogates",
      '{"jsonrpc":"2.0","id":"\\ud800","method":"get_task","params":{"task_id":"\\udfff"}}',
    ],
    ["a text above the limit", " ".repeat(300_000)],
  ])("answers a body with %s according to the contract", async (_name, body) => {
    await expectContract(utf8(body));
  });

  it("logs no text of a hostile body and keeps working", async () => {
    expect(lines.join("")).not.toContain(secret);
    const { status } = await host.handle(new Request("http://127.0.0.1/healthz"));
    expect(status).toBe(200);
  });
});

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text));
}
