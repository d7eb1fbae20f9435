/** The completion queue in the templates: who may send to it, and who consumes it. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import {
  createFileBucket,
  createTaskTable,
  createZoneKey,
} from "@sekisho/cdk/constructs/storage.ts";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { a, b, configWith, type Resource, type Synthesized, synthAll, variants } from "./synth.ts";

const chosenVariants = {
  "agentcore in two accounts": variants["agentcore in two accounts"],
  "lambda in one account": variants["lambda in one account"],
  external: variants.external,
};

type Variant = keyof typeof chosenVariants;
type Statement = {
  Effect: string;
  Action: unknown;
  Resource: unknown;
  Principal?: unknown;
  Condition?: unknown;
};
let apps = new Map<Variant, Synthesized>();

beforeAll(async () => {
  apps = await synthAll(chosenVariants);
});

function resourcesOf(name: Variant, zone: string, type: string): Resource[] {
  return apps.get(name)?.resources(type, zone) ?? [];
}

function statementsOf(policies: unknown[]): Statement[] {
  return policies.flatMap((policy) => (policy as { Statement: Statement[] }).Statement);
}

/** Resolves joins and the pseudo parameters of the standard partition. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  if ("Fn::Join" in value) return (value["Fn::Join"] as [string, unknown[]])[1].map(plain).join("");
  if ("Ref" in value)
    return (
      { "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com" }[String(value.Ref)] ?? value
    );
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}

const throughSqs = { "kms:ViaService": "sqs.eu-central-1.amazonaws.com" };

describe.each([
  ["agentcore in two accounts", b],
  ["lambda in one account", a],
] as const)("%s", (name, account) => {
  const role = `arn:aws:iam::${account}:role/sekisho-dev-execution`;
  const root = { AWS: `arn:aws:iam::${account}:root` };
  const isRole = { ArnEquals: { "aws:PrincipalArn": role } };

  it("encrypts the completion queue and lets only the Execution role send to it", () => {
    const queues = resourcesOf(name, "Verification", "AWS::SQS::Queue").filter(
      (one) => one.properties.QueueName,
    );
    expect(queues.map(({ properties }) => properties)).toMatchObject([
      { QueueName: "sekisho-dev-completions", KmsMasterKeyId: expect.anything() },
    ]);
    const [queue] = queues;
    const policies = resourcesOf(name, "Verification", "AWS::SQS::QueuePolicy").filter(
      ({ properties }) => JSON.stringify(properties.Queues).includes(`"${queue?.id}"`),
    );
    const allowStatements = statementsOf(
      policies.map(({ properties }) => properties.PolicyDocument),
    ).filter(({ Effect }) => Effect === "Allow");
    expect(allowStatements.map(plain)).toEqual([
      {
        Action: "sqs:SendMessage",
        Condition: isRole,
        Effect: "Allow",
        Principal: root,
        Resource: { "Fn::GetAtt": [queue?.id, "Arn"] },
      },
    ]);
    const [key] = resourcesOf(name, "Verification", "AWS::KMS::Key");
    const ofRole = statementsOf([key?.properties.KeyPolicy])
      .map(plain)
      .filter((statement) => JSON.stringify(statement).includes(role));
    expect(ofRole).toEqual([
      {
        Action: ["kms:Decrypt", "kms:GenerateDataKey"],
        Condition: { StringEquals: throughSqs, ...isRole },
        Effect: "Allow",
        Principal: root,
        Resource: "*",
      },
    ]);
  });

  it("passes the address of the completion queue only to what runs agents", () => {
    const places = ["AWS::Lambda::Function", "AWS::BedrockAgentCore::Runtime"].flatMap((type) =>
      ["Execution", "Verification"].flatMap((zone) => resourcesOf(name, zone, type)),
    );
    const pushFunctions = places.filter(({ properties }) =>
      JSON.stringify(properties).includes("SEKISHO_COMPLETIONS_URL"),
    );
    expect(pushFunctions.map(({ id }) => id)).toEqual([expect.stringMatching(/^(Worker|Runtime)/)]);
    expect(JSON.stringify(plain(pushFunctions[0]?.properties))).toContain(
      `"https://sqs.eu-central-1.amazonaws.com/${a}/sekisho-dev-completions"`,
    );
  });

  it("runs at most two workers for the completion queue and drops a message after three failures", () => {
    const [queue] = resourcesOf(name, "Verification", "AWS::SQS::Queue").filter(
      (one) => one.properties.QueueName,
    );
    const sources = resourcesOf(name, "Verification", "AWS::Lambda::EventSourceMapping").filter(
      ({ properties }) => JSON.stringify(properties.EventSourceArn).includes(`"${queue?.id}"`),
    );
    expect(sources.map(({ properties }) => properties)).toMatchObject([
      {
        FunctionName: { Ref: expect.stringMatching(/^Worker/) },
        ScalingConfig: { MaximumConcurrency: 2 },
      },
    ]);
    const { MessageRetentionPeriod: retentionSeconds, VisibilityTimeout: timeoutSeconds } =
      queue?.properties ?? {};
    expect(Number(retentionSeconds)).toBe(3 * Number(timeoutSeconds));
  });
});

describe("a stage whose tasks are executed elsewhere", () => {
  it("creates no completion queue for a stage whose tasks are executed elsewhere", () => {
    expect(apps.get("external")?.stacks.get("Verification")?.text).not.toContain("completions");
  });
});

const far = {
  transport: "https",
  url: "https://far.example/",
  authorizer: { type: "bearer", token: { env: "FAR" } },
};
const external = { destinations: { far }, routes: [{ destination: "far" }] };
const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };
const scale = { workerConcurrency: 8, eventsPerSecond: 120, eventBurst: 400, reservedIngress: 30 };

const configs = {
  agentcore: configWith({ stage: {} }),
  lambda: configWith({ stage: { execution: { kind: "lambda" } } }),
  external: configWith({
    stage: { execution: { kind: "external" } },
    ...external,
    slack: { install },
  }),
  patient: configWith({
    stage: { execution: { kind: "external" } },
    destinations: { far: { ...far, callTimeoutMs: 300_000 } },
    routes: [{ destination: "far" }],
  }),
  scaled: configWith({
    stage: { execution: { kind: "lambda" }, scale: { ...scale, agentConcurrency: 24 } },
  }),
};

type Name = keyof typeof configs;
let scaled = new Map<Name, Synthesized>();

beforeAll(async () => {
  scaled = await synthAll(configs);
});

function scaledResources(name: Name, type: string): Resource[] {
  const all = [...(scaled.get(name)?.stacks.values() ?? [])].flatMap(({ resources }) => resources);
  return all.filter((resource) => resource.type === type);
}

/** Returns the concurrent invocations of all event sources of the stage together. */
function sourcesOf(name: Name): number[] {
  const sources = scaledResources(name, "AWS::Lambda::EventSourceMapping");
  return sources.map(({ properties }) => Number(having(properties, "MaximumConcurrency")));
}

