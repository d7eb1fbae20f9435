/** The bucket where files of messages lie for a day, each readable by its presigned URL and by nothing else. */
import { Duration, Stack } from "aws-cdk-lib";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { BlockPublicAccess, Bucket, BucketEncryption, type CfnBucket, ObjectOwnership } from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import { removalPolicy } from "./zone-key.ts";

/** S3 takes objects away at the first midnight (UTC) after this. */
const life = Duration.days(1);

/** Without versions: what is over is gone. */
export function createFileBucket(
  scope: Construct,
  id: string,
  { key, production }: { key: IKey; production: boolean },
): Bucket {
  const bucket = new Bucket(scope, id, {
    encryption: BucketEncryption.KMS,
    encryptionKey: key,
    bucketKeyEnabled: true,
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    lifecycleRules: [{ expiration: life, abortIncompleteMultipartUploadAfter: life }],
    removalPolicy: removalPolicy({ production }),
  });
  acknowledge(bucket, {
    findings: ["AwsSolutions-S1"],
    reason:
      "Its log would be a second bucket that outlives what it tells of; who wants one has CloudTrail's data events.",
  });
  return bucket;
}

/** Putting files there, and signing URLs, which can do what the signer can. */
export function permitFiles(role: IRole, bucket: Bucket): void {
  const resource = bucket.arnForObjects("*");
  const name = Stack.of(bucket).getLogicalId(bucket.node.defaultChild as CfnBucket);
  role.addToPrincipalPolicy(new PolicyStatement({ actions: ["s3:PutObject", "s3:GetObject"], resources: [resource] }));
  acknowledge(role, {
    findings: [`AwsSolutions-IAM5[Resource::<${name}.Arn>/*]`],
    reason: "Files are named by request; the bucket holds nothing else.",
  });
}
