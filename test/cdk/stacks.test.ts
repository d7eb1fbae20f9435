/** The templates of each kind. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { functionsInLoops } from "../lab/rehearsal/deploy-checks.ts";
import { createAuthority } from "../lab/rehearsal/iam/authority.ts";
import { collectPolicies } from "../lab/rehearsal/iam/policies.ts";
import { createResolver } from "../lab/rehearsal/template/resolve.ts";
import { eventSourcesOf, functionsOf } from "../lab/rehearsal/template/wiring.ts";
import {
  a,
  b,
  type Resource,
  referenced,
  type Synthesized,
  synthAll,
  templateFacts,
  variants,
} from "./synth.ts";

type Variant = keyof typeof variants;
const names = Object.keys(variants) as Variant[];
let apps = new Map<Variant, Synthesized>();

beforeAll(async () => {
  apps = await synthAll(variants);
});

function stacksOf(name: Variant): Synthesized {
  const app = apps.get(name);
  if (app === undefined) throw new Error(`${name} was not synthesized`);
  return app;
}

function resourcesOf(name: Variant, type?: string): Resource[] {
  const { stacks, resources } = stacksOf(name);
  return type === undefined
    ? [...stacks.values()].flatMap((stack) => stack.resources)
    : resources(type);
}

/** Returns every object in a value that has the field. */
function having(value: unknown, field: string): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap((entry) => having(entry, field));
  return field in value ? [value as Record<string, unknown>, ...inner] : inner;
}

const goldenFile = join(import.meta.dirname, "templates.golden.txt");

/** After an intended change: `UPDATE=1 npx jest test/cdk/stacks.test.ts`, and the difference is part of the commit. */
it("keeps logical ids, physical names, IAM statements, alarms, environments and limits of every kind", () => {
  const facts = templateFacts(apps);
  if (process.env.UPDATE === "1") writeFileSync(goldenFile, facts);
  expect(facts.split("\n")).toEqual(readFileSync(goldenFile, "utf8").split("\n"));
});

