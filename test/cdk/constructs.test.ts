/** The constructs in a CDK app of one's own: what they refuse, and what they offer to the app. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { ExecutionZone } from "@sekisho/cdk/execution-zone.ts";
import { SekishoIdentity } from "@sekisho/cdk/identity.ts";
import { addStage, createSettings } from "@sekisho/cdk/stage.ts";
import type { StageSettings } from "@sekisho/cdk/stage-settings.ts";
import { VerificationZone } from "@sekisho/cdk/verification-zone.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { App, CrossStackReferences, ReferenceStrength, Stack, Stage, Tags } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { Topic } from "aws-cdk-lib/aws-sns";
import { RegionInfo } from "aws-cdk-lib/region-info";
import { a, b, configWith } from "./synth.ts";

const region = "eu-central-1";
const here = { account: a, region };
const folder = mkdtempSync(join(tmpdir(), "sekisho-constructs-"));
const code = join(folder, "code");
mkdirSync(code);
for (const name of ["index.js", "server.js"]) writeFileSync(join(code, name), "");
afterAll(() => rmSync(folder, { recursive: true }));

function settingsOf(stage: Record<string, unknown>): StageSettings {
  const config = parseConfig({ json: configWith({ stage, destinations: {}, routes: [] }) });
  const settings = createSettings({ config, configDirectory: folder, stageName: "dev", folder });
  return { ...settings, writeBundle: () => code };
}

const createApp = (context = {}) =>
  new App({ outdir: join(folder, "out"), context, analyticsReporting: false });
const lambda = settingsOf({ execution: { kind: "lambda" } });
const elsewhere = settingsOf({ execution: { kind: "lambda", account: b, region: "eu-west-1" } });
const agentcore = settingsOf({ execution: { kind: "agentcore", account: b } });
const external = settingsOf({ execution: { kind: "external" } });

/** Makes both zones in stacks of their own. */
function createZones(settings: StageSettings, app = createApp()) {
  const { account = a } =
    settings.stage.execution.kind === "external" ? {} : settings.stage.execution;
  const execution = new Stack(app, "Execution", { env: { account, region } });
  const executionZone = new ExecutionZone(execution, "Sekisho", { settings });
  const verification = new Stack(app, "Verification", { env: here });
  CrossStackReferences.of(verification).consume(ReferenceStrength.WEAK);
  const { entry } = executionZone;
  return {
    app,
    executionZone,
    verificationZone: new VerificationZone(verification, "Sekisho", { settings, entry }),
  };
}

describe("a construct in the user's own app", () => {
  it.each([
    ["lambda", lambda],
    ["agentcore", agentcore],
  ])(
    "refuses a Verification zone without the entry of the stage's own Execution zone on %s",
    (kind, settings) => {
      const stack = new Stack(createApp(), "Verification", { env: here });
      expect(() => new VerificationZone(stack, "Sekisho", { settings })).toThrow(
        `The stage dev cannot be used:\n  - it has the kind ${kind}: pass \`entry: executionZone.entry\`, or set execution.kind to external`,
      );
    },
  );

  it("accepts a Verification zone without an entry, but no ExecutionZone, for an external Execution zone", () => {
    const stack = new Stack(createApp(), "Verification", { env: here });
    expect(new VerificationZone(stack, "Sekisho", { settings: external }).eventsUrl).toContain(
      "https://",
    );
    expect(() => new ExecutionZone(stack, "Execution", { settings: external })).toThrow(
      "leave out ExecutionZone",
    );
  });

  const zones = {
    Identity: (stack: Stack) => new SekishoIdentity(stack, "Sekisho", { settings: elsewhere }),
    Execution: (stack: Stack) => new ExecutionZone(stack, "Sekisho", { settings: elsewhere }),
    Verification: (stack: Stack) => new VerificationZone(stack, "Sekisho", { settings: elsewhere }),
  };

  it.each([
    ["Identity", { account: b, region }, `in the account ${b}, `, `in the account ${a}: `],
    [
      "Execution",
      here,
      `account ${a} and the region ${region}`,
      `account ${b} and the region eu-west-1`,
    ],
    [
      "Execution",
      { account: b, region },
      `account ${b} and the region ${region}`,
      "the region eu-west-1",
    ],
    [
      "Verification",
      { account: b, region },
      `account ${b} and the region ${region}`,
      `account ${a} and`,
    ],
    [
      "Verification",
      { account: a, region: "eu-west-1" },
      "the region eu-west-1",
      `the region ${region}`,
    ],
  ] as const)(
    "refuses a stack (%s) in another account or region (%j), and names both",
    (zone, env, actual, remedy) => {
      const create = () => zones[zone](new Stack(createApp(), "Mine", { env }));
      expect(create).toThrow("The stack Mine cannot be used");
      expect(create).toThrow(actual);
      expect(create).toThrow(remedy);
    },
  );

  it.each([
    ["Identity", {}, `env: { account: "${a}", region: "REGION" }`],
    ["Execution", {}, `env: { account: "${b}", region: "eu-west-1" }`],
    ["Execution", { account: b }, `env: { account: "${b}", region: "eu-west-1" }`],
    ["Verification", { region }, `env: { account: "${a}", region: "${region}" }`],
  ] as const)(
    "refuses a stack (%s) with the incomplete env %j, and names the values to use",
    (zone, env, remedy) => {
      const stack = new Stack(createApp(), "Mine", { env });
      expect(() => zones[zone](stack)).toThrow(remedy);
    },
  );

  it("creates the identity in any region of the account", () => {
    const stack = new Stack(createApp(), "Mine", { env: { account: a, region: "us-east-1" } });
    expect(zones.Identity(stack).role.roleName).toBeDefined();
  });
});

