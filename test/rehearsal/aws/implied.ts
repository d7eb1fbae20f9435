/** What a call makes AWS do under the caller's own permissions: with data that is encrypted under a key of the account. */
import type { Resolver } from "../template/resolve.ts";
import { record } from "../template/wiring.ts";
import type { AwsCall } from "./read-call.ts";

export type ImpliedCall = { action: string; resource: string; context: Record<string, string> };
export type Implied = (call: Pick<AwsCall, "service" | "action" | "resources">) => ImpliedCall[];

/** https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html */
const ofQueues: Record<string, readonly string[]> = {
  "sqs:SendMessage": ["kms:GenerateDataKey", "kms:Decrypt"],
  "sqs:SendMessageBatch": ["kms:GenerateDataKey", "kms:Decrypt"],
  "sqs:ReceiveMessage": ["kms:Decrypt"],
};
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html */
const ofBuckets: Record<string, readonly string[]> = {
  "s3:PutObject": ["kms:GenerateDataKey"],
  "s3:GetObject": ["kms:Decrypt"],
};
/** Data-plane calls decrypt the table's key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.usagenotes.html */
const ofTables: readonly string[] = ["kms:Decrypt"];

export function impliedBy({ resolver }: { resolver: Resolver }): Implied {
  const keysOfQueues = new Map<string, string>();
  for (const queue of resolver.resources("AWS::SQS::Queue")) {
    const { KmsMasterKeyId: key } = queue.properties;
    if (key !== undefined) keysOfQueues.set(resolver.attribute(queue, "Arn"), keyArn(resolver, String(key)));
  }
  const keysOfTables = new Map<string, string>();
  for (const table of resolver.resources("AWS::DynamoDB::Table")) {
    const { KMSMasterKeyId: key } = record(table.properties.SSESpecification);
    if (key !== undefined) keysOfTables.set(resolver.attribute(table, "Arn"), keyArn(resolver, String(key)));
  }
  const keysOfBuckets = new Map<string, string>();
  for (const bucket of resolver.resources("AWS::S3::Bucket")) {
    const key = keyOfBucket(bucket.properties);
    if (key !== undefined) keysOfBuckets.set(resolver.attribute(bucket, "Arn"), keyArn(resolver, key));
  }
  return ({ service, action, resources }) =>
    resources.flatMap((arn) => {
      const key =
        keysOfQueues.get(arn) ??
        keysOfTables.get(arn.replace(/\/index\/.*$/, "")) ??
        keysOfBuckets.get(arn.split("/")[0] ?? "");
      if (key === undefined) return [];
      const actions = service === "dynamodb" ? ofTables : (ofQueues[action] ?? ofBuckets[action] ?? []);
      // A key is where the data is, of which a bucket's ARN says nothing.
      const context = { "kms:viaservice": `${service}.${key.split(":")[3]}.amazonaws.com` };
      return actions.map((implied) => ({ action: implied, resource: key, context }));
    });
}

/** Undefined where the bucket is encrypted by S3's own key, which needs nobody's permission. */
function keyOfBucket({ BucketEncryption }: Record<string, unknown>): string | undefined {
  const [rule] = [record(BucketEncryption).ServerSideEncryptionConfiguration].flat();
  const { KMSMasterKeyID: key } = record(record(rule).ServerSideEncryptionByDefault);
  return key === undefined ? undefined : String(key);
}

/** A key may be named by its id, its ARN or an alias. */
export function keyArn(resolver: Resolver, name: string): string {
  const alias = resolver.resources("AWS::KMS::Alias").find((candidate) => resolver.ref(candidate) === name);
  const wanted = alias === undefined ? name : String(alias.properties.TargetKeyId);
  const key = resolver
    .resources("AWS::KMS::Key")
    .find((candidate) => [resolver.ref(candidate), resolver.attribute(candidate, "Arn")].includes(wanted));
  if (key === undefined) throw new Error(`No template has the key ${name}.`);
  return resolver.attribute(key, "Arn");
}
