/** The bucket of files as CloudFormation creates it, and what may be done with it. */
import { beforeAll, describe, expect, it } from "@jest/globals";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Role } from "aws-cdk-lib/aws-iam";
import { createFileBucket, permitFiles } from "../../lib/cdk/constructs/file-bucket.ts";
import { createZoneKey } from "../../lib/cdk/constructs/zone-key.ts";

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