it.each([
  [{}, "V1"],
  [{ platformVersion: "V1" }, "V1"],
  [{ platformVersion: "V2" }, "V2"],
])("sets the platform version of the runtime for %j to %s", (version, runtimeVersion) => {
  const stack = new Stack(createApp(), "Execution", { env: here });
  const settings = settingsOf({ execution: { kind: "agentcore", ...version } });
  new ExecutionZone(stack, "Sekisho", { settings });
  const [{ Properties } = { Properties: {} }] = Object.values(
    Template.fromStack(stack).findResources("AWS::BedrockAgentCore::Runtime"),
  );
  expect(Properties.PlatformVersion).toBe(runtimeVersion);
  // V2 allows 1.5 KB for code that is deployed directly.
  expect(JSON.stringify(Properties.EnvironmentVariables).length).toBeLessThan(1200);
});

it.each(["http", "a2a"] as const)(
  "makes a runtime of the protocol %s, whose callers are the Verification zone and the A2A clients",
  (protocol) => {
    const client = `arn:aws:iam::${b}:role/a-client`;
    const secret = { secretsManager: "card-key" };
    const settings = settingsOf({ execution: { kind: "agentcore", protocol } });
    const bundles: string[] = [];
    const stack = new Stack(createApp(), "Execution", { env: here });
    new ExecutionZone(stack, "Sekisho", {
      settings: {
        ...settings,
        writeBundle(name) {
          bundles.push(name);
          return settings.writeBundle(name);
        },
        config: {
          ...settings.config,
          execution: {
            ...settings.config.execution,
            a2a: {
              ...settings.config.execution.a2a,
              url: "https://agents.example/",
              callers: [client],
              signature: { key: secret, keyId: "k", algorithm: "ES256" },
            },
          },
        },
      },
    });
    const template = Template.fromStack(stack);
    const isA2a = protocol === "a2a";
    template.hasResourceProperties("AWS::BedrockAgentCore::Runtime", {
      ProtocolConfiguration: isA2a ? "A2A" : "HTTP",
      EnvironmentVariables: isA2a
        ? { SEKISHO_EXECUTION_PORT: "9000", SEKISHO_RUNTIME_ENDPOINT: "live" }
        : { SEKISHO_EXECUTION_PORT: Match.absent() },
      RequestHeaderConfiguration: isA2a
        ? { RequestHeaderAllowlist: ["A2A-Version", "A2A-Extensions", "X-A2A-Extensions"] }
        : Match.absent(),
    });
    expect(bundles).toEqual([isA2a ? "agentcoreA2a" : "agentcore"]);
    const policies = Object.values(template.findResources("AWS::BedrockAgentCore::ResourcePolicy"));
    expect(policies).toHaveLength(2);
    for (const { Properties } of policies) {
      const text = JSON.stringify(Properties.Policy);
      expect(text.includes("bedrock-agentcore:GetAgentCard")).toBe(isA2a);
      expect(text.includes(client)).toBe(isA2a);
    }
    expect(JSON.stringify(template.toJSON()).includes("secret:card-key")).toBe(isA2a);
  },
);

