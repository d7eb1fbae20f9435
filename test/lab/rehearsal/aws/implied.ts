/** The calls of KMS that AWS makes under the caller's permissions, because the data is encrypted by a key of the account. */
import type { Resolver, Resource } from "../template/resolve.ts";
import { record } from "../template/wiring.ts";
import type { AwsCall } from "./read-call.ts";

export type ImpliedCall = { action: string; resource: string; context: Record<string, string> };
export type Implied = (call: Pick<AwsCall, "service" | "action" | "resources">) => ImpliedCall[];

/**
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
 */
const keyActions: Record<string, readonly string[]> = {
  "sqs:SendMessage": ["kms:GenerateDataKey", "kms:Decrypt"],
  "sqs:ReceiveMessage": ["kms:Decrypt"],
  "s3:PutObject": ["kms:GenerateDataKey"],
  "s3:GetObject": ["kms:Decrypt"],
};
/** All calls of the data plane: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html */
const tableActions: readonly string[] = ["kms:Decrypt"];

export function impliedBy({ resolver }: { resolver: Resolver }): Implied {
  const keyNames = {
    "AWS::SQS::Queue": ({ properties }: Resource) => properties.KmsMasterKeyId,
    "AWS::DynamoDB::Table": ({ properties }: Resource) =>
      record(properties.SSESpecification).KMSMasterKeyId,
    "AWS::S3::Bucket": keyOfBucket,
  };
  /** The key of each queue, table and bucket, by its ARN. */
  const keys = new Map<string, string>();
  for (const [type, keyNameOf] of Object.entries(keyNames))
    for (const resource of resolver.resources(type)) {
      const name = keyNameOf(resource);
      if (name !== undefined) keys.set(resource.arn, keyArn(resolver, String(name)));
    }
  return ({ service, action, resources }) =>
    resources.flatMap((arn) => {
      const key = keys.get(
        service === "s3" ? (arn.split("/")[0] ?? "") : arn.replace(/\/index\/.*$/, ""),
      );
      if (key === undefined) return [];
      // The key is in the region of the data, which the ARN of a bucket does not name.
      const context = { "kms:viaservice": `${service}.${key.split(":")[3]}.amazonaws.com` };
      const actions = service === "dynamodb" ? tableActions : (keyActions[action] ?? []);
      return actions.map((implied) => ({ action: implied, resource: key, context }));
    });
}

/** Returns undefined for S3's own key, which needs no permission. */
function keyOfBucket({ properties }: Resource): unknown {
  const [rule] = [record(properties.BucketEncryption).ServerSideEncryptionConfiguration].flat();
  return record(record(rule).ServerSideEncryptionByDefault).KMSMasterKeyID;
}

/** Finds the key by its id or ARN. */
export function keyArn(resolver: Resolver, name: string): string {
  const key = resolver.resources("AWS::KMS::Key").find(({ ref, arn }) => [ref, arn].includes(name));
  if (key === undefined) throw new Error(`No template has the key ${name}.`);
  return key.arn;
}
