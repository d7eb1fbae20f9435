import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { broken, without } from "./break.ts";
import { type Elsewhere, startWithToken } from "./elsewhere.ts";
import { poisonTask } from "./stories/dead-letters.ts";
import { askAndRead, exchangeFiles } from "./stories/messages.ts";
import { pollInOneChain } from "./stories/polling.ts";
import { changeRoutes } from "./stories/routes.ts";
import { elsewhereAudience, synthesizeKinds, verificationRoleArn } from "./synthesized.ts";
import type { Assembly } from "./template/assembly.ts";
import { record } from "./template/wiring.ts";
import { executionToken, startWorld, type World } from "./world.ts";

const closing: (() => unknown)[] = [];
let home: Elsewhere;
let good: Assembly;
let goodAgentCore: Assembly;
let world: World | undefined;

beforeAll(async () => {
  home = await startWithToken({ token: executionToken });
  closing.push(home.close);
  const urls = { homeUrl: home.url, elsewhereUrl: home.url };
  const { made, remove } = await synthesizeKinds([
    { kind: "lambda", ...urls },
    { kind: "agentcore", ...urls },
  ]);
  closing.push(remove);
  [good, goodAgentCore] = [made[0].assembly, made[1].assembly];
});

afterEach(async () => {
  await world?.close();
  world = undefined;
});

afterAll(async () => {
  for (const step of closing.reverse()) await step();
});

/** Picks the functions whose environment has the variable. */
const functionWith = (variable: string) => (_: string, resource: { Properties: Record<string, unknown> }) =>
  variable in record(record(resource.Properties.Environment).Variables);

async function tellsOf(assembly: Assembly, story: (world: World) => Promise<unknown> = ask): Promise<string[]> {
  world = await startWorld({ assembly });
  await story(world).catch(() => {});
  return world.problems;
}

const ask = (running: World) => askAndRead(running, "slow 1s", /slow 1s/);

/** Starts a task that is only accepted at first. Rejects as soon as there is a problem. */
async function endsLater(running: World): Promise<void> {
  running.ask({ text: "slow 2s" });
  await running.until("problem", () => undefined);
}

/** Sends a task to the host that wants a web identity. */
async function goesElsewhere(running: World): Promise<void> {
  await changeRoutes(running, "elsewhere");
  await ask(running);
}

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;