it("lets the runtime pass on the token that says who asked, if the host verifies it", () => {
  const stack = new Stack(createApp(), "Execution", { env: here });
  const settings = settingsOf({ execution: { kind: "agentcore" } });
  const { execution } = settings.config;
  const asker = { mode: "required" as const };
  const config = { ...settings.config, execution: { ...execution, asker } };
  new ExecutionZone(stack, "Sekisho", { settings: { ...settings, config } });
  Template.fromStack(stack).hasResourceProperties("AWS::BedrockAgentCore::Runtime", {
    RequestHeaderConfiguration: { RequestHeaderAllowlist: ["Sekisho-Asker"] },
  });
});

it("creates the log group of the runtime before its endpoint, with the retention and key of the stage", () => {
  const stack = new Stack(
    createApp({ "@aws-cdk/core:enablePartitionLiterals": true }),
    "Execution",
    { env: here },
  );
  new ExecutionZone(stack, "Sekisho", {
    settings: settingsOf({ execution: { kind: "agentcore" }, logRetentionDays: 7 }),
  });
  const template = Template.fromStack(stack);
  const [group = ""] = Object.keys(template.findResources("AWS::Logs::LogGroup"));
  const [runtime = ""] = Object.keys(template.findResources("AWS::BedrockAgentCore::Runtime"));
  const [key] = Object.keys(template.findResources("AWS::KMS::Key"));
  template.hasResource("AWS::BedrockAgentCore::RuntimeEndpoint", {
    Properties: { Name: "live" },
    DependsOn: Match.arrayWith([group]),
  });
  const id = { "Fn::GetAtt": [runtime, "AgentRuntimeId"] };
  template.hasResource("AWS::Logs::LogGroup", {
    DeletionPolicy: "Delete",
    Properties: {
      LogGroupName: { "Fn::Join": ["", ["/aws/bedrock-agentcore/runtimes/", id, "-live"]] },
      RetentionInDays: 7,
      KmsKeyId: { "Fn::GetAtt": [key, "Arn"] },
    },
  });
  expect(JSON.stringify(template)).not.toContain("logs:CreateLogGroup");
});

describe("addStage", () => {
  it("refuses a second stage in one scope, and says how to add it", () => {
    const app = createApp();
    addStage(app, external);
    expect(() => addStage(app, { ...external, stageName: "prod" })).toThrow(
      'addStage(new Stage(app, "prod"), loadStage({ stage: "prod" }))',
    );
  });

  it("adds several stages to one app, each with its own names in CloudFormation", () => {
    const app = createApp();
    for (const stageName of ["dev", "prod"])
      addStage(new Stage(app, stageName), { ...external, stageName });
    const names = app
      .synth()
      .nestedAssemblies.flatMap(({ nestedAssembly }) => nestedAssembly.stacks);
    expect(names.map(({ displayName, stackName }) => [displayName, stackName])).toEqual([
      ["dev/Identity (Sekisho-dev-Identity)", "Sekisho-dev-Identity"],
      ["dev/Verification (Sekisho-dev-Verification)", "Sekisho-dev-Verification"],
      ["prod/Identity (Sekisho-prod-Identity)", "Sekisho-prod-Identity"],
      ["prod/Verification (Sekisho-prod-Verification)", "Sekisho-prod-Verification"],
    ]);
  });
});

it.each(["eusc-de-east-1", "cn-north-1"])("names only the partition of its region %s", (place) => {
  const context = { "@aws-cdk/core:enablePartitionLiterals": true };
  const config = configWith({
    stage: { verification: { account: a, region: place }, execution: { kind: "lambda" } },
  });
  const json = {
    ...config,
    destinations: { home: { transport: "https" } },
    routes: [{ destination: "home" }],
  };
  const source = {
    config: parseConfig({ json }),
    configDirectory: folder,
    stageName: "dev",
    folder,
  };
  const app = createApp(context);
  addStage(app, { ...createSettings(source), writeBundle: () => code });
  const { partition } = RegionInfo.get(place);
  for (const { template } of app.synth().stacks) {
    const partitions = [...JSON.stringify(template).matchAll(/arn:(aws[a-z-]*):/g)].map(
      ([, name]) => name,
    );
    expect(new Set(partitions)).toEqual(new Set(partitions.length === 0 ? [] : [partition]));
  }
});

