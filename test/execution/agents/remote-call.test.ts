/** The call of an agent elsewhere, against real sockets: what it sends, and whether a failure may have done the work. */
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { type AgentTask, runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { createAgent } from "@sekisho/execution/agents/http.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { startAgentCoreStub } from "../../doubles/agentcore-stub.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { closeAfterTest, listen, serve } from "../../doubles/serving.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { credentials } from "../../verification/transport/agentcore/sample.ts";
import { agentContext, agentTask } from "./agent-context.ts";
import { bedrockText, frame, pythonRuntime, sse, typescriptRuntime } from "./http-servers.ts";

const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:111111111111:runtime/agent-abc123";
const session = "3f0f6b0e-5a35-8b0c-9d5e-0d7d5a6f3a11";
const endpoint = "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE";

afterEach(() => {
  delete process.env[endpoint];
});

type Run = { tokens?: string[]; signal?: AbortSignal; task?: Partial<AgentTask> };

/** The last update, and the line that a failure logs. */
async function run(options: object, { tokens = [], signal, task = {} }: Run = {}) {
  const json = { execution: { agent: { type: "http", ...options } } };
  const { agent: config } = parseConfig({ json }).execution;
  const agent = createAgent({
    ...{ config, region: undefined, credentials: async () => credentials },
    readSecret: async () => tokens.shift() ?? "",
  });
  const { log, entries } = collectLog({ service: "execution" });
  const context = { ...agentContext(signal, log), contextId: session };
  let last: TaskUpdate | undefined;
  for await (const update of runAgent(agent, agentTask({ text: "hi", ...task }), context))
    last = update;
  const [line] = entries();
  return { last, cause: line?.cause_kind, status: line?.status };
}

const failure = (lost: boolean) => ({ type: "failure", reason: "execution_failed", lost });
const bearer = { type: "bearer", token: { env: "KEY" } };

describe("a call of an agent elsewhere", () => {
  it.each([
    ...[400, 403, 404, 409, 422, 424, 429, 500, 503].map((status) => [status, false] as const),
    ...[408, 502, 504, 524].map((status) => [status, true] as const),
  ])("fails for status %s, and says whether the work may be done", async (status, lost) => {
    const { url, received } = await serve(() => new Response("hunter2", { status }));
    const { last, cause, status: loggedStatus } = await run({ url });
    expect(last).toEqual(failure(lost));
    expect(loggedStatus).toBe(status);
    expect(cause).toMatch(new RegExp(`^HTTP ${status}: (it (refuses|reports)|nothing takes)`));
    expect(received).toHaveLength(1);
  });

  it("follows no redirect", async () => {
    const other = await serve(() => Response.json("ok"));
    const { url } = await serve(() => Response.redirect(other.url, 307));
    expect((await run({ url })).last).toEqual(failure(false));
    expect(other.received).toEqual([]);
  });

  it("sends a refused request once more with a renewed token", async () => {
    const { url, received } = await serve(({ request }) =>
      request.headers.get("authorization") === "Bearer new"
        ? Response.json("ok")
        : new Response(null, { status: 401 }),
    );
    const renewed = await run({ url, authorizer: bearer }, { tokens: ["old", "new"] });
    expect(renewed.last).toEqual({ type: "answer", text: "ok" });
    expect(received).toHaveLength(2);
    const refused = await run({ url, authorizer: bearer }, { tokens: ["old", "older"] });
    expect(refused).toMatchObject({ last: failure(false), status: 401 });
    expect(received).toHaveLength(4);
  });

  it("sends a token in the configured header", async () => {
    const { url, received } = await serve(() => Response.json("ok"));
    const authorizer = { ...bearer, header: "X-Api-Key" };
    await run({ url, authorizer }, { tokens: ["a-key"] });
    const [headers] = received.map(({ request }) => request.headers);
    expect(headers?.get("x-api-key")).toBe("a-key");
    expect(headers?.has("authorization")).toBe(false);
  });

  it("sends nothing without a usable token", async () => {
    const { url, received } = await serve(() => Response.json("ok"));
    const { last, cause } = await run({ url, authorizer: bearer }, { tokens: ["a\nb"] });
    expect(last).toEqual(failure(false));
    expect(cause).toMatch(/^the authorizer has no credentials: \w+$/);
    expect(received).toEqual([]);
  });

  it("has certainly not reached a port that nobody listens on", async () => {
    const { last, cause } = await run({ url: `http://127.0.0.1:${await freePort()}/` });
    expect(last).toEqual(failure(false));
    expect(cause).toBe("unsent ECONNREFUSED");
  });

  it("may have done the work when the connection breaks before or within the response", async () => {
    const reset = await serve(() => {
      throw connectionReset;
    });
    expect((await run({ url: reset.url })).last).toEqual(failure(true));
    const cut = await serve(() => {
      const body = new ReadableStream({
        pull(controller) {
          controller.enqueue(Buffer.from(frame("Hel")));
          controller.error(new Error("cut"));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    expect((await run({ url: cut.url })).last).toEqual(failure(true));
  });

  it("may have done the work when the agent is silent for too long", async () => {
    const { url } = await serve(() => new Promise<Response>(() => {}));
    expect(await run({ url, idleTimeoutMs: 1000 })).toMatchObject({
      ...{ last: failure(true), cause: "ambiguous IdleTimeout" },
    });
  });

  it.each([
    ["another protocol", "SSH-2.0-hunter2\r\n", false],
    ["a broken header", "HTTP/1.1 200 OK\r\nhunter2 : 1\r\n\r\n{}", true],
    ["endless headers", `HTTP/1.1 200 OK\r\nx: ${"hunter2".repeat(20_000)}\r\n\r\n`, true],
    ["a broken length", "HTTP/1.1 200 OK\r\ncontent-length: hunter2\r\n\r\n{}", true],
  ])("tells after %s whether the work may be done", async (_what, bytes, lost) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(bytes));
    });
    const { last, cause } = await run({ url: `http://127.0.0.1:${await listen(server)}/` });
    expect(last).toEqual(failure(lost));
    expect(String(cause)).toContain("not_http");
    expect(String(cause)).not.toContain("hunter2");
  });

  it("fails for a response that is larger than any answer", async () => {
    const piece = Buffer.from(frame({ x: "x".repeat(1024 * 1024) }));
    const { url } = await serve(() => {
      const body = new ReadableStream({ pull: (controller) => controller.enqueue(piece) });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    expect(await run({ url })).toMatchObject({ last: failure(true), cause: "too_large" });
  });

  it("closes the connection when the task is canceled", async () => {
    const gone = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const { url } = await serve(({ request }) => {
      request.signal.addEventListener("abort", () => gone.resolve());
      started.resolve();
      return new Promise<Response>(() => {});
    });
    const cancel = new AbortController();
    const running = run({ url }, { signal: cancel.signal });
    await started.promise;
    cancel.abort();
    await Promise.all([running, gone.promise]);
    expect((await running).last).toEqual(failure(true));
  });
});

describe("a runtime of AgentCore", () => {
  async function startRuntime(answer: ReturnType<typeof pythonRuntime>, qualifier = "DEFAULT") {
    const stub = closeAfterTest(
      await startAgentCoreStub({
        ...{ runtimeArn, qualifier, credentials },
        handle: async (request) => {
          const body = new Uint8Array(await request.clone().arrayBuffer());
          return answer({ request, target: "/invocations", body });
        },
      }),
    );
    process.env[endpoint] = stub.endpoint;
    return stub;
  }

  it("gets signed calls of the conversation's session, and answers", async () => {
    const stub = await startRuntime(pythonRuntime((prompt) => ({ result: `re: ${prompt}` })));
    const { last } = await run({ runtimeArn });
    expect(stub.problems).toEqual([]);
    expect(last).toEqual({ type: "answer", text: "re: hi" });
    expect(stub.sessions).toEqual([session]);
  });

  it("gets calls at the configured endpoint", async () => {
    const stub = await startRuntime(() => sse(bedrockText("Hello")), "live");
    expect((await run({ runtimeArn, qualifier: "live" })).last).toEqual({
      type: "answer",
      text: "Hello",
    });
    expect(stub.problems).toEqual([]);
  });

  it("answers through the TypeScript SDK, which writes texts without JSON", async () => {
    await startRuntime(typescriptRuntime(["Hel", "lo\n", "world"]));
    expect((await run({ runtimeArn })).last).toEqual({ type: "answer", text: "Hello\nworld" });
  });

  it("fails with the status of the platform when the container fails", async () => {
    await startRuntime(() => Response.json({ error: "hunter2" }, { status: 500 }));
    expect(await run({ runtimeArn })).toMatchObject({ last: failure(false), status: 424 });
  });
});
