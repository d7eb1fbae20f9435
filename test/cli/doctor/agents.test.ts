/** `sekisho doctor` and agents that the Execution host calls over HTTP. */
import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { checkAgent, listAgentChecks } from "@sekisho/sekisho/doctor/agents.ts";
import { json, raw } from "../../doubles/answers.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { type Received, startWebServer } from "../../doubles/web-server.ts";

const token = "a-token-of-this-test";
let requests: Received[] = [];
beforeEach(() => {
  requests = [];
});

const authorizer = { type: "bearer", token: { env: "AGENT_TOKEN" } };
const readSecret = async () => token;

async function check(agent: (url: string) => object, answer: () => Response) {
  const server = closeAfterTest(
    await startWebServer({
      async handle(call) {
        requests.push(call);
        return answer();
      },
    }),
  );
  return checkConfigured(agent(`${server.url}/agent`));
}

async function checkConfigured(agent: object) {
  const asker = { mode: "optional", zones: [{ issuer: "https://asker.example" }] };
  const config = parseConfig({ json: { execution: { agents: { far: agent }, asker } } });
  const { signal } = new AbortController();
  const finding = await checkAgent({ config, readSecret, signal }, "far");
  expect(JSON.stringify(finding)).not.toContain(token);
  return finding;
}

const agUi = (url: string) => ({ type: "ag-ui", url, authorizer });
const http = (url: string) => ({ type: "http", url, authorizer });
const model = (baseUrl: string) => ({
  ...{ type: "openai-compatible", baseUrl, model: "llama", apiKey: { env: "AGENT_TOKEN" } },
});
const responses = (url: string) => ({ type: "responses", baseUrl: url, authorizer });
const html = (status: number) => () =>
  new Response("<html>", { status, headers: { "content-type": "text/html" } });
const missing = (name: string) => () =>
  json({ detail: [{ loc: ["body", name], msg: token }] }, { status: 422 });
const stream = (data: string) => () =>
  raw(`data: ${data}\n\n`, { headers: { "content-type": "text/event-stream" } });

const failing = { status: "warning", what: expect.stringContaining("fails (HTTP 502)") };

describe("sekisho doctor and an agent that is called over HTTP", () => {
  it.each<[string, (url: string) => object, () => Response, object]>([
    ["AG-UI that refuses", agUi, missing("threadId"), { status: "ok" }],
    ["AG-UI that begins to fail", agUi, stream('{"type":"RUN_ERROR"}'), { status: "ok" }],
    [
      "a plain endpoint configured as AG-UI",
      agUi,
      missing("prompt"),
      {
        status: "failed",
        what: expect.stringMatching(/configured as ag-ui, but answers like a plain.*\(HTTP 422\)/),
        remedy: expect.stringContaining('"type": "http"'),
      },
    ],
    ["another stream configured as AG-UI", agUi, stream(token), { status: "warning" }],
    ["a wrong path", agUi, html(404), { status: "failed" }],
    [
      "AG-UI that fails",
      agUi,
      () => json({ error: token }, { status: 500 }),
      { status: "warning", remedy: "Look at its log." },
    ],
    [
      "a plain endpoint that is missing",
      http,
      html(404),
      { status: "ok", what: expect.stringContaining("a wrong path answers too") },
    ],
    [
      "a web page configured as a plain endpoint",
      http,
      html(200),
      { status: "warning", remedy: expect.stringContaining("/agent --dry-run says") },
    ],
    ["a server that says nothing", agUi, () => json({ ok: true }), { status: "warning" }],
    [
      "a wrong token",
      agUi,
      () => json({}, { status: 401 }),
      {
        status: "failed",
        what: "It could not authenticate the caller (HTTP 401).",
        remedy: "Check that the token or secret is the one it expects.",
      },
    ],
    ["a plain endpoint that takes no GET", http, html(405), { status: "ok" }],
    ["a plain endpoint that forbids", http, () => raw("", { status: 403 }), { status: "failed" }],
    ["a plain endpoint that is down", http, html(502), failing],
    ["AG-UI that is down", agUi, html(502), failing],
    ["a model that is down", model, html(502), failing],
    ["an agent behind the Responses API that is down", responses, html(502), failing],
    ["a model", model, () => json({ data: [{ id: "llama" }] }), { status: "ok" }],
    [
      "a model that is not listed",
      model,
      () => json({ data: [{ id: token }, null] }),
      { status: "warning", what: "It does not list the model llama among its 2." },
    ],
    ["a model without a list", model, html(404), { status: "warning" }],
    [
      "a model behind the Responses API",
      (url) => ({ ...responses(url), model: "llama" }),
      () => json({ data: [{ id: "llama" }] }),
      { status: "ok", what: "It offers the model llama." },
    ],
    ["an agent behind the Responses API", responses, html(404), { status: "ok" }],
  ])("checks %s", async (_what, agent, answer, finding) => {
    expect(await check(agent, answer)).toMatchObject(finding);
  });

  it("sends a message to none, and the credential to each", async () => {
    await check(agUi, missing("runId"));
    await check(http, html(405));
    await check(model, html(404));
    expect(requests.map(({ request, target }) => `${request.method} ${target}`)).toEqual([
      ...["POST /agent", "GET /agent", "GET /agent/models"],
    ]);
    const [first, ...others] = requests;
    expect(JSON.parse(Buffer.from(first?.body ?? "").toString())).toEqual({
      ...{ jsonrpc: "2.0", id: expect.any(String), method: "rpc.discover" },
    });
    for (const { body } of others) expect(body).toHaveLength(0);
    for (const { request } of requests)
      expect(request.headers.get("authorization")).toBe(`Bearer ${token}`);
  });

  it("explains an agent that cannot be reached", async () => {
    expect(await checkConfigured(http("http://127.0.0.1:1/"))).toMatchObject({
      ...{ status: "failed", what: expect.stringContaining("Nothing is listening") },
    });
  });

  it("calls no agent that acts as the person who asks, because nobody asks", async () => {
    const authorizer = { type: "token-exchange", tokenUrl: "http://127.0.0.1:1/" };
    const far = { type: "http", url: "http://127.0.0.1:1/", authorizer };
    expect(await checkConfigured(far)).toMatchObject({
      ...{ status: "ok", what: expect.stringContaining("is not called") },
    });
  });

  it.each([agUi, http, model])("calls no agent whose secret cannot be read", async (agent) => {
    const config = parseConfig({
      json: { execution: { agents: { far: agent("http://127.0.0.1:1/") } } },
    });
    const { signal } = new AbortController();
    const readMissing = () => Promise.reject(new Error(token));
    expect(await checkAgent({ config, readSecret: readMissing, signal }, "far")).toEqual({
      status: "failed",
      what: "Its secret AGENT_TOKEN cannot be read, so it was not called.",
      remedy: "Set it, or correct its name in the authorizer.",
    });
  });

  it("calls no agent of AgentCore", async () => {
    const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/far-AbCdEf1234";
    const harnessArn = "arn:aws:bedrock-agentcore:eu-central-1:123456789012:harness/far-AbCdEf1234";
    for (const agent of [
      { type: "http", runtimeArn },
      { type: "harness", harnessArn },
    ])
      expect(await checkConfigured(agent)).toMatchObject({ status: "ok" });
  });

  it("lists the agents that are called, also the main one", () => {
    const config = parseConfig({
      json: { execution: { agent: agUi("http://127.0.0.1:1/"), agents: { own: "./own.ts" } } },
    });
    expect(listAgentChecks({ config })).toEqual(["main agent"]);
  });
});
