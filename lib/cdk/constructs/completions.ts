/** The Verification zone's half of the completion push: a queue that the Execution role may send to, under the zone's key. */
import { Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { AccountPrincipal, PolicyStatement, PrincipalWithConditions, type Role } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { formatCompletionQueueName } from "../names.ts";
import type { StageSettings } from "../stage-settings.ts";
import { acknowledge, shownPartition } from "./acknowledge.ts";

/** After that many attempts at waking its task it is of no use any more: the task has been polled meanwhile. */
const receives = 3;

export function createCompletionQueue(
  scope: Construct,
  id: string,
  {
    stageName,
    key,
    visibility,
    sender: { account, roleName },
  }: { stageName: string; key: Key; visibility: Duration; sender: { account: string; roleName: string } },
): Queue {
  const queue = new Queue(scope, id, {
    queueName: formatCompletionQueueName({ stageName }),
    encryption: QueueEncryption.KMS,
    encryptionMasterKey: key,
    enforceSSL: true,
    visibilityTimeout: visibility,
    retentionPeriod: Duration.seconds(receives * visibility.toSeconds()),
    // Nothing in it is worth keeping, and its name must be free for the next deploy.
    removalPolicy: RemovalPolicy.DESTROY,
  });
  acknowledge(queue, {
    findings: ["AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy"],
    reason: "A push that cannot be handled is dropped: the task that it names is polled all the same.",
  });
  const { partition, region, urlSuffix } = Stack.of(scope);
  // By its ARN and not as a principal, which would stay the role that was there at the deploy when another takes its name.
  const isSender = { ArnEquals: { "aws:PrincipalArn": `arn:${partition}:iam::${account}:role/${roleName}` } };
  const sender = { principals: [new PrincipalWithConditions(new AccountPrincipal(account), isSender)] };
  queue.addToResourcePolicy(
    new PolicyStatement({ ...sender, actions: ["sqs:SendMessage"], resources: [queue.queueArn] }),
  );
  key.addToResourcePolicy(
    new PolicyStatement({
      ...sender,
      actions: ["kms:GenerateDataKey", "kms:Decrypt"],
      resources: ["*"],
      conditions: { StringEquals: { "kms:ViaService": `sqs.${region}.${urlSuffix}` } },
    }),
  );
  return queue;
}

// The Execution zone's half of the completion push: where its role sends to, and what it is permitted for that.

/** The variable for whatever runs under the role, which is permitted to push. */
export function permitCompletionPush(
  role: Role,
  { stageName, stage: { verification } }: Pick<StageSettings, "stageName" | "stage">,
): Record<string, string> {
  const stack = Stack.of(role);
  const { account, region } = verification;
  const queueName = formatCompletionQueueName({ stageName });
  const queueArn = stack.formatArn({ service: "sqs", account, region, resource: queueName });
  role.addToPolicy(new PolicyStatement({ actions: ["sqs:SendMessage"], resources: [queueArn] }));
  const key = (partition: string) => `arn:${partition}:kms:${region}:${account}:key/*`;
  role.addToPolicy(
    new PolicyStatement({
      actions: ["kms:GenerateDataKey", "kms:Decrypt"],
      resources: [key(stack.partition)],
      conditions: { StringEquals: { "kms:ViaService": `sqs.${region}.${stack.urlSuffix}` } },
    }),
  );
  acknowledge(role, {
    findings: [`AwsSolutions-IAM5[Resource::${key(shownPartition(role))}]`],
    reason:
      "The key is made after this role. Only SQS may use it for the role, which may send to one queue; the key's policy names the role.",
  });
  return { SEKISHO_COMPLETIONS_URL: `https://sqs.${region}.${stack.urlSuffix}/${account}/${queueName}` };
}