suite("the rehearsal fails, and names the culprit, where", () => {
  it.each([
    { variable: "SEKISHO_SIGNING_SECRET", of: "the ingress" },
    { variable: "SEKISHO_ROUTES_PARAMETER", of: "the worker" },
    { variable: "SEKISHO_TABLE", of: "all that have a table" },
    { variable: "SEKISHO_QUEUE_ARN", of: "the worker" },
    { variable: "SEKISHO_FILES_BUCKET", of: "the worker" },
  ])("the environment of $of lacks $variable", async ({ variable }) => {
    const assembly = broken({
      assembly: good,
      type: "AWS::Lambda::Function",
      which: functionWith(variable),
      edit: ({ Environment }) => {
        delete record(record(Environment).Variables)[variable];
      },
    });
    const problems = await tellsOf(assembly);
    expect(problems.join("\n")).toMatch(new RegExp(`failed: it does not start: .*${variable}`));
  });

  it("a handler has another name", async () => {
    const assembly = broken({
      assembly: good,
      type: "AWS::Lambda::Function",
      which: functionWith("SEKISHO_SIGNING_SECRET"),
      edit: (properties) => {
        properties.Handler = "index.handle";
      },
    });
    expect(await tellsOf(assembly)).toEqual([
      expect.stringMatching(/failed: it does not start: .*index\.handle is undefined or not exported/),
    ]);
  });

  it.each([
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
  ])("nothing allows %s", async (action) => {
    const problems = await tellsOf(without({ assembly: good, action }));
    expect(problems.join("\n")).toMatch(new RegExp(`\\w+ may not ${action} on arn:`));
  });

  it.each(["s3:PutObject", "s3:GetObject"])("nothing allows %s", async (action) => {
    const problems = await tellsOf(without({ assembly: good, action }), exchangeFiles);
    expect(problems.join("\n")).toMatch(new RegExp(`Worker\\w* may not ${action} on arn:aws:s3:::`));
  });

  it.each([
    {
      title: "nothing allows tokens for a web identity",
      break: () => without({ assembly: good, action: "sts:GetWebIdentityToken" }),
    },
    {
      title: "tokens for a web identity are allowed for somebody else alone",
      break: () =>
        broken({
          assembly: good,
          type: "AWS::IAM::Policy",
          which: (_, { Properties }) => JSON.stringify(Properties).includes(elsewhereAudience),
          edit: (properties) => {
            const document = JSON.stringify(properties.PolicyDocument);
            properties.PolicyDocument = JSON.parse(document.replaceAll(elsewhereAudience, "https://other.example"));
          },
        }),
    },
  ])("$title", async ({ break: breakOne }) => {
    const problems = await tellsOf(breakOne(), goesElsewhere);
    expect(problems).toEqual([
      expect.stringMatching(/Worker\w* may not sts:GetWebIdentityToken on arn:aws:sts::111111111111:self: nothing/),
    ]);
  });

  it.each(["RuntimePolicy", "EndpointPolicy"])("the other account's %s lets nobody in", async (policy) => {
    const assembly = broken({
      assembly: goodAgentCore,
      type: "AWS::BedrockAgentCore::ResourcePolicy",
      which: (logicalId) => logicalId === policy,
      edit: (properties) => {
        properties.Policy = JSON.stringify({ Statement: [] });
      },
    });
    expect((await tellsOf(assembly)).join("\n")).toMatch(/may not bedrock-agentcore:InvokeAgentRuntime on .*runtime/);
  });

  it("the other account's policies name the role as principal, and the role is created again", async () => {
    const assembly = broken({
      assembly: goodAgentCore,
      type: "AWS::BedrockAgentCore::ResourcePolicy",
      edit: (properties) => {
        const policy = JSON.stringify(properties.Policy).replaceAll(":root", ":role/sekisho-rehearsal-verification");
        properties.Policy = JSON.parse(policy);
      },
    });
    expect(await tellsOf(assembly)).toEqual([]);
    await world?.close();
    const afterwards = (running: World) => {
      running.authority.recreate(verificationRoleArn);
      return ask(running);
    };
    expect((await tellsOf(assembly, afterwards)).join("\n")).toMatch(
      /may not bedrock-agentcore:InvokeAgentRuntime on .*nothing in the resource's policy/,
    );
  }, 240_000);

  it("the topic of the alarms lets nobody in", async () => {
    const assembly = broken({
      assembly: good,
      type: "AWS::SNS::TopicPolicy",
      edit: (properties) => {
        properties.PolicyDocument = { Statement: [] };
      },
    });
    expect((await tellsOf(assembly)).join("\n")).toMatch(/DeadLettersKept\w+ cannot sns:Publish/);
  });

  it("an alarm watches an endpoint of the runtime that nobody calls", async () => {
    const assembly = broken({
      assembly: goodAgentCore,
      type: "AWS::CloudWatch::Alarm",
      which: (_, { Properties }) => Properties.Namespace === "AWS/Bedrock-AgentCore",
      edit: (properties) => {
        const name = (properties.Dimensions as { Name: string; Value: string }[]).find(({ Name }) => Name === "Name");
        if (name) name.Value = name.Value.replace("::live", "::DEFAULT");
      },
    });
    const never = (alarm: string) => expect.stringMatching(new RegExp(`${alarm}\\w* watches .*::DEFAULT of .*never`));
    const told = ["Errors", "Throttles", "Sessions"].map((of) => never(`Runtime${of}`));
    expect(await tellsOf(assembly, async () => {})).toEqual(expect.arrayContaining(told));
  });

  it.each([
    { of: "completion queue", type: "AWS::SQS::QueuePolicy", field: "PolicyDocument", action: "sqs:SendMessage" },
    { of: "key", type: "AWS::KMS::Key", field: "KeyPolicy", action: "kms:GenerateDataKey" },
  ])("the policy of the $of leaves the other account's Execution role out", async ({ type, field, action }) => {
    const namesTheRole = (value: unknown) => JSON.stringify(value).includes("role/sekisho-rehearsal-execution");
    const assembly = broken({
      assembly: good,
      type,
      which: (_, { Properties }) => namesTheRole(Properties[field]),
      edit: (properties) => {
        const policy = record(properties[field]);
        policy.Statement = [policy.Statement].flat().filter((statement) => !namesTheRole(statement));
      },
    });
    const problems = await tellsOf(assembly, endsLater);
    expect(problems.join("\n")).toMatch(new RegExp(`Worker\\w* may not ${action} on arn:.*nothing in the resource`));
  });

  it("the completion queue has another name than the Execution zone believes", async () => {
    const assembly = broken({
      assembly: good,
      type: "AWS::SQS::Queue",
      which: (_, { Properties }) => Properties.QueueName !== undefined,
      edit: (properties) => {
        properties.QueueName = "sekisho-rehearsal-other";
      },
    });
    const problems = await tellsOf(assembly, endsLater);
    expect(problems.join("\n")).toMatch(/may not sqs:SendMessage on arn:.*:sekisho-rehearsal-completions/);
  });

  it("the HTTP API may not invoke the ingress, or the other account's role not the host", async () => {
    const assembly = broken({
      assembly: good,
      type: "AWS::Lambda::Permission",
      edit: (properties) => {
        properties.Action = "lambda:GetFunction";
      },
    });
    expect((await tellsOf(assembly)).join("\n")).toMatch(/may not invoke/);
  });

  it("an event source does not report item failures", async () => {
    const assembly = broken({
      assembly: good,
      type: "AWS::Lambda::EventSourceMapping",
      edit: (properties) => {
        delete properties.FunctionResponseTypes;
      },
    });
    expect((await tellsOf(assembly, poisonTask)).join("\n")).toMatch(/lack ReportBatchItemFailures/);
  });

  it("no function allows loops, and a task is polled often", async () => {
    const assembly = broken({
      assembly: good,
      type: "AWS::Lambda::Function",
      which: (_, { Properties }) => Properties.RecursiveLoop === "Allow",
      edit: (properties) => {
        delete properties.RecursiveLoop;
      },
    });
    expect(await tellsOf(assembly, pollInOneChain)).toEqual([
      expect.stringMatching(/Worker\w* failed: Lambda refused invocation 17 of one chain/),
    ]);
  });

  it("a queue hides messages for less than six times its function's time-out", async () => {
    const assembly = broken({
      assembly: good,
      type: "AWS::SQS::Queue",
      edit: (properties) => {
        properties.VisibilityTimeout = 29;
      },
    });
    expect((await tellsOf(assembly)).join("\n")).toMatch(/VisibilityTimeout of 29 s is below/);
  });

  it("a Function URL is open to anyone", async () => {
    const assembly = broken({
      assembly: good,
      type: "AWS::Lambda::Url",
      edit: (properties) => {
        properties.AuthType = "NONE";
      },
    });
    expect((await tellsOf(assembly)).join("\n")).toMatch(/can be called by anyone/);
  });
});
