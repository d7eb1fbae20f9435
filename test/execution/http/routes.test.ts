/** What is spoken at which path: A2A, the zone contract, both, another dialect's errors, and metrics. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { a2aSchema } from "@sekisho/config/a2a-schema.ts";
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { type Cards, createCards } from "@sekisho/execution/a2a/cards.ts";
import {
  type Authenticator,
  createNoneAuthenticator,
  createPlatformAuthenticator,
} from "@sekisho/execution/authenticator/authenticator.ts";
import { createBearerAuthenticator } from "@sekisho/execution/authenticator/create-authenticator.ts";
import { handleFunctionUrlRequests } from "@sekisho/execution/handlers/function-url-handler.ts";
import { type ExecutionServer, startExecutionServer } from "@sekisho/execution/http/server.ts";
import { createPrometheusMetrics } from "@sekisho/runtime/telemetry/prometheus-metrics.ts";
import { noSpans } from "@sekisho/runtime/telemetry/telemetry.ts";
import { readSamples, sumOf } from "../../runtime/telemetry/exposed.ts";
import { httpGet } from "../../runtime/telemetry/http-get.ts";
import { afterTest } from "../../tooling/cleanup.ts";
import { userMessage } from "../a2a/a2a-host.ts";
import { callerRoleArn, functionUrlEvent } from "../handlers/function-url.ts";
import { createGate, createTestHost, hello, post } from "../test-host.ts";

function cards(streaming = true): Promise<Cards> {
  return createCards({
    a2a: a2aSchema.parse({}),
    url: "http://127.0.0.1:8080/",
    authenticator: { type: "none" },
    streaming,
    push: false,
    readSecret: () => Promise.reject(new Error("no secrets here")),
  });
}

type Options = { path: string; version?: string; id?: string };

async function open(options: Parameters<typeof createTestHost>[0] = {}) {
  const { host } = createTestHost({ a2a: { cards: await cards(), firstSignMs: 5 }, ...options });
  async function call(
    method: string,
    params: unknown,
    { path, version, id = randomUUID() }: Options,
  ) {
    const headers: Record<string, string> = version === undefined ? {} : { "a2a-version": version };
    const response = await host.handle(
      post(JSON.stringify({ jsonrpc: "2.0", id, method, params }), { path, headers }),
    );
    const text = await response.text();
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      answer: text === "" ? undefined : JSON.parse(text),
    };
  }
  return { host, call };
}

const createParams = () => ({ message: userMessage("hi") });

describe.each(["/", "/invocations"])("POST %s", (path) => {
  it("accepts the methods of A2A and of the zone contract, each in its own shapes", async () => {
    const { call } = await open();
    const overA2a = await call("SendMessage", createParams(), { path });
    expect(overA2a.answer.result.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect((await call("execute_task", hello, { path })).answer.result.response_text).toBe("done");
    expect((await call("get_task", { task_id: "t" }, { path })).answer.error.code).toBe(-32061);
    expect((await call("tasks/get", { id: "t" }, { path })).answer.error.code).toBe(-32001);
  });

  it("writes the error of an unknown method in the caller's dialect", async () => {
    const { call } = await open();
    const { answer: zone } = await call("nobody/knows", {}, { path });
    const { answer: a2a } = await call("nobody/knows", {}, { path, version: "1.0" });
    expect([zone, a2a].map(({ error }) => [error.code, Array.isArray(error.data)])).toEqual([
      [-32601, false],
      [-32601, true],
    ]);
    expect((await call("execute_task", hello, { path, version: "1.0" })).answer.result.status).toBe(
      "success",
    );
  });

  it("writes a parse error in the caller's dialect", async () => {
    const { host } = await open();
    for (const version of ["", "1.0"]) {
      const response = await host.handle(
        post("no JSON", { path, headers: { "a2a-version": version } }),
      );
      const { error } = (await response.json()) as { error: { code: number; data: unknown } };
      expect([error.code, Array.isArray(error.data)]).toEqual([-32700, version !== ""]);
    }
  });

  it("refuses the methods of A2A when A2A is not served", async () => {
    const { call } = await open({ a2a: undefined });
    for (const method of ["SendMessage", "message/send"]) {
      const { status, answer } = await call(method, createParams(), { path, version: "1.0" });
      expect([status, answer.error.code, answer.error.data.reason]).toEqual([
        200,
        -32601,
        "method_not_found",
      ]);
    }
  });
});

describe("a host without A2A", () => {
  it.each([
    ["POST", "/a2a"],
    ["GET", "/a2a"],
    ["GET", "/.well-known/agent-card.json"],
    ["GET", "/.well-known/agent.json"],
  ])("answers 404 to %s %s", async (method, path) => {
    const { host } = await open({ a2a: undefined });
    expect((await host.handle(new Request(`http://127.0.0.1${path}`, { method }))).status).toBe(
      404,
    );
  });
});

describe("the card", () => {
  it.each(["/.well-known/agent-card.json", "/.well-known/agent.json"])(
    "serves a cacheable card to everyone at %s",
    async (path) => {
      const { host } = await open({ authenticator: createPlatformAuthenticator() });
      const get = (headers: Record<string, string>) =>
        host.handle(new Request(`http://127.0.0.1${path}`, { headers }));
      const first = await get({ "a2a-version": "1.0" });
      expect([first.status, await first.json()]).toMatchObject([
        200,
        { supportedInterfaces: [{ protocolVersion: "1.0" }, {}] },
      ]);
      const again = await get({
        "a2a-version": "1.0",
        "if-none-match": first.headers.get("etag") ?? "",
      });
      expect([again.status, await again.text()]).toEqual([304, ""]);
      const byQuery = await host.handle(new Request(`http://127.0.0.1${path}?A2A-Version=1.0`));
      expect(byQuery.headers.get("etag")).toBe(first.headers.get("etag"));
      expect(
        (await host.handle(new Request(`http://127.0.0.1${path}`, { method: "POST" }))).status,
      ).toBe(405);
      const head = await host.handle(
        new Request(`http://127.0.0.1${path}?A2A-Version=1.0`, { method: "HEAD" }),
      );
      expect([head.status, head.headers.get("etag")]).toEqual([200, first.headers.get("etag")]);
    },
  );
});

describe("a further path", () => {
  const dialects: Record<string, Dialect> = {
    "/vapora": "vapora",
    "/agents/clever": "cleveragents",
    "/a2a-like": "a2a",
  };

  it.each([
    ["/vapora", 404, -32000, false],
    ["/agents/clever", 200, -32001, true],
    ["/a2a-like", 200, -32001, true],
    ["/", 200, -32061, true],
  ])(
    "serves the zone contract at %s with the errors of its dialect",
    async (path, status, code, hasId) => {
      const { call } = await open({ dialects });
      const success = await call("execute_task", hello, { path, id: "r" });
      expect([success.status, success.answer.id, success.answer.result.response_text]).toEqual([
        200,
        "r",
        "done",
      ]);
      const failure = await call("get_task", { task_id: "t" }, { path, id: "r" });
      expect([failure.status, failure.answer.error.code, failure.answer.id]).toEqual([
        status,
        code,
        hasId ? "r" : undefined,
      ]);
    },
  );

  it("writes a parse error in the dialect of the path and refuses A2A there", async () => {
    const { host, call } = await open({ dialects });
    const response = await host.handle(post("no JSON", { path: "/vapora" }));
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: -32700 } },
    ]);
    expect((await call("SendMessage", createParams(), { path: "/vapora" })).answer.error.code).toBe(
      -32601,
    );
    expect((await host.handle(new Request("http://127.0.0.1/vapora"))).status).toBe(405);
  });
});

describe("an unstreamed response, as of a Function URL", () => {
  async function ask(method: string, params: unknown) {
    const gate = createGate();
    gate.letGo();
    const { host } = await open({
      agent: gate.agent,
      authenticator: createPlatformAuthenticator(),
      a2a: { cards: await cards(false) },
    });
    const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method, params });
    const event = {
      ...functionUrlEvent({ body, path: "/a2a" }),
      rawQueryString: "A2A-Version=1.0",
    };
    const { statusCode, body: text } = await handleFunctionUrlRequests({
      host,
      callers: [callerRoleArn],
    })(event);
    return { statusCode, ...JSON.parse(text), started: gate.started };
  }

  it.each([
    ["SendStreamingMessage", createParams()],
    ["SubscribeToTask", { id: "t" }],
  ])("refuses %s with A2A's code and starts nothing", async (method, params) => {
    const { statusCode, error, started } = await ask(method, params);
    expect([statusCode, error.code, error.data[0].reason]).toEqual([
      200,
      -32004,
      "UNSUPPORTED_OPERATION",
    ]);
    expect(started).toEqual([]);
  });

  it("accepts SendMessage", async () => {
    expect((await ask("SendMessage", createParams())).result.task.status.state).toBe(
      "TASK_STATE_COMPLETED",
    );
  });
});

async function startWithMetrics(
  authenticator: Authenticator,
  {
    served: servesMetrics = true,
    platformPrincipal,
  }: { served?: boolean; platformPrincipal?: string } = {},
): Promise<{ url: string; lines: string[]; call: (method: string) => Promise<unknown> }> {
  const { metrics, exposition, close } = createPrometheusMetrics();
  const telemetry = { metrics, spans: noSpans, ...(servesMetrics && { exposition }) };
  const { host, lines, call } = createTestHost({ authenticator, telemetry });
  const server: ExecutionServer = await startExecutionServer({
    host,
    port: 0,
    ...(platformPrincipal !== undefined && { platformPrincipal }),
  });
  afterTest(close, server.close);
  return { url: `${server.url}/metrics`, lines, call: (method) => call(method, {}) };
}

const bearer = () => createBearerAuthenticator({ readTokens: async () => ["a-good-token"] });

describe("GET /metrics of the Execution host", () => {
  it("serves metrics on loopback without an authenticator, but not to another host or origin", async () => {
    const { url, call } = await startWithMetrics(createNoneAuthenticator());
    await call("no_such_method");
    const { status, body } = await httpGet(url);
    expect(status).toBe(200);
    const refusalLabels = { zone: "execution", reason: "method_not_found" };
    expect(sumOf(readSamples(body), "sekisho_requests_refused_total", refusalLabels)).toBe(1);
    expect((await httpGet(url, { headers: { host: "evil.example" } })).status).toBe(401);
    expect((await httpGet(url, { headers: { origin: "https://evil.example" } })).status).toBe(401);
  });

  it("requires a token for the metrics and answers with an empty body without it", async () => {
    const { url, lines } = await startWithMetrics(bearer());
    expect(await httpGet(url)).toMatchObject({
      status: 401,
      body: "",
      headers: { "www-authenticate": "Bearer" },
    });
    const wrong = await httpGet(url, { headers: { authorization: "Bearer a-wrong-token" } });
    expect([wrong.status, wrong.body]).toEqual([401, ""]);
    const right = await httpGet(url, { headers: { authorization: "Bearer a-good-token" } });
    expect(right.status).toBe(200);
    expect(right.body).toContain("# TYPE sekisho_agent_seconds histogram");
    expect(lines.join("")).not.toContain('token"');
    expect(lines.filter((line) => line.includes("request_refused"))).toHaveLength(1);
  });

  it("answers 403 to a caller that the platform has not authenticated", async () => {
    const { url } = await startWithMetrics(createPlatformAuthenticator());
    expect(await httpGet(url)).toMatchObject({ status: 403, body: "" });
    const { url: platformUrl } = await startWithMetrics(createPlatformAuthenticator(), {
      platformPrincipal: "platform",
    });
    expect((await httpGet(platformUrl)).status).toBe(200);
  });

  it("answers 503 when the authenticator fails", async () => {
    const authenticate = async () => {
      throw new Error("The keys cannot be had.");
    };
    const { url, lines } = await startWithMetrics({ kind: "jwt", authenticate });
    expect(await httpGet(url)).toMatchObject({ status: 503, body: "" });
    expect(lines.join("")).toContain("metrics_failed");
    expect(lines.join("")).not.toContain("keys");
  });

  it("answers HEAD without a body, another method with 405, and 404 if it has no metrics", async () => {
    const { url } = await startWithMetrics(createNoneAuthenticator());
    expect(await httpGet(url, { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    const postResponse = await httpGet(url, { method: "POST" });
    expect([postResponse.status, postResponse.headers.allow]).toEqual([405, "GET, HEAD"]);
    const { url: none } = await startWithMetrics(createNoneAuthenticator(), { served: false });
    expect(await httpGet(none)).toMatchObject({ status: 404, body: "" });
  });
});
