/** What the role of the Execution zone may do for an agent elsewhere. */
import { describe, expect, it } from "@jest/globals";
import { permitAgents } from "@sekisho/cdk/constructs/agent-permissions.ts";
import { keepsConversations } from "@sekisho/config/agent-list.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { App, Stack } from "aws-cdk-lib";
import { AccountRootPrincipal, type PolicyStatement, Role } from "aws-cdk-lib/aws-iam";

const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:111111111111:runtime/agent-abc123";
const url = "https://abc.execute-api.eu-west-1.amazonaws.com/x";
const assumeRoleArn = "arn:aws:iam::333333333333:role/caller";

function statementsFor(options: object, type = "http") {
  const json = { execution: { agent: { type, ...options } } };
  const { execution } = parseConfig({ json });
  const stack = new Stack(new App({ analyticsReporting: false }), "Execution");
  const role = new Role(stack, "Role", { assumedBy: new AccountRootPrincipal() });
  const statements: unknown[] = [];
  const addToPrincipalPolicy = (statement: PolicyStatement) => {
    statements.push(stack.resolve(statement.toStatementJson()));
    return { statementAdded: true };
  };
  permitAgents(Object.assign(role, { addToPrincipalPolicy }), execution);
  return statements;
}

const sigv4 = (more: object) => ({ type: "sigv4", region: "eu-west-1", ...more });
const assumes = { Effect: "Allow", Action: "sts:AssumeRole", Resource: assumeRoleArn };

describe("the role that runs a harness", () => {
  const harnessArn = "arn:aws:bedrock-agentcore:eu-central-1:111111111111:harness/agent-AbCdEf1234";

  it("may invoke the harness and its endpoint, and nothing else", () => {
    for (const [options, endpoint] of [
      [{}, "DEFAULT"],
      [{ qualifier: "live" }, "live"],
    ] as const) {
      expect(statementsFor({ harnessArn, ...options }, "harness")).toEqual([
        {
          Effect: "Allow",
          Action: ["bedrock-agentcore:InvokeHarness", "bedrock-agentcore:InvokeAgentRuntime"],
          Resource: [harnessArn, `${harnessArn}/harness-endpoint/${endpoint}`],
        },
      ]);
    }
  });

  it("may not invoke a harness that takes a token", () => {
    const authorizer = { type: "bearer", token: { secretsManager: "agents/token" } };
    expect(statementsFor({ harnessArn, authorizer }, "harness")).toMatchObject([
      { Action: "secretsmanager:GetSecretValue" },
    ]);
  });
});

describe.each(["http", "ag-ui"])("the role that runs the agent %s", (type) => {
  it("may invoke the runtime and its endpoint, and nothing else", () => {
    const resources = (qualifier: string) => [
      runtimeArn,
      `${runtimeArn}/runtime-endpoint/${qualifier}`,
    ];
    const invoke = { Effect: "Allow", Action: "bedrock-agentcore:InvokeAgentRuntime" };
    expect(statementsFor({ runtimeArn }, type)).toEqual([
      { ...invoke, Resource: resources("DEFAULT") },
    ]);
    expect(statementsFor({ runtimeArn, qualifier: "live" }, type)).toEqual([
      { ...invoke, Resource: resources("live") },
    ]);
  });

  it("may assume the role that invokes the runtime, and not invoke it itself", () => {
    const authorizer = sigv4({ service: "bedrock-agentcore", assumeRoleArn });
    expect(statementsFor({ runtimeArn, authorizer }, type)).toEqual([assumes]);
  });

  it("may read the token of a runtime, and not invoke it with a signature", () => {
    const authorizer = { type: "bearer", token: { secretsManager: "agents/token" } };
    const [statement, ...others] = statementsFor({ runtimeArn, authorizer }, type);
    expect(statement).toMatchObject({ Action: "secretsmanager:GetSecretValue" });
    expect(JSON.stringify(statement)).toContain("secret:agents/token");
    expect(others).toEqual([]);
  });

  it("may invoke the API of a signed address", () => {
    const authorizer = sigv4({ service: "execute-api" });
    const [statement, ...others] = statementsFor({ url, authorizer }, type);
    expect(statement).toMatchObject({ Action: "execute-api:Invoke" });
    expect(JSON.stringify(statement)).toContain(":execute-api:eu-west-1:*:abc/*");
    expect(others).toEqual([]);
  });

  it("may get the tokens of web identity that it sends", () => {
    const authorizer = { type: "web-identity", audience: "https://agents.example" };
    expect(statementsFor({ url, authorizer }, type)).toMatchObject([
      { Action: "sts:GetWebIdentityToken", Resource: "*" },
    ]);
  });

  it("needs no permission without credentials of AWS", () => {
    expect(statementsFor({ url: "http://127.0.0.1:8080/" }, type)).toEqual([]);
  });
});

it("the role that runs the agent responses may invoke the API of its signed address", () => {
  const options = {
    baseUrl: `${url}/v1`,
    model: "m",
    authorizer: sigv4({ service: "execute-api" }),
  };
  const [statement, ...others] = statementsFor(options, "responses");
  expect(statement).toMatchObject({ Action: "execute-api:Invoke" });
  expect(JSON.stringify(statement)).toContain(":execute-api:eu-west-1:*:abc/*");
  expect(others).toEqual([]);
});

describe("the role of the worker on Lambda", () => {
  const model = { type: "openai-compatible", baseUrl: "https://model.example/v1", model: "m" };

  it.each([
    ["may", { agent: "./agent.ts" }],
    ["may", { agent: { type: "ag-ui", runtimeArn } }],
    ["may", { agents: { far: { type: "http", runtimeArn } } }],
    ["may not", { agent: "echo" }],
    ["may not", { agent: model, agents: { own: { ...model, model: "n" } } }],
    ["may not", { agent: { type: "bedrock", modelId: "amazon.nova-lite-v1:0" } }],
  ])("%s put items for the agents of %j", (may, execution) => {
    expect(keepsConversations(parseConfig({ json: { execution } }).execution)).toBe(may === "may");
  });
});