function having({ ScalingConfig }: Record<string, unknown>, field: string): unknown {
  return (ScalingConfig as Record<string, unknown> | undefined)?.[field];
}

function reservedOf(name: Name): unknown[] {
  const functions = scaledResources(name, "AWS::Lambda::Function");
  return functions.flatMap(({ id, properties }) =>
    properties.ReservedConcurrentExecutions === undefined
      ? []
      : [[id.replace(/[0-9A-F]{8}$/, ""), properties.ReservedConcurrentExecutions]],
  );
}

it("gives the worker time for a long call, and hides no message longer for it", () => {
  const timesOf = (name: Name) => ({
    hidden: scaledResources(name, "AWS::SQS::Queue").map(
      ({ properties }) => properties.VisibilityTimeout,
    ),
    workers: scaledResources(name, "AWS::Lambda::Function")
      .filter(({ id }) => id.startsWith("Worker"))
      .map(({ properties }) => properties.Timeout),
  });
  expect(timesOf("patient")).toEqual({
    hidden: timesOf("external").hidden,
    workers: [60 + 15 + 270],
  });
  expect(timesOf("patient").hidden).toContain(450);
});

describe("the default concurrency in an account with ten invocations", () => {
  it.each([
    ["external", 6],
    ["agentcore", 4],
    ["lambda", 2],
  ] as const)(
    "the kind %s leaves %i of ten invocations to other functions while all its queues are busy",
    (name, freeInstances) => {
      const most = sourcesOf(name).reduce((sum, one) => sum + one, 0);
      expect(10 - most).toBe(freeInstances);
    },
  );

  it.each(["agentcore", "lambda", "external"] as const)(
    "the kind %s reserves no concurrency by default, since an account of ten invocations refuses that",
    (name) => {
      expect(reservedOf(name)).toEqual([]);
    },
  );

  it("limits concurrent sends to the number of agents that run on Lambda", () => {
    const [worker] = scaledResources("lambda", "AWS::Lambda::Function").filter(({ properties }) =>
      JSON.stringify(properties).includes("SEKISHO_EXECUTION_ADDRESS"),
    );
    expect(JSON.stringify(worker?.properties)).toContain('\\"sendsAtOnce\\":1');
  });
});

