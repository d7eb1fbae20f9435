/** The rehearsal notices bad templates: good ones are broken in one place, and the problems must name the culprit. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { broken, without } from "./break.ts";
import { type Elsewhere, startWithToken } from "./elsewhere.ts";
import { poisonTask } from "./stories/dead-letters.ts";
import { askAndRead, cancelAtHome, exchangeFiles } from "./stories/messages.ts";
import { pollInOneChain } from "./stories/polling.ts";
import { changeRoutes } from "./stories/routes.ts";
import { elsewhereAudience, synthesizeKinds, verificationRoleArn } from "./synthesized.ts";
import type { Assembly } from "./template/assembly.ts";
import { record } from "./template/wiring.ts";
import { executionToken, startWorld, type World } from "./world.ts";

const closing: (() => unknown)[] = [];
let home: Elsewhere;
let lambda: Assembly;
let agentCore: Assembly;
let world: World | undefined;

beforeAll(async () => {
  home = await startWithToken({ token: executionToken });
  closing.push(home.close);
  const urls = { homeUrl: home.url, elsewhereUrl: home.url };
  const { made: stages, remove } = await synthesizeKinds([
    { kind: "lambda", ...urls },
    { kind: "agentcore", ...urls },
  ]);
  closing.push(remove);
  [lambda, agentCore] = [stages[0].assembly, stages[1].assembly];
});

afterEach(async () => {
  await world?.close();
  world = undefined;
});

afterAll(async () => {
  for (const step of closing.reverse()) await step();
});

type Story = (running: World) => Promise<unknown>;
type Properties = Record<string, unknown>;

/** Runs a story until it ends or a problem ends it. Resolves to the problems. */
async function problemsOf(assembly: Assembly, story: Story = ask): Promise<string[]> {
  world = await startWorld({ assembly });
  await story(world).catch(() => {});
  return world.problems;
}

const ask: Story = (running) => askAndRead(running, "slow 1s", /slow 1s/);

const doNothing: Story = async () => {};

/** Starts a task that is only accepted at first. Rejects as soon as there is a problem. */
const endLater: Story = async (running) => {
  running.ask({ text: "slow 2s" });
  await running.until("problem", () => undefined);
};

/** Sends a task to the host that wants a web identity. */
const goElsewhere: Story = async (running) => {
  await changeRoutes(running, "elsewhere");
  await ask(running);
};

/** Picks the functions whose environment has the variable. */
const functionWith = (variable: string) => (_: string, resource: { Properties: Properties }) =>
  variable in record(record(resource.Properties.Environment).Variables);

const mentions = (value: unknown, text: string) => JSON.stringify(value).includes(text);

type Case = { title: string; break: () => Assembly; story?: Story; problem: RegExp };

const missingVariables = [
  { variable: "SEKISHO_SIGNING_SECRET", of: "the ingress" },
  { variable: "SEKISHO_ROUTES_PARAMETER", of: "the worker" },
  { variable: "SEKISHO_TABLE", of: "all that have a table" },
  { variable: "SEKISHO_QUEUE_ARN", of: "the worker" },
  { variable: "SEKISHO_FILES_BUCKET", of: "the worker" },
].map(
  ({ variable, of }): Case => ({
    title: `the environment of ${of} lacks ${variable}`,
    break: () =>
      broken({
        assembly: lambda,
        type: "AWS::Lambda::Function",
        which: functionWith(variable),
        edit: ({ Environment }) => delete record(record(Environment).Variables)[variable],
      }),
    problem: new RegExp(`failed: it does not start: .*${variable}`),
  }),
);

const missingActions = [
  "secretsmanager:GetSecretValue",
  "sqs:SendMessage",
  "sqs:ReceiveMessage",
  "sqs:DeleteMessage",
  "dynamodb:GetItem",
  "dynamodb:PutItem",
  "dynamodb:UpdateItem",
  "ssm:GetParameter",
  "kms:Decrypt",
  "lambda:InvokeFunctionUrl",
  "lambda:InvokeFunction",
  "logs:PutLogEvents",
  "s3:PutObject",
  "s3:GetObject",
].map((action): Case => {
  const ofFiles = {
    story: exchangeFiles,
    problem: new RegExp(`Worker\\w* may not ${action} on arn:aws:s3:::`),
  };
  return {
    title: `nothing allows ${action}`,
    break: () => without({ assembly: lambda, action }),
    ...(action.startsWith("s3:")
      ? ofFiles
      : { problem: new RegExp(`\\w+ may not ${action} on arn:`) }),
  };
});

