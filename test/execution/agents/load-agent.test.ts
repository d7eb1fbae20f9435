/** From the configuration to an agent: those that come with the house, files of the user's own in a real node, and bundled ones. */

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "@jest/globals";
import { bundle, writeFiles } from "@sekisho/cdk/bundle/bundle.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { formatSecretName } from "@sekisho/config/secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { runAgent } from "@sekisho/execution/agents/agent.ts";
import { createAgents, createBundledAgent } from "@sekisho/execution/agents/create-agent.ts";
import { loadAgent } from "@sekisho/execution/agents/load-agent.ts";
import { stop as stopEsbuild } from "esbuild";
import { agent as example } from "../../../examples/agent.ts";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { credentials } from "../../verification/transport/agentcore/sample.ts";
import { createTestHost, hello } from "../test-host.ts";
import { agentContext, agentTask } from "./agent-context.ts";
import { eventStream, startBedrockServer, stop, text } from "./bedrock-server.ts";
import { delta, startModelServer, stream } from "./model-server.ts";

const files = resolve(import.meta.dirname, "files");
const readSecret = async (reference: SecretReference) => `secret of ${formatSecretName(reference)}`;

async function loadedByNode(file: string, cwd = files): Promise<string> {
  const child = resolve(import.meta.dirname, "../children/load-agent.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [child, file, cwd]);
  return stdout;
}

describe("an agent", () => {
  it("loads the echo agent for the name echo", async () => {
    const agent = await loadAgent({ agent: "echo", cwd: "/", readSecret });
    expect(
      (await createTestHost({ agent }).call("execute_task", hello)).result?.response_text,
    ).toContain("echo agent");
  });

  it("loads a model agent for openai-compatible and reads its key from the reference", async () => {
    const server = await startModelServer((response) =>
      stream(response).end(`${delta("Hi")}data: [DONE]\n\n`),
    );
    const config = {
      type: "openai-compatible" as const,
      baseUrl: server.baseUrl,
      model: "m",
      apiKey: { env: "KEY" },
    };
    const agent = await loadAgent({ agent: config, cwd: "/", readSecret });
    expect(
      (await createTestHost({ agent }).call("execute_task", hello)).result?.response_text,
    ).toBe("Hi");
    expect(server.requests[0]?.headers.authorization).toBe("Bearer secret of KEY");
    await server.close();
  });

  it("loads a Bedrock agent with the endpoint and credentials of the environment", async () => {
    const answer = Buffer.concat([text("Hi"), stop("end_turn")]);
    const server = await startBedrockServer((response) => eventStream(response).end(answer));
    const variables = {
      AWS_ENDPOINT_URL: server.endpoint,
      AWS_REGION: "eu-north-1",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "secret",
    };
    Object.assign(process.env, variables);
    const agent = await loadAgent({
      agent: { type: "bedrock", modelId: "m" },
      cwd: "/",
      readSecret,
    });
    expect(
      (await createTestHost({ agent }).call("execute_task", hello)).result?.response_text,
    ).toBe("Hi");
    expect(server.requests[0]?.headers.authorization).toMatch(
      /AKIDEXAMPLE\/\d{8}\/eu-north-1\/bedrock\//,
    );
    for (const name of Object.keys(variables)) delete process.env[name];
    await server.close();
  });

  it("loads an agent file by its path relative to the configuration", async () => {
    const root = resolve(import.meta.dirname, "../../..");
    const lines = (await loadedByNode("./examples/agent.ts", root)).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { type: "progress", text: "Counting the words" },
      { type: "answer", text: "Hello! You wrote 2 words." },
    ]);
  });

  it.each([
    ["./nowhere.ts", /files\/nowhere\.ts does not exist\. The path is relative to/],
    [
      "./no-agent.ts",
      /no-agent\.ts does not export a function "agent"\. Begin the function with: export async/,
    ],
    ["./throws.ts", /throws\.ts could not be loaded: the model is not configured/],
    ["./imports-nothing.ts", /imports-nothing\.ts could not be loaded: .*not-there\.ts/],
  ])("explains what is wrong with the agent file %s and what to do", async (file, message) => {
    expect(await loadedByNode(file)).toMatch(message);
  });

  it("runs the example agent, which refuses a blank text with plan_error", async () => {
    const { call } = createTestHost({ agent: example });
    const { result } = await call("execute_task", {
      ...hello,
      text: "one two three",
      user_id: "U1",
    });
    expect(result?.response_text).toBe("Hello! You wrote 3 words.");
    expect((await call("execute_task", { ...hello, text: " " })).error?.data.reason).toBe(
      "plan_error",
    );
  });
});

const folder = folderOfFile();
afterAll(stopEsbuild);
const dependencies = {
  ...{ config: "echo", region: undefined, readSecret: async () => "" },
  credentials: async () => credentials,
} as const;

it("loads a bundled agent when it is created and not before", () => {
  const createAgent = createBundledAgent(join(folder, "nowhere"));
  expect(() => createAgent(dependencies)).toThrow(/agent\.cjs/);
});