describe("the scale of a stage", () => {
  it("sets the concurrency of workers and agents, and what is reserved for the ingress", () => {
    expect(sourcesOf("scaled").sort((one, other) => one - other)).toEqual([2, 2, 8, 24]);
    expect(reservedOf("scaled")).toEqual([["Ingress", 30]]);
    expect(JSON.stringify(scaledResources("scaled", "AWS::Lambda::Function"))).toContain(
      '\\"sendsAtOnce\\":3',
    );
  });

  it("sets the limits of requests from Slack", () => {
    const limitOf = (name: Name) =>
      scaledResources(name, "AWS::ApiGatewayV2::Stage")[0]?.properties.DefaultRouteSettings;
    expect(limitOf("agentcore")).toEqual({ ThrottlingRateLimit: 50, ThrottlingBurstLimit: 200 });
    expect(limitOf("scaled")).toEqual({ ThrottlingRateLimit: 120, ThrottlingBurstLimit: 400 });
  });

  it("limits requests of the installation flow apart from events", () => {
    const [stage] = scaledResources("external", "AWS::ApiGatewayV2::Stage");
    const own = { ThrottlingRateLimit: 2, ThrottlingBurstLimit: 5 };
    expect(stage?.properties.RouteSettings).toEqual({
      "GET /slack/install": own,
      "GET /slack/oauth_redirect": own,
    });
    expect(
      scaledResources("agentcore", "AWS::ApiGatewayV2::Stage")[0]?.properties.RouteSettings,
    ).toBeUndefined();
    // AWS refuses a stage that is created before its routes.
    const { Resources } = JSON.parse(
      scaled.get("external")?.stacks.get("Verification")?.text ?? "{}",
    );
    const routes = scaledResources("external", "AWS::ApiGatewayV2::Route").filter(
      ({ properties }) => String(properties.RouteKey).startsWith("GET "),
    );
    expect(routes).toHaveLength(2);
    expect(Resources[stage?.id ?? ""].DependsOn).toEqual(
      expect.arrayContaining(routes.map(({ id }) => id)),
    );
  });
});

describe("the bucket of files", () => {
  const createBucket = ({ production }: { production: boolean }) => {
    const stack = new Stack(new App(), "Zone");
    const key = createZoneKey(stack, "Key", { production });
    createFileBucket(stack, "Files", { key, production });
    return Object.values(Template.fromStack(stack).findResources("AWS::S3::Bucket"))[0];
  };

  it("keeps the bucket of files when a production stack is deleted, and deletes it elsewhere", () => {
    expect(createBucket({ production: true })?.DeletionPolicy).toBe("Retain");
    expect(createBucket({ production: false })?.DeletionPolicy).toBe("Delete");
  });

  it("creates a private bucket, encrypted by the zone's own key, that deletes files after a day", () => {
    expect(createBucket({ production: false })?.Properties).toEqual({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          {
            BucketKeyEnabled: true,
            ServerSideEncryptionByDefault: {
              SSEAlgorithm: "aws:kms",
              KMSMasterKeyID: { "Fn::GetAtt": [expect.stringMatching(/^Key/), "Arn"] },
            },
          },
        ],
      },
      LifecycleConfiguration: {
        Rules: [
          {
            ExpirationInDays: 1,
            AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
            Status: "Enabled",
          },
        ],
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: "BucketOwnerEnforced" }] },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
    });
  });
});

describe("the table of tasks", () => {
  const indexesOf = (...indexes: ("shards" | "principals")[]) => {
    const stack = new Stack(new App(), "Zone");
    const key = createZoneKey(stack, "Key", { production: false });
    createTaskTable(stack, "Tasks", { key, production: false, indexes });
    const [table] = Object.values(Template.fromStack(stack).findResources("AWS::DynamoDB::Table"));
    return table?.Properties.GlobalSecondaryIndexes;
  };
  const index = (name: string, sortKey: string) => ({
    IndexName: `by-${name}`,
    KeySchema: [
      { AttributeName: name, KeyType: "HASH" },
      { AttributeName: sortKey, KeyType: "RANGE" },
    ],
    Projection: { ProjectionType: "KEYS_ONLY" },
  });

  it("creates only the indexes that the zone needs, with keys only", () => {
    expect(indexesOf()).toBeUndefined();
    expect(indexesOf("principals")).toEqual([index("principal", "listed")]);
    expect(indexesOf("shards", "principals")).toEqual([
      index("shard", "position"),
      index("principal", "listed"),
    ]);
  });
});