const noListing: Case = {
  title: "nothing allows dynamodb:Query",
  break: () => without({ assembly: lambda, action: "dynamodb:Query" }),
  story: cancelAtHome,
  problem: /Worker\w* may not dynamodb:Query on arn:.*by-principal/,
};

const closedPolicies = ["RuntimePolicy", "EndpointPolicy"].map(
  (policy): Case => ({
    title: `the other account's ${policy} lets nobody in`,
    break: () =>
      broken({
        assembly: agentCore,
        type: "AWS::BedrockAgentCore::ResourcePolicy",
        which: (logicalId) => logicalId === policy,
        edit: (properties) =>
          Object.assign(properties, { Policy: JSON.stringify({ Statement: [] }) }),
      }),
    problem: /may not bedrock-agentcore:InvokeAgentRuntime on .*runtime/,
  }),
);

const unnamedSenders = [
  {
    of: "completion queue",
    type: "AWS::SQS::QueuePolicy",
    field: "PolicyDocument",
    action: "sqs:SendMessage",
  },
  { of: "key", type: "AWS::KMS::Key", field: "KeyPolicy", action: "kms:GenerateDataKey" },
].map(({ of, type, field, action }): Case => {
  const namesTheRole = (value: unknown) => mentions(value, "role/sekisho-rehearsal-execution");
  return {
    title: `the policy of the ${of} leaves the other account's Execution role out`,
    break: () =>
      broken({
        assembly: lambda,
        type,
        which: (_, { Properties }) => namesTheRole(Properties[field]),
        edit: (properties) => {
          const policy = record(properties[field]);
          policy.Statement = [policy.Statement]
            .flat()
            .filter((statement) => !namesTheRole(statement));
        },
      }),
    story: endLater,
    problem: new RegExp(`Worker\\w* may not ${action} on arn:.*nothing in the resource`),
  };
});

/** All resources of the type get these properties. */
const withProperties = (type: string, properties: Properties) => () =>
  broken({ assembly: lambda, type, edit: (found) => Object.assign(found, properties) });

