/** The bucket of files and the task table as CloudFormation creates them. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Role } from "aws-cdk-lib/aws-iam";
import { createFileBucket, createTaskTable, createZoneKey, permitFiles } from "../../lib/cdk/constructs/storage.ts";

const templates = new Map<boolean, Template>();

beforeAll(() => {
  for (const production of [false, true]) {
    const app = new App({ analyticsReporting: false });
    const stack = new Stack(app, "Zone", { env: { account: "111111111111", region: "eu-central-1" } });
    const key = createZoneKey(stack, "Key", { production });
    permitFiles(Role.fromRoleName(stack, "Role", "theRole"), createFileBucket(stack, "Files", { key, production }));
    templates.set(production, Template.fromStack(stack));
  }
});

function onlyResource(type: string, { production = false } = {}) {
  const [only, ...others] = Object.values(templates.get(production)?.findResources(type) ?? {});
  expect(others).toEqual([]);
  return only ?? {};
}

describe("the bucket of files", () => {
  it("is private, encrypted by the zone's own key, without versions, and forgets after a day", () => {
    const { Properties: properties } = onlyResource("AWS::S3::Bucket");
    expect(properties).toEqual({
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
        Rules: [{ ExpirationInDays: 1, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: "Enabled" }],
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

  it("refuses everybody who comes without TLS, and its policy lets nobody in", () => {
    const { Properties: properties } = onlyResource("AWS::S3::BucketPolicy");
    expect(properties?.PolicyDocument.Statement).toEqual([
      expect.objectContaining({
        Effect: "Deny",
        Action: "s3:*",
        Principal: { AWS: "*" },
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      }),
    ]);
  });

  it("lets the role put files and read them, and neither list nor delete any", () => {
    const { Properties: properties } = onlyResource("AWS::IAM::Policy");
    expect(properties?.PolicyDocument.Statement).toEqual([
      {
        Effect: "Allow",
        Action: ["s3:PutObject", "s3:GetObject"],
        Resource: { "Fn::Join": ["", [{ "Fn::GetAtt": [expect.stringMatching(/^Files/), "Arn"] }, "/*"]] },
      },
    ]);
  });

  it("is kept in production when its stack is deleted, and goes with it elsewhere", () => {
    expect(onlyResource("AWS::S3::Bucket", { production: true }).DeletionPolicy).toBe("Retain");
    expect(onlyResource("AWS::S3::Bucket").DeletionPolicy).toBe("Delete");
  });
});

describe("the table of tasks", () => {
  const indexesOf = (options: { hasPrincipals?: boolean }) => {
    const stack = new Stack(new App(), "Zone");
    const key = createZoneKey(stack, "Key", { production: false });
    createTaskTable(stack, "Tasks", { key, production: false, ...options });
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

  it("has one index, which spreads items over shards, and one of principals only where the zone lists them", () => {
    expect(indexesOf({})).toEqual([index("shard", "position")]);
    expect(indexesOf({ hasPrincipals: true })).toEqual([index("shard", "position"), index("principal", "listed")]);
  });
});