it("offers the feedback function of an agent file, loaded directly or from the bundle", async () => {
  const own = join(folder, "feedback");
  mkdirSync(own);
  const source =
    'export async function* agent() {}\nexport const feedback = ({ vote }) => "got " + vote;\n';
  writeFileSync(join(own, "agent.mjs"), source);
  const config = parseConfig({ json: { execution: { agent: "./agent.mjs" } } });
  writeFiles({ ...bundle({ name: "container", config, configDirectory: own }), folder: own });
  const agent = createBundledAgent(own)({ ...dependencies, config: "./agent.mjs" });
  const vote = { vote: "up", voterId: "v", requestId: "r", taskId: "t", caller: "c" } as const;
  expect(agent.feedback?.(vote)).toBe("got up");
  expect(await loadedByNode("./agent.mjs", own)).toContain("got up");
});

it("recognizes an error of the host although the bundle has its own class SekishoError", async () => {
  writeFiles({
    ...bundle({ name: "container", config: parseConfig({ json: {} }), configDirectory: "." }),
    folder,
  });
  const agent = createBundledAgent(folder)(dependencies);
  const attachments = [
    { id: "F1", name: "a.txt", url: "https://files.example/a", mimetype: "text/plain", size: 1 },
  ];
  const task = agentTask({ channel: "C1", text: "read files", attachments });
  const readAttachment = () => Promise.reject(new SekishoError("permission_denied"));
  const updates = [];
  for await (const update of runAgent(agent, task, { ...agentContext(), readAttachment }))
    updates.push(update);
  expect(updates).toEqual([
    { type: "answer", text: expect.stringContaining("a.txt: not read (permission_denied)") },
  ]);
});

it("throws an error that the host recognizes although the bundle has its own class SekishoError", async () => {
  const source = resolve(import.meta.dirname, "../../../contracts/errors.ts");
  const own = join(folder, "own");
  mkdirSync(own);
  writeFileSync(
    join(own, "throws.ts"),
    `import { SekishoError } from ${JSON.stringify(source)};
     export const agent = async function* () { throw new SekishoError("rate_limited", { details: { retry_after_ms: 7 } }); };`,
  );
  const config = parseConfig({ json: { execution: { agent: "./throws.ts" } } });
  writeFiles({ ...bundle({ name: "container", config, configDirectory: own }), folder: own });
  const agent = createBundledAgent(own)({ ...dependencies, config: "./throws.ts" });
  const updates = runAgent(agent, agentTask({ channel: "C1", text: "hello" }), agentContext());
  const thrown: unknown = await updates[Symbol.asyncIterator]()
    .next()
    .catch((error: unknown) => error);
  expect(Object.getPrototypeOf(thrown)).not.toBe(SekishoError.prototype);
  expect(thrown).toBeInstanceOf(SekishoError);
  expect(SekishoError.from(thrown)).toBe(thrown);
  expect(thrown).toMatchObject({
    reason: "rate_limited",
    certainty: "refused",
    details: { retry_after_ms: 7 },
  });
});

it("bundles an agent by name as a file of its own, which the host finds by that name", async () => {
  const own = join(folder, "named");
  mkdirSync(own);
  const source = (word: string) => `export const agent = async () => ${JSON.stringify(word)};\n`;
  writeFileSync(join(own, "main.ts"), source("main"));
  writeFileSync(join(own, "ops.ts"), source("ops"));
  const json = { execution: { agent: "./main.ts", agents: { ops: "./ops.ts", copy: "echo" } } };
  const config = parseConfig({ json });
  const { files } = bundle({ name: "container", config, configDirectory: own });
  expect([...files.keys()]).toEqual(
    expect.arrayContaining(["agent.cjs", "agent-ops.cjs", "agent-ops.cjs.map", "agent-copy.cjs"]),
  );
  writeFiles({ files, folder: own });
  const { config: _config, ...others } = dependencies;
  const agent = createAgents({
    ...{ execution: config.execution, createAgent: createBundledAgent(own), dependencies: others },
  });
  const answerOf = async (name?: string) => {
    const task = agentTask({ channel: "C1", text: "hello", ...(name && { agent: name }) });
    const updates = [];
    for await (const update of runAgent(agent, task, agentContext())) updates.push(update);
    return updates.at(-1);
  };
  expect(await answerOf()).toMatchObject({ type: "answer", text: "main" });
  expect(await answerOf("ops")).toMatchObject({ type: "answer", text: "ops" });
  expect(await answerOf("copy")).toMatchObject({ text: expect.stringContaining("hello") });
});

it("bundles the first of several agents once if there is no other main agent, and runs unnamed tasks with it", async () => {
  const own = join(folder, "only-named");
  mkdirSync(own);
  writeFileSync(join(own, "ops.ts"), 'export const agent = async () => "ops";\n');
  const json = { execution: { agents: { ops: "./ops.ts", copy: "echo" } } };
  const config = parseConfig({ json });
  const { execution } = config;
  const { files } = bundle({ name: "container", config, configDirectory: own });
  expect([...files.keys()].filter((name) => name.endsWith(".cjs"))).toEqual(
    expect.arrayContaining(["agent-ops.cjs", "agent-copy.cjs"]),
  );
  expect(files.has("agent.cjs")).toBe(false);
  writeFiles({ files, folder: own });
  const { config: _config, ...others } = dependencies;
  const agent = createAgents({
    // As the handler reads it from its folder.
    execution: JSON.parse(JSON.stringify(execution)),
    createAgent: createBundledAgent(own),
    dependencies: others,
  });
  const updates = [];
  for await (const update of runAgent(agent, agentTask(hello), agentContext()))
    updates.push(update);
  expect(updates.at(-1)).toMatchObject({ type: "answer", text: "ops" });
});