describe("addStage in an app without the feature flag for references", () => {
  it("exports nothing from the Execution stack, and gives no advice about references", () => {
    const app = createApp();
    addStage(app, lambda);
    const assembly = app.synth();
    const [execution, verification] = ["Execution", "Verification"].map(
      (id) => app.node.findChild(id) as Stack,
    );
    const { Outputs = {} } = assembly.getStackByName("Sekisho-dev-Execution").template;
    expect(Object.values(Outputs).filter((output) => Object(output).Export !== undefined)).toEqual(
      [],
    );
    const text = JSON.stringify(assembly.getStackByName("Sekisho-dev-Verification").template);
    expect(text).toContain("Fn::GetStackOutput");
    expect(text).not.toContain("Fn::ImportValue");
    for (const stack of [execution, verification])
      Annotations.fromStack(stack as Stack).hasNoWarning(
        "*",
        Match.stringLikeRegexp("crossStackReferences|cross-stack"),
      );
  });

  it("keeps the references between other stacks of the app", () => {
    const app = createApp();
    addStage(app, external);
    const bucket = new Bucket(new Stack(app, "Producer", { env: here }), "Bucket");
    const consumer = new Stack(app, "Consumer", { env: here });
    bucket.grantRead(
      new Role(consumer, "Reader", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") }),
    );
    expect(JSON.stringify(Template.fromStack(consumer))).toContain("Fn::ImportValue");
  });
});

describe("the public members of the zones", () => {
  it.each([
    ["lambda", lambda],
    ["agentcore", agentcore],
  ])("grants the agent on %s a permission by its role", (_kind, settings) => {
    const { executionZone } = createZones(settings);
    const stack = Stack.of(executionZone);
    new Bucket(stack, "Documents").grantRead(executionZone.role);
    const statement = { Action: Match.arrayWith(["s3:GetObject*"]), Effect: "Allow" };
    Template.fromStack(stack).hasResourceProperties("AWS::IAM::Policy", {
      PolicyDocument: { Statement: Match.arrayWith([Match.objectLike(statement)]) },
      Roles: [{ Ref: stack.getLogicalId(executionZone.role.node.defaultChild as never) }],
    });
  });

  it("exposes every alarm and its topic, and lets another topic receive the alarms", () => {
    const { app, executionZone, verificationZone } = createZones(lambda);
    const topic = new Topic(new Stack(app, "Pager", { env: here }), "Topic");
    const zones = [verificationZone, executionZone];
    for (const alarm of zones.flatMap(({ alarms }) => alarms))
      alarm.addAlarmAction(new SnsAction(topic));
    for (const zone of zones) {
      const alarms = Template.fromStack(Stack.of(zone)).findResources("AWS::CloudWatch::Alarm");
      expect(zone.alarms).toHaveLength(Object.keys(alarms).length);
      const own = { Ref: Stack.of(zone).getLogicalId(zone.alarmTopic.node.defaultChild as never) };
      for (const { Properties } of Object.values(alarms)) {
        expect(Properties.AlarmActions).toEqual([own, expect.anything()]);
      }
    }
  });

  it("lets a function of another stack read the table, and exposes the worker", () => {
    const { app, verificationZone } = createZones(lambda);
    const stack = new Stack(app, "Reports", { env: here });
    const role = new Role(stack, "Reader", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    });
    verificationZone.table.grantReadData(role);
    const [policy] = Object.values(Template.fromStack(stack).findResources("AWS::IAM::Policy"));
    const actions = policy?.Properties.PolicyDocument.Statement.flatMap(
      ({ Action }: { Action: unknown }) => Action,
    );
    expect(actions).toEqual(expect.arrayContaining(["dynamodb:Query", "kms:Decrypt"]));
    expect(verificationZone.worker.node.path).toBe("Verification/Sekisho/Worker");
  });
});

describe("the role that reads the outputs of the other account's stack", () => {
  it("adds the permissions boundary and the tags of the app to the role that reads stack outputs", () => {
    const app = createApp({ "@aws-cdk/core:permissionsBoundary": { name: "boundary" } });
    const { executionZone } = createZones(agentcore, app);
    Tags.of(app).add("team", "bots");
    const { Resources } = app.synth().getStackArtifact(Stack.of(executionZone).artifactId).template;
    const roles = Object.entries<{ Type: string; Properties: Record<string, unknown> }>(
      Resources,
    ).filter(([, { Type }]) => Type === "AWS::IAM::Role");
    expect(roles.map(([id]) => id)).toContainEqual(expect.stringContaining("GetStackOutputRole"));
    for (const [, { Properties }] of roles) {
      expect(Properties).toMatchObject({
        PermissionsBoundary: expect.anything(),
        Tags: [{ Key: "team", Value: "bots" }],
      });
    }
  });
});
