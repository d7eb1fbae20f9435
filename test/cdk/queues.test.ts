/** What waits and for how long, the entry of the installation flow, and the stores of a zone. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import {
  createFileBucket,
  createTaskTable,
  createZoneKey,
} from "@sekisho/cdk/constructs/storage.ts";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { configWith, type Resource, type Synthesized, synthAll, variants } from "./synth.ts";

const far = {
  transport: "https",
  url: "https://far.example/",
  authorizer: { type: "bearer", token: { env: "FAR" } },
};
const configs = {
  external: variants.external,
  patient: configWith({
    stage: { execution: { kind: "external" } },
    destinations: { far: { ...far, callTimeoutMs: 300_000 } },
    routes: [{ destination: "far" }],
  }),
};

type Name = keyof typeof configs;
let apps = new Map<Name, Synthesized>();

beforeAll(async () => {
  apps = await synthAll(configs);
});

const resourcesOf = (name: Name, type: string): Resource[] => apps.get(name)?.resources(type) ?? [];

it("gives the worker time for a long call, and hides no message longer for it", () => {
  const timesOf = (name: Name) => ({
    hidden: resourcesOf(name, "AWS::SQS::Queue").map(
      ({ properties }) => properties.VisibilityTimeout,
    ),
    workers: resourcesOf(name, "AWS::Lambda::Function")
      .filter(({ id }) => id.startsWith("Worker"))
      .map(({ properties }) => properties.Timeout),
  });
  expect(timesOf("patient")).toEqual({
    hidden: timesOf("external").hidden,
    workers: [60 + 15 + 270],
  });
  expect(timesOf("patient").hidden).toContain(450);
});

it("creates the routes of the installation flow before the stage, which AWS would refuse without them", () => {
  const [stage] = resourcesOf("external", "AWS::ApiGatewayV2::Stage");
  const { Resources } = JSON.parse(apps.get("external")?.stacks.get("Verification")?.text ?? "{}");
  const routes = resourcesOf("external", "AWS::ApiGatewayV2::Route").filter(({ properties }) =>
    String(properties.RouteKey).startsWith("GET "),
  );
  expect(routes).toHaveLength(2);
  expect(Resources[stage?.id ?? ""].DependsOn).toEqual(
    expect.arrayContaining(routes.map(({ id }) => id)),
  );
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
