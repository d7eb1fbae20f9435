/** The storage of a zone: its key, its task table, and the bucket of files. */

import { taskTable } from "@sekisho/runtime/engine/aws/table.ts";
import { Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import {
  AttributeType,
  BillingMode,
  ProjectionType,
  Table,
  TableEncryption,
} from "aws-cdk-lib/aws-dynamodb";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type CfnBucket,
  ObjectOwnership,
} from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { acknowledge, acknowledgeWildcards, permit } from "./permissions.ts";

/** Keeps the data of a production stage when its stack is deleted. The data of other stages is deleted with the stack. */
export function removalPolicy({ production }: { production: boolean }): RemovalPolicy {
  return production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}

/** AWS allows 7 to 30 days between the request to delete a key and its deletion. */
const maxWindow = Duration.days(30);
const minWindow = Duration.days(7);

export function createZoneKey(
  scope: Construct,
  id: string,
  { production }: { production: boolean },
): Key {
  return new Key(scope, id, {
    enableKeyRotation: true,
    pendingWindow: production ? maxWindow : minWindow,
    removalPolicy: removalPolicy({ production }),
  });
}

/** `shards` for the command line, `principals` for a zone that lists the tasks of a caller or of a person. */
type TaskIndex = "shards" | "principals";

/** Every change of an indexed attribute costs a write, so no index has one that changes with each step of a task. */
export function createTaskTable(
  scope: Construct,
  id: string,
  { key, production, indexes }: { key: IKey; production: boolean; indexes: readonly TaskIndex[] },
): Table {
  const table = new Table(scope, id, {
    partitionKey: { name: taskTable.partitionKey, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    timeToLiveAttribute: taskTable.ttlAttribute,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    encryption: TableEncryption.CUSTOMER_MANAGED,
    encryptionKey: key,
    deletionProtection: production,
    removalPolicy: removalPolicy({ production }),
  });
  for (const index of indexes) {
    const { indexName, partitionKey, sortKey } = taskTable[index];
    table.addGlobalSecondaryIndex({
      indexName,
      partitionKey: { name: partitionKey, type: AttributeType.STRING },
      sortKey: { name: sortKey, type: AttributeType.STRING },
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }
  return table;
}

/** S3 deletes an object at the first midnight (UTC) after this. */
const fileLifetime = Duration.days(1);

/** Makes the bucket that keeps the files of messages for a day. It has no versions, so a deleted file is gone. */
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
    lifecycleRules: [
      { expiration: fileLifetime, abortIncompleteMultipartUploadAfter: fileLifetime },
    ],
    removalPolicy: removalPolicy({ production }),
  });
  acknowledge(bucket, {
    findings: ["AwsSolutions-S1"],
    reason:
      "An access log would outlive the files. CloudTrail data events can log access if needed.",
  });
  return bucket;
}

/** Lets the role put and read files. The same permissions apply to a presigned URL that the role signs. */
export function permitFiles(role: IRole, bucket: Bucket): void {
  const resource = bucket.arnForObjects("*");
  const name = Stack.of(bucket).getLogicalId(bucket.node.defaultChild as CfnBucket);
  permit(
    role,
    new PolicyStatement({ actions: ["s3:PutObject", "s3:GetObject"], resources: [resource] }),
  );
  acknowledgeWildcards(role, {
    resources: [`<${name}.Arn>/*`],
    reason: "Files are named by request; the bucket holds nothing else.",
  });
}
