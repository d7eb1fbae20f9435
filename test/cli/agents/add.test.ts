/** `sekisho agents add`: what it sees at an address, and what it writes. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { createNoneAuthenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { type Received, startWebServer } from "../../doubles/web-server.ts";
import { createTestHost } from "../../execution/test-host.ts";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { commandHere, failing, refusing } from "../aws/command-here.ts";

const folder = folderOfFile();
const file = join(folder, "sekisho.config.json");
const runtimeArn =
  "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/research-AbCdEf1234";

beforeEach(() => writeFileSync(file, '{\n  "routes": []\n}\n'));

const add = (args: string[], env: Record<string, string> = {}) =>
  commandHere(["agents", "add", "--config", file, ...args], env);
const written = () => JSON.parse(readFileSync(file, "utf8"));

async function serve(handle: (call: Received) => Response | Promise<Response>) {
  const server = closeAfterTest(await startWebServer({ handle: async (call) => handle(call) }));
  return `${server.url}/agent`;
}

describe("sekisho agents add", () => {
  it("writes a file of one's own by its path from the configuration, and keeps the rest", async () => {
    writeFileSync(join(folder, "Ops Agent.ts"), "");
    const { code, stdout } = await add([join(folder, "Ops Agent.ts")]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('+ execution.agents.ops-agent: "./Ops Agent.ts"'),
    });
    expect(written()).toEqual({
      routes: [],
      execution: { agents: { "ops-agent": "./Ops Agent.ts" } },
    });
  });

  it("writes a runtime of AgentCore by its ARN without a call", async () => {
    const { stdout } = await add([runtimeArn]);
    for (const protocol of ["ag-ui", "a2a"]) expect(stdout).toContain(`"${protocol}"`);
    expect(written().execution.agents).toEqual({ research: { type: "http", runtimeArn } });
  });

  it.each([
    ["", {}],
    ["/harness-endpoint/DEFAULT", { qualifier: "DEFAULT" }],
  ])("writes a harness of AgentCore by its ARN%s without a call", async (suffix, more) => {
    const harnessArn = runtimeArn.replace("runtime/", "harness/");
    const { stdout } = await add([harnessArn + suffix]);
    expect(stdout).toContain("a harness of AgentCore");
    expect(written().execution.agents).toEqual({
      research: { type: "harness", harnessArn, ...more },
    });
  });

  it("creates the configuration if there is none", async () => {
    const fresh = join(folder, "fresh.json");
    await commandHere(["agents", "add", "--config", fresh, runtimeArn], {});
    expect(JSON.parse(readFileSync(fresh, "utf8")).execution.agents.research).toBeDefined();
  });

  it.each<[string, () => Response]>([
    [
      "FastAPI",
      () =>
        Response.json(
          { detail: [{ type: "missing", loc: ["body", "threadId"], msg: "Field required" }] },
          { status: 422 },
        ),
    ],
    ["Express", () => Response.json({ error: "Invalid input: runId" }, { status: 400 })],
    [
      "a stream that fails",
      () =>
        new Response('data: {"type":"RUN_ERROR","message":"no messages"}\n\n', {
          headers: { "content-type": "text/event-stream" },
        }),
    ],
  ])("recognizes a server of AG-UI by how it refuses the request: %s", async (_what, answer) => {
    const url = await serve(({ request }) =>
      request.method === "POST" ? answer() : new Response(null, { status: 405 }),
    );
    const { stdout } = await add([url, "--name", "ui"]);
    expect(stdout).toContain("an agent that speaks AG-UI");
    expect(written().execution.agents.ui).toEqual({ type: "ag-ui", url });
  });

  it("recognizes an Execution zone by its discovery", async () => {
    const { host } = createTestHost({ authenticator: createNoneAuthenticator() });
    const url = await serve(({ request, body }) =>
      request.method === "POST"
        ? host.handle(
            new Request("http://127.0.0.1/", { method: "POST", body, headers: request.headers }),
          )
        : new Response(null, { status: 404 }),
    );
    await add([url]);
    expect(written().destinations.agent).toEqual({ transport: "https", url });
  });

  it("recognizes an A2A agent by its card at the origin", async () => {
    const card = { name: "Far", skills: [], supportedInterfaces: [] };
    const url = await serve(({ target }) =>
      target === "/.well-known/agent-card.json"
        ? Response.json(card)
        : new Response(null, { status: 404 }),
    );
    await add([url, "--name", "far"]);
    expect(written().destinations.far).toEqual({
      transport: "a2a",
      card: new URL("/.well-known/agent-card.json", url).href,
    });
  });

  it("routes all messages to the first destination of a new configuration", async () => {
    const url = await serve(({ target }) =>
      target === "/agent"
        ? Response.json({ name: "Far", skills: [], url: "http://127.0.0.1/" })
        : new Response(null, { status: 404 }),
    );
    const fresh = join(folder, "first.json");
    const added = await commandHere(["agents", "add", "--config", fresh, url], {});
    expect(added).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(fresh, "utf8"))).toEqual({
      destinations: { agent: { transport: "a2a", card: url } },
      routes: [{ destination: "agent" }],
    });
  });

  it("recognizes models, and writes the token's variable as their key and never the token", async () => {
    const url = await serve(({ target, request }) => {
      if (request.headers.get("authorization") !== "Bearer hunter2")
        return new Response(null, { status: 401 });
      return target === "/agent/v1/models"
        ? Response.json({ data: [{ id: "llama" }, { id: "other" }] })
        : new Response(null, { status: 404 });
    });
    await add([url, "--token-env", "MODEL_KEY"], { MODEL_KEY: "hunter2" });
    expect(written().execution.agents.agent).toEqual({
      ...{ type: "openai-compatible", baseUrl: `${url}/v1`, model: "llama" },
      apiKey: { env: "MODEL_KEY" },
    });
    expect(readFileSync(file, "utf8")).not.toContain("hunter2");
  });

  /** An API of models: the paths that it takes, with a request without members refused as OpenAI refuses it. */
  const apiOf = (...paths: string[]) =>
    serve(({ target, request }) => {
      if (!paths.includes(target)) return new Response(null, { status: 404 });
      return request.method === "GET"
        ? Response.json({ data: [{ id: "m" }] })
        : Response.json(
            { error: { message: "Missing required parameter: 'model'." } },
            { status: 400 },
          );
    });

  it.each([
    [
      ["/agent/v1/models", "/agent/v1/chat/completions", "/agent/v1/responses"],
      "openai-compatible",
    ],
    [["/agent/v1/models", "/agent/v1/responses"], "responses"],
    [["/agent/v1/models"], "openai-compatible"],
  ])("writes for an API with %j the agent %s", async (paths, type) => {
    const url = await apiOf(...paths);
    await add([`${url}/v1/responses`]);
    expect(written().execution.agents.agent).toEqual({ type, baseUrl: `${url}/v1`, model: "m" });
  });

  it("recognizes the Responses API of one agent, with its query and its token", async () => {
    const base = "/agent/endpoint/protocols/openai";
    const url = await apiOf(`${base}/responses?api-version=v1`);
    const address = `${url}/endpoint/protocols/openai?api-version=v1`;
    await add([address, "--token-env", "KEY"], { KEY: "hunter2" });
    expect(written().execution.agents.agent).toEqual({
      ...{ type: "responses", baseUrl: address },
      authorizer: { type: "bearer", token: { env: "KEY" } },
    });
  });

  it.each([
    [{ result: "hello" }, "a plain endpoint."],
    [{ ok: true }, "none of the protocols that Sekisho recognizes"],
  ])(
    "takes an endpoint that answers %j for one that takes a prompt, and says why",
    async (value, seen) => {
      const url = await serve(() => Response.json(value));
      const { stdout } = await add([url]);
      expect(stdout).toContain(seen);
      expect(written().execution.agents.agent).toEqual({ type: "http", url });
    },
  );

  it.each<[string, () => Response, string]>([
    [
      "has models that it does not list",
      () => Response.json({ error: { message: "no", param: "model" } }, { status: 400 }),
      "lists no models. Give the address that ends in /v1.",
    ],
    [
      "asks for credentials",
      () => new Response(null, { status: 401 }),
      "asks for credentials (HTTP 401). Give --token-env VARIABLE.",
    ],
    ["takes no POST", () => new Response(null, { status: 404 }), "(HTTP 404). Is the path right?"],
    [
      "is behind a proxy that does not reach it",
      () => new Response("<html>", { status: 502 }),
      "does not reach it (HTTP 502). Is it running?",
    ],
    [
      "answers with a web page",
      () => new Response("<html>", { headers: { "content-type": "text/html" } }),
      "answers with a web page (HTTP 200). Is the path right?",
    ],
  ])("writes nothing if the address %s", async (_what, answer, problem) => {
    const before = readFileSync(file, "utf8");
    expect(await add([await serve(answer)])).toMatchObject(refusing(2, problem));
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it.each<[string, string[], string]>([
    [
      "nothing that exists",
      ["./nowhere.ts"],
      "is no URL, no ARN of a runtime or a harness, and no file",
    ],
    ["an address where nothing listens", ["http://127.0.0.1:1/"], "Nothing answers at"],
    ["plain HTTP elsewhere", ["http://agents.example/"], "must be https"],
    ["two addresses", [runtimeArn, runtimeArn], "Give one URL, ARN or FILE."],
    [
      "a variable that is not set",
      ["http://127.0.0.1:1/", "--token-env", "NONE"],
      "NONE is not set",
    ],
    ["a name that the configuration refuses", [runtimeArn, "--name", "A B"], "lower-case letters"],
  ])("refuses %s", async (_what, args, problem) => {
    expect(await add(args)).toMatchObject(failing(2, problem));
  });

  it("refuses a name that is taken, and a file that is no JSON", async () => {
    await add([runtimeArn]);
    expect(await add([runtimeArn])).toMatchObject(failing(2, 'destination "research" already'));
    writeFileSync(file, "{ broken");
    expect(await add([runtimeArn])).toMatchObject(failing(2, "the file is not JSON"));
  });

  it("only shows what it would write with --dry-run", async () => {
    const fresh = join(folder, "unwritten.json");
    const { stdout } = await commandHere(
      ["agents", "add", "--config", fresh, "--dry-run", runtimeArn],
      {},
    );
    expect(stdout).toContain("+ execution.agents.research");
    expect(existsSync(fresh)).toBe(false);
  });
});