const others: Case[] = [
  {
    title: "the topic of the alarms lets nobody in",
    break: withProperties("AWS::SNS::TopicPolicy", { PolicyDocument: { Statement: [] } }),
    problem: /DeadLettersKept\w+ cannot sns:Publish/,
  },
  {
    title: "the completion queue has another name than the Execution zone believes",
    break: () =>
      broken({
        assembly: lambda,
        type: "AWS::SQS::Queue",
        which: (_, { Properties }) => Properties.QueueName !== undefined,
        edit: (properties) => Object.assign(properties, { QueueName: "sekisho-rehearsal-other" }),
      }),
    story: endLater,
    problem: /may not sqs:SendMessage on arn:.*:sekisho-rehearsal-completions/,
  },
  {
    title:
      "neither the HTTP API is allowed to invoke the ingress nor the other account's role the host",
    break: withProperties("AWS::Lambda::Permission", { Action: "lambda:GetFunction" }),
    problem: /may not invoke/,
  },
  {
    title: "an event source does not report item failures",
    break: withProperties("AWS::Lambda::EventSourceMapping", { FunctionResponseTypes: undefined }),
    story: poisonTask,
    problem: /lack ReportBatchItemFailures/,
  },
  {
    title: "a queue hides messages for less than six times its function's time-out",
    break: withProperties("AWS::SQS::Queue", { VisibilityTimeout: 29 }),
    problem: /VisibilityTimeout of 29 s is below/,
  },
  {
    title: "a Function URL is open to any caller",
    break: withProperties("AWS::Lambda::Url", { AuthType: "NONE" }),
    problem: /can be called by anyone/,
  },
];

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite("the rehearsal fails, and names the culprit, where", () => {
  it.each([
    ...missingVariables,
    ...missingActions,
    noListing,
    ...closedPolicies,
    ...unnamedSenders,
    ...others,
  ])("reports that $title", async ({ break: breakOne, story, problem }) => {
    expect((await problemsOf(breakOne(), story)).join("\n")).toMatch(problem);
  });

  it("reports that a handler has another name", async () => {
    const assembly = broken({
      assembly: lambda,
      type: "AWS::Lambda::Function",
      which: functionWith("SEKISHO_SIGNING_SECRET"),
      edit: (properties) => Object.assign(properties, { Handler: "index.handle" }),
    });
    const problem = /failed: it does not start: .*index\.handle is undefined or not exported/;
    expect(await problemsOf(assembly)).toEqual([expect.stringMatching(problem)]);
  });

  it.each([
    {
      title: "nothing allows tokens for a web identity",
      break: () => without({ assembly: lambda, action: "sts:GetWebIdentityToken" }),
    },
    {
      title: "tokens for a web identity are allowed only for another principal",
      break: () =>
        broken({
          assembly: lambda,
          type: "AWS::IAM::Policy",
          which: (_, { Properties }) => mentions(Properties, elsewhereAudience),
          edit: (properties) => {
            const document = JSON.stringify(properties.PolicyDocument);
            properties.PolicyDocument = JSON.parse(
              document.replaceAll(elsewhereAudience, "https://other.example"),
            );
          },
        }),
    },
  ])("reports a missing permission for tokens: $title", async ({ break: breakOne }) => {
    const problem =
      /Worker\w* may not sts:GetWebIdentityToken on arn:aws:sts::111111111111:self: nothing/;
    expect(await problemsOf(breakOne(), goElsewhere)).toEqual([expect.stringMatching(problem)]);
  });

  it("reports a policy that names the role as principal once the role is created again", async () => {
    const assembly = broken({
      assembly: agentCore,
      type: "AWS::BedrockAgentCore::ResourcePolicy",
      edit: (properties) => {
        const policy = JSON.stringify(properties.Policy).replaceAll(
          ":root",
          ":role/sekisho-rehearsal-verification",
        );
        properties.Policy = JSON.parse(policy);
      },
    });
    expect(await problemsOf(assembly)).toEqual([]);
    await world?.close();
    const afterwards: Story = (running) => {
      running.authority.recreate(verificationRoleArn);
      return ask(running);
    };
    expect((await problemsOf(assembly, afterwards)).join("\n")).toMatch(
      /may not bedrock-agentcore:InvokeAgentRuntime on .*nothing in the resource's policy/,
    );
  });

  it("reports an alarm on an endpoint of the runtime that is never called", async () => {
    const assembly = broken({
      assembly: agentCore,
      type: "AWS::CloudWatch::Alarm",
      which: (_, { Properties }) => Properties.Namespace === "AWS/Bedrock-AgentCore",
      edit: (properties) => {
        const name = (properties.Dimensions as { Name: string; Value: string }[]).find(
          ({ Name }) => Name === "Name",
        );
        if (name) name.Value = name.Value.replace("::live", "::DEFAULT");
      },
    });
    const never = (alarm: string) =>
      expect.stringMatching(new RegExp(`${alarm}\\w* watches .*::DEFAULT of .*never`));
    const alarms = ["Errors", "Throttles", "Sessions"].map((of) => never(`Runtime${of}`));
    expect(await problemsOf(assembly, doNothing)).toEqual(expect.arrayContaining(alarms));
  });

  it("reports a task that is polled often while no function allows loops", async () => {
    const assembly = broken({
      assembly: lambda,
      type: "AWS::Lambda::Function",
      which: (_, { Properties }) => Properties.RecursiveLoop === "Allow",
      edit: (properties) => delete properties.RecursiveLoop,
    });
    expect(await problemsOf(assembly, pollInOneChain)).toEqual([
      expect.stringMatching(/Worker\w* failed: Lambda refused invocation 17 of one chain/),
    ]);
  });
});