describe.each(names)("%s", (name) => {
  const isProduction = name.includes("production");
  const isExternal = name === "external";

  it("deploys the stacks in the order Identity, Execution, Verification, each into its account", () => {
    const { order, accounts } = stacksOf(name);
    expect(order).toEqual(
      isExternal ? ["Identity", "Verification"] : ["Identity", "Execution", "Verification"],
    );
    expect(accounts.get("Identity")).toContain(a);
    expect(accounts.get("Verification")).toContain(a);
    if (!isExternal)
      expect(accounts.get("Execution")).toContain(name.includes("two accounts") ? b : a);
  });

  it("lets nobody invoke the worker by a resource policy, so that only an IAM policy permits it", () => {
    const [worker] = resourcesOf(name, "AWS::Lambda::Function").filter(
      ({ properties }) =>
        typeof properties.Description === "string" &&
        properties.Description.startsWith("Advances tasks"),
    );
    expect(worker).toBeDefined();
    const permissions = resourcesOf(name, "AWS::Lambda::Permission").filter(
      ({ properties }) => referenced(properties.FunctionName) === worker?.id,
    );
    expect(permissions).toEqual([]);
  });

  it("gives operators an alias of the worker, and the event sources the function itself", () => {
    const [alias, ...others] = resourcesOf(name, "AWS::Lambda::Alias");
    expect(others).toEqual([]);
    expect(alias?.properties).toMatchObject({ Name: "operator", FunctionVersion: "$LATEST" });
    const output = stacksOf(name).stacks.get("Verification")?.outputs.WorkerFunction;
    expect(referenced(Object(output).Value)).toBe(alias?.id);
    const sources = resourcesOf(name, "AWS::Lambda::EventSourceMapping").map(
      ({ properties }) => properties,
    );
    const worker = referenced(alias?.properties.FunctionName);
    const targets = sources.map(({ FunctionName }) => referenced(FunctionName));
    expect(targets).toContain(worker);
    expect(targets).not.toContain(alias?.id);
  });

  it(
    isProduction
      ? "keeps data and keys when a stack is deleted"
      : "leaves only the parameter of the former live settings behind when a stack is deleted",
    () => {
      const retainedResources = resourcesOf(name).filter(
        ({ deletionPolicy }) => deletionPolicy === "Retain",
      );
      const keys = resourcesOf(name, "AWS::KMS::Key");
      expect(keys.map(({ properties }) => properties.PendingWindowInDays)).toEqual(
        keys.map(() => (isProduction ? 30 : 7)),
      );
      if (!isProduction)
        expect(
          resourcesOf(name)
            .filter((one) => !["Delete", undefined].includes(one.deletionPolicy))
            .map(({ id }) => id),
        ).toEqual(["LiveSettings"]);
      for (const type of isProduction
        ? ["AWS::KMS::Key", "AWS::DynamoDB::Table", "AWS::SQS::Queue"]
        : []) {
        const all = resourcesOf(name, type).filter(
          ({ properties }) => properties.QueueName === undefined,
        );
        expect(retainedResources.filter((one) => one.type === type)).toEqual(all);
      }
      const tables = resourcesOf(name, "AWS::DynamoDB::Table");
      expect(tables.map(({ properties }) => properties.DeletionProtectionEnabled)).toEqual(
        tables.map(() => isProduction),
      );
    },
  );

  it("creates on-demand tables with a TTL, point-in-time recovery and encryption by the zone's own key", () => {
    for (const { properties } of resourcesOf(name, "AWS::DynamoDB::Table")) {
      expect(properties).toMatchObject({
        BillingMode: "PAY_PER_REQUEST",
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        TimeToLiveSpecification: { AttributeName: "ttl", Enabled: true },
        SSESpecification: { SSEEnabled: true, SSEType: "KMS" },
      });
    }
    for (const { properties } of resourcesOf(name, "AWS::KMS::Key"))
      expect(properties.EnableKeyRotation).toBe(true);
  });

  it("puts no secret into a template or an environment variable", () => {
    for (const { text } of stacksOf(name).stacks.values()) {
      expect(text).not.toMatch(/\{\{resolve:|SecretString|AWS::SecretsManager::Secret|xoxb-/);
    }
    const variables = resourcesOf(name, "AWS::Lambda::Function").flatMap(({ properties }) =>
      having(properties, "Variables"),
    );
    expect(JSON.stringify(variables)).not.toMatch(/token|TOKEN/);
  });

  it("permits actions on all resources only for a key, in its own policy, for tokens and for spans", () => {
    const open = resourcesOf(name).filter(({ properties }) =>
      having(properties, "Effect").some(
        ({ Resource, Effect, Action }) =>
          Effect === "Allow" &&
          [Resource].flat().includes("*") &&
          !/^(sts:GetWebIdentityToken|xray:\w+)(,xray:\w+)*$/.test(String(Action)),
      ),
    );
    expect(open.map(({ type }) => type)).toEqual(
      resourcesOf(name, "AWS::KMS::Key").map(({ type }) => type),
    );
    const actions = resourcesOf(name, "AWS::IAM::Policy").flatMap(({ properties }) =>
      having(properties, "Action"),
    );
    expect(
      actions
        .flatMap(({ Action }) => [Action].flat())
        .filter((action) => String(action).includes("*")),
    ).toEqual([]);
    expect(
      resourcesOf(name, "AWS::IAM::Role").flatMap(
        ({ properties }) => properties.ManagedPolicyArns ?? [],
      ),
    ).toEqual([]);
  });

  it("lets a role use a key only through the services that need it", () => {
    const keyUses = resourcesOf(name, "AWS::IAM::Policy").flatMap(({ id, properties }) =>
      having(properties, "Action")
        .filter(({ Action }) => JSON.stringify(Action).includes("kms:"))
        .map(({ Condition }) => {
          const services = (Condition as { StringEquals?: Record<string, unknown> })
            ?.StringEquals?.["kms:ViaService"];
          return [id.replace(/(Service)?Role.*/, ""), JSON.stringify(services ?? null)] as const;
        }),
    );
    expect(keyUses.length).toBeGreaterThan(2);
    for (const [, services] of keyUses) expect(services).toMatch(/(dynamodb|s3|sqs)\./);
    const ingress = keyUses.filter(([id]) => id.startsWith("Ingress"));
    expect(ingress).toHaveLength(1);
    for (const [, services] of ingress) expect(services).not.toMatch(/dynamodb|s3/);
  });

  it("logs the source address and the outcome of each request, and nothing of its content", () => {
    const [stage] = resourcesOf(name, "AWS::ApiGatewayV2::Stage");
    const { Format = "{}" } = (stage?.properties.AccessLogSettings ?? {}) as { Format?: string };
    expect(Object.keys(JSON.parse(Format)).sort()).toEqual(
      [
        "bytes",
        "duration_ms",
        "integration_status",
        "request_id",
        "source_address",
        "status",
        "time",
      ].sort(),
    );
    expect(Format).toContain("$context.identity.sourceIp");
  });

  it("opens only the entry for Slack to the public", () => {
    const routes = resourcesOf(name, "AWS::ApiGatewayV2::Route").map(
      ({ properties }) => properties.RouteKey,
    );
    expect(routes).toEqual([
      "POST /slack/events",
      ...(isExternal ? ["GET /slack/install", "GET /slack/oauth_redirect"] : []),
    ]);
    for (const { properties } of resourcesOf(name, "AWS::Lambda::Url"))
      expect(properties.AuthType).toBe("AWS_IAM");
    const callers = resourcesOf(name, "AWS::Lambda::Permission").map(
      ({ properties }) => properties.Principal,
    );
    expect(callers).not.toContain("*");
    const policies = resourcesOf(name).flatMap(({ properties }) => having(properties, "Principal"));
    const open = policies.filter(
      ({ Principal, Effect }) => Effect === "Allow" && JSON.stringify(Principal).includes('"*"'),
    );
    expect(open).toEqual([]);
    expect(stacksOf(name).stacks.get("Verification")?.text).toContain("ThrottlingRateLimit");
  });

  it("reports only failed messages of a batch, and hides a message for six times the function timeout", () => {
    const ofClients = name.includes("A2A") ? 1 : 0;
    expect(resourcesOf(name, "AWS::Lambda::EventSourceMapping")).toHaveLength(
      ofClients + ({ lambda: 4, agentcore: 3, external: 2 }[name.split(" ")[0] ?? ""] ?? 0),
    );
    for (const { resources } of stacksOf(name).stacks.values()) {
      const byId = new Map(resources.map((one) => [one.id, one.properties]));
      for (const { properties } of resources.filter(
        ({ type }) => type === "AWS::Lambda::EventSourceMapping",
      )) {
        expect(properties.FunctionResponseTypes).toEqual(["ReportBatchItemFailures"]);
        const timeout = Number(byId.get(referenced(properties.FunctionName))?.Timeout);
        expect(byId.get(referenced(properties.EventSourceArn))?.VisibilityTimeout).toBe(
          6 * timeout,
        );
      }
    }
  });

  it("allows recursive invocation only for functions that wake themselves through queues", () => {
    const { assembly } = stacksOf(name);
    const resolver = createResolver({ assembly });
    const authority = createAuthority({ policies: collectPolicies({ resolver }) });
    const functions = functionsOf({ assembly, resolver });
    const sources = eventSourcesOf({ resolver });
    const inLoops = functionsInLoops({ resolver, authority, functions, sources }).map(
      ({ label }) => label,
    );
    expect(functions.filter(({ allowsLoops }) => allowsLoops).map(({ label }) => label)).toEqual(
      inLoops,
    );
    expect(inLoops.map((label) => label.replace(/[0-9A-F]{8}$/, "")).sort()).toEqual([
      ...(name === "lambda that serves A2A" ? ["Execution/Worker"] : []),
      "Verification/DeadLetterHandler",
      "Verification/Worker",
    ]);
  });

  it("describes every alarm", () => {
    for (const { properties } of resourcesOf(name, "AWS::CloudWatch::Alarm"))
      expect(String(properties.AlarmDescription)).toMatch(/[a-z]{3}/);
  });

  it("runs on Node 24 and arm64, with log retention and the configured log level", () => {
    const logs = { SEKISHO_LOG_LEVEL: name === "lambda in one account" ? "warn" : "info" };
    for (const { properties } of resourcesOf(name, "AWS::Lambda::Function")) {
      expect(properties).toMatchObject({
        Runtime: "nodejs24.x",
        Architectures: ["arm64"],
        Handler: "index.handler",
      });
      expect(properties).toMatchObject({ LoggingConfig: {}, Environment: { Variables: logs } });
    }
    for (const { properties } of resourcesOf(name, "AWS::BedrockAgentCore::Runtime"))
      expect(properties.EnvironmentVariables).toMatchObject({
        ...logs,
        SEKISHO_LOG_DEBUG_RATIO: "0",
      });
    for (const { properties } of resourcesOf(name, "AWS::Logs::LogGroup"))
      expect(properties.RetentionInDays).toBe(30);
  });

  it("keeps and retains the parameter of the former live settings in every stage until the next release", () => {
    const parameters = resourcesOf(name, "AWS::SSM::Parameter");
    expect(parameters).toEqual([
      {
        id: "LiveSettings",
        type: "AWS::SSM::Parameter",
        properties: { Type: "String", Value: "{}" },
        deletionPolicy: "Retain",
      },
    ]);
  });
});

describe("permissions of the deploying roles and callers", () => {
  const actionsOn = (place: string) =>
    resourcesOf("external", "AWS::IAM::Policy").flatMap(({ id, properties }) =>
      having(properties, "Action").flatMap(({ Action, Resource }) =>
        JSON.stringify(Resource).includes(place)
          ? [[id.replace(/RoleDefaultPolicy.*|[0-9A-F]{8}.*/, ""), Action]]
          : [],
      ),
    );

  it("lets only the installation flow write installations, and only the worker read them", () => {
    const writes = ["CreateSecret", "PutSecretValue", "RestoreSecret"];
    expect(actionsOn("/installations/")).toEqual([
      ["RolePolicyVerificationRole", "secretsmanager:GetSecretValue"],
      ["InstallFlow", writes.map((name) => `secretsmanager:${name}`)],
    ]);
  });

  it("lets only the Execution role send to the completion queue", () => {
    for (const name of names) {
      const allowed = resourcesOf(name, "AWS::SQS::QueuePolicy").flatMap(({ properties }) =>
        having(properties, "Effect").filter(({ Effect }) => Effect === "Allow"),
      );
      expect(allowed).toHaveLength(name === "external" ? 0 : 1);
      for (const statement of allowed) {
        expect(statement.Action).toBe("sqs:SendMessage");
        expect(JSON.stringify(statement.Condition)).toContain(":role/sekisho-dev-execution");
      }
    }
  });

  it.each([
    ["external", 6],
    ["agentcore in two accounts", 4],
    ["lambda in one account", 2],
  ] as const)(
    "the kind %s leaves %i of ten invocations to other functions while all its queues are busy",
    (name, freeInstances) => {
      const limits = resourcesOf(name, "AWS::Lambda::EventSourceMapping").map(({ properties }) =>
        Number(Object(properties.ScalingConfig).MaximumConcurrency),
      );
      expect(10 - limits.reduce((sum, limit) => sum + limit, 0)).toBe(freeInstances);
    },
  );
});

describe("the Execution zone", () => {
  it("names no role as a principal in a resource policy, because that would lock out a recreated role", () => {
    for (const name of names) {
      const resolver = createResolver({ assembly: stacksOf(name).assembly });
      const principals = collectPolicies({ resolver })
        .all()
        .flatMap((statement) => statement.principals?.aws ?? []);
      expect(principals.length).toBeGreaterThan(0);
      expect(principals.filter((principal) => principal.includes(":role/"))).toEqual([]);
    }
  });

  it("creates an AgentCore Runtime with a policy of its own for it and for its endpoint", () => {
    const name = "agentcore in two accounts";
    const [runtime] = resourcesOf(name, "AWS::BedrockAgentCore::Runtime");
    expect(JSON.stringify(runtime?.properties)).toContain("NODE_22");
    expect(runtime?.properties.PlatformVersion).toBe("V1");
    const [endpoint] = resourcesOf(name, "AWS::BedrockAgentCore::RuntimeEndpoint");
    expect(endpoint?.properties.AgentRuntimeVersion).toEqual({
      "Fn::GetAtt": [runtime?.id, "AgentRuntimeVersion"],
    });
    const policies = resourcesOf(name, "AWS::BedrockAgentCore::ResourcePolicy").map(
      ({ properties }) => properties,
    );
    expect(policies.map(({ ResourceArn }) => ResourceArn)).toEqual([
      { "Fn::GetAtt": [runtime?.id, "AgentRuntimeArn"] },
      { "Fn::GetAtt": [endpoint?.id, "AgentRuntimeEndpointArn"] },
    ]);
  });
});
