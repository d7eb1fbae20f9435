/** The agents of the Execution zone in the configuration. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { loadExecutionConfig, parseConfig } from "@sekisho/config/load.ts";
import { createStageConfig } from "@sekisho/config/stage-config.ts";
import { folderOfFile } from "../tooling/cleanup.ts";
import { problemsOf } from "./problems-of.ts";

const runtimeArn = "arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/agent-AbCdEf1234";
const harnessArn = "arn:aws:bedrock-agentcore:eu-west-1:123456789012:harness/agent-AbCdEf1234";
const local = { type: "http", url: "http://127.0.0.1:9000/" };
const responses = { type: "responses", baseUrl: "http://127.0.0.1:9000/v1" };

describe("agents by name", () => {
  it("makes each agent a destination, routes to the first and runs unnamed tasks with it", () => {
    const config = parseConfig({
      json: { execution: { agents: { ops: "./ops.ts", far: local } } },
    });
    expect(config.destinations).toMatchObject({
      ops: { transport: "https", agent: "ops", idempotent: true },
      far: { transport: "https", agent: "far" },
    });
    expect(Object.keys(config.destinations)).toEqual(["ops", "far"]);
    expect(config.routes).toEqual([{ destination: ["ops"] }]);
    expect(config.execution.agent).toBe("./ops.ts");
  });

  it("keeps the main agent, the destinations and the routes that are written", () => {
    const config = parseConfig({
      json: {
        execution: { agent: "echo", agents: { ops: "./ops.ts" } },
        destinations: {
          local: { transport: "in-process" },
          ops: { transport: "in-process", agent: "ops", deadlineMs: 5000 },
        },
        routes: [{ word: "ops", destination: "ops" }, { destination: "local" }],
      },
    });
    expect(config.execution.agent).toBe("echo");
    expect(config.destinations.ops).toMatchObject({ transport: "in-process", deadlineMs: 5000 });
    expect(config.routes).toHaveLength(2);
  });

  it.each<[string, object, string]>([
    [
      "a destination with the name of an agent that it does not use",
      { execution: { agents: { ops: "./ops.ts" } }, destinations: { ops: { transport: "https" } } },
      'destinations.ops: is also the name of an agent; set destinations.ops.agent to "ops", or rename one of them',
    ],
    [
      "a destination over A2A with the name of an agent",
      { execution: { agents: { ops: "./ops.ts" } }, destinations: { ops: { transport: "a2a" } } },
      "destinations.ops: is also the name of an agent; rename one of them",
    ],
    [
      "destinations that are null",
      { execution: { agents: { ops: "./ops.ts" } }, destinations: null },
      "destinations: Invalid input: expected record, received null",
    ],
    [
      "an agent that does not exist",
      {
        execution: { agents: { ops: "./ops.ts" } },
        destinations: { other: { transport: "https", agent: "opps" } },
        routes: [{ destination: "other" }],
      },
      'destinations.other.agent: there is no agent "opps"; add it to execution.agents, or choose from: ops',
    ],
    [
      "a name with capital letters and a blank",
      { execution: { agents: { "My Agent": "echo" } } },
      'execution.agents["My Agent"]: must be lower-case letters, digits and hyphens',
    ],
  ])("rejects %s", (_what, json, problem) => {
    expect(problemsOf(json)).toContain(problem);
  });
});

describe("an agent elsewhere", () => {
  it.each<[string, object, string]>([
    [
      "no target",
      { type: "ag-ui" },
      "execution.agent.url: is needed, or runtimeArn instead of it; set one of the two",
    ],
    [
      "two targets",
      { ...local, runtimeArn },
      "execution.agent.url: is needed, or runtimeArn instead of it; set one of the two",
    ],
    ["a harness without an ARN", { type: "harness" }, "execution.agent.harnessArn: is missing"],
    [
      "the ARN of a runtime as that of a harness",
      { type: "harness", harnessArn: runtimeArn },
      "execution.agent.harnessArn: must be the ARN of an AgentCore harness, without the name of an endpoint",
    ],
    [
      "a harness without credentials",
      { type: "harness", harnessArn, authorizer: { type: "none" } },
      'execution.agent.authorizer: must not be "none" for an address beyond loopback; choose another authorizer',
    ],
    [
      "a qualifier without a runtime",
      { ...local, qualifier: "prod" },
      "execution.agent.qualifier: has no effect without runtimeArn; remove it",
    ],
    [
      "an address beyond loopback without an authorizer",
      { type: "ag-ui", url: "https://agents.example/" },
      'execution.agent.authorizer: must not be "none" for an address beyond loopback; choose another authorizer',
    ],
    [
      "plain HTTP beyond loopback",
      { type: "http", url: "http://agents.example/" },
      "execution.agent.url: must be an https URL without credentials in it; http is allowed on loopback only",
    ],
    [
      "an API beyond loopback without an authorizer",
      { type: "responses", baseUrl: "https://api.example/v1", model: "m" },
      'execution.agent.authorizer: must not be "none" for an address beyond loopback; choose another authorizer',
    ],
    [
      "a model beside an agent of the API",
      { ...responses, model: "m", agent: { name: "ops" } },
      "execution.agent.model: has no effect beside agent; remove one of the two",
    ],
    [
      "work in the background that is not to be stored",
      { ...responses, background: true, store: false },
      "execution.agent.store: must not be false with background; remove it",
    ],
    [
      "a header that the host sets itself",
      { ...responses, headers: { authorization: "Bearer x" } },
      "execution.agent.headers.authorization: is a header that is set already; remove it",
    ],
    [
      "a path of the answer with a wildcard",
      { ...local, answer: "$.messages[*]" },
      "execution.agent.answer: must be a path such as $.result or $.messages[-1].content",
    ],
  ])("rejects %s", (_what, agent, problem) => {
    expect(problemsOf({ execution: { agent } })).toContain(problem);
  });

  it("accepts a runtime of AgentCore without an authorizer, because its calls are signed", () => {
    const { execution } = parseConfig({
      json: { execution: { agent: { type: "http", runtimeArn } } },
    });
    expect(execution.agent).toMatchObject({ runtimeArn, request: { prompt: "{text}" } });
  });

  it("accepts a harness of AgentCore in one line, on one machine and in a stage", () => {
    const agent = { type: "harness", harnessArn };
    const stages = { dev: { verification: { account: "111111111111", region: "eu-west-1" } } };
    const { execution } = parseConfig({ json: { execution: { agent }, stages } });
    expect(execution.agent).toEqual({ ...agent, actor: "person", memory: true });
  });

  it("rejects a loopback address of an agent by name in a stage", () => {
    const stages = { dev: { verification: { account: "111111111111", region: "eu-west-1" } } };
    const json = { execution: { agents: { far: local, api: responses } }, stages };
    const problems = problemsOf(json).join();
    for (const field of ["far.url", "api.baseUrl"])
      expect(problems).toContain(
        `execution.agents.${field}: must be an address that the stage dev can reach`,
      );
  });
});

const verification = { account: "111111111111", region: "eu-west-1" };
const short = { verification, execution: { kind: "agentcore", maxLifetimeSeconds: 3600 } };

const folder = folderOfFile();

describe("an Execution zone alone", () => {
  it("ignores what the destinations of its agents would be", () => {
    const json = {
      execution: { agents: { ops: "./ops.ts" } },
      destinations: { ops: { transport: "https", agent: "ops", deadlineMs: 600_000 } },
      routes: [{ destination: "ops" }],
      stages: { dev: short },
    };
    expect(problemsOf(json)).toEqual([]);
    const file = join(folder, "sekisho.config.json");
    writeFileSync(file, JSON.stringify(json));
    const { execution } = loadExecutionConfig({ directory: "/", file });
    expect(execution.agents).toEqual({ ops: "./ops.ts" });
  });
});

it("reports a route to a destination of a name that every object inherits", () => {
  const json = { routes: [{ destination: "constructor" }], stages: { dev: short } };
  expect(problemsOf(json).join()).toContain('there is no destination "constructor"');
});

it("takes agents whose names every object inherits", () => {
  const agents = { constructor: "echo", "to-string": "echo" };
  const config = parseConfig({ json: { execution: { agents } } });
  expect(Object.keys(config.destinations)).toEqual(["constructor", "to-string"]);
});

describe("a stage with agents", () => {
  const json = {
    execution: {
      agents: {
        far: {
          type: "http",
          url: "https://far.example/",
          authorizer: { type: "bearer", token: { env: "FAR_TOKEN" } },
          request: { env: "PROD" },
        },
        api: {
          type: "responses",
          baseUrl: "https://api.example/v1",
          authorizer: { type: "bearer", token: { env: "API_KEY" } },
          headers: { env: "PROD" },
        },
      },
    },
    stages: { dev: { verification } },
  };

  it("takes nothing but references of secrets for such references", () => {
    const { execution } = createStageConfig({ config: parseConfig({ json }), stageName: "dev" });
    expect(execution.agents.far).toMatchObject({
      authorizer: { token: { secretsManager: "sekisho/dev/FAR_TOKEN" } },
      request: { env: "PROD" },
    });
    expect(execution.agents.api).toMatchObject({
      authorizer: { token: { secretsManager: "sekisho/dev/API_KEY" } },
      headers: { env: "PROD" },
    });
  });

  it("keeps an agent that is named env", () => {
    const config = parseConfig({
      json: { execution: { agents: { env: "./env.ts" } }, stages: json.stages },
    });
    const { execution } = createStageConfig({ config, stageName: "dev" });
    expect(execution.agents).toEqual({ env: "./env.ts" });
  });

  it("reads the key of an agent that is named like a field of a template", () => {
    const request = {
      ...{ type: "openai-compatible", baseUrl: "https://m.example/v1", model: "m" },
      apiKey: { env: "KEY" },
    };
    const config = parseConfig({
      json: { execution: { agents: { request } }, stages: json.stages },
    });
    const { execution } = createStageConfig({ config, stageName: "dev" });
    expect(execution.agents.request).toMatchObject({
      apiKey: { secretsManager: "sekisho/dev/KEY" },
    });
  });
});
