/** The queues of both zones, and the completion push from the Execution zone to the Verification zone. */
import { Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import {
  AccountPrincipal,
  PolicyStatement,
  PrincipalWithConditions,
  type Role,
} from "aws-cdk-lib/aws-iam";
import type { IKey, Key } from "aws-cdk-lib/aws-kms";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { formatCompletionQueueName, formatRoleName } from "../names.ts";
import type { StageSettings } from "../stage-settings.ts";
import { acknowledge, acknowledgeWildcards, permit, shownPartition } from "./permissions.ts";
import { removalPolicy } from "./storage.ts";

/** AWS recommends six times the function's timeout, so that a message is not delivered again while Lambda retries its batch. */
export function visibilityTimeout(functionTimeout: Duration): Duration {
  return Duration.seconds(6 * functionTimeout.toSeconds());
}

type QueueProps = {
  key: IKey;
  production: boolean;
  visibility?: Duration;
  deadLetters?: { queue: Queue; maxReceiveCount: number };
};

export function createQueue(
  scope: Construct,
  id: string,
  { key, production, visibility, deadLetters }: QueueProps,
) {
  const queue = new Queue(scope, id, {
    encryption: QueueEncryption.KMS,
    encryptionMasterKey: key,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
    removalPolicy: removalPolicy({ production }),
    ...(visibility && { visibilityTimeout: visibility }),
    ...(deadLetters && { deadLetterQueue: deadLetters }),
  });
  if (deadLetters === undefined)
    acknowledgeLastQueue(queue, "It holds messages that failed elsewhere.");
  return queue;
}

function acknowledgeLastQueue(queue: Queue, reason: string): void {
  acknowledge(queue, { findings: ["AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy"], reason });
}

/** A push is dropped after this many failures, because the task has been polled in the meantime. */
const pushReceives = 3;

type CompletionQueueProps = {
  stageName: string;
  key: Key;
  visibility: Duration;
  senderAccount: string;
};

/** The receiving side of the completion push: a queue, and the permission of the Execution zone's role to send to it. */
export function createCompletionQueue(
  scope: Construct,
  id: string,
  { stageName, key, visibility, senderAccount }: CompletionQueueProps,
): Queue {
  const queue = new Queue(scope, id, {
    queueName: formatCompletionQueueName({ stageName }),
    encryption: QueueEncryption.KMS,
    encryptionMasterKey: key,
    enforceSSL: true,
    visibilityTimeout: visibility,
    retentionPeriod: Duration.seconds(pushReceives * visibility.toSeconds()),
    // Old pushes have no value, and the fixed name must be free for the next deploy.
    removalPolicy: RemovalPolicy.DESTROY,
  });
  acknowledgeLastQueue(queue, "A failed push can be dropped, because its task is polled anyway.");
  const { partition, region, urlSuffix } = Stack.of(scope);
  const roleName = formatRoleName({ stageName, zone: "Execution" });
  // A role as principal is stored by its id, so a role that is created again under this name would have no access.
  const isSender = {
    ArnEquals: { "aws:PrincipalArn": `arn:${partition}:iam::${senderAccount}:role/${roleName}` },
  };
  const sender = {
    principals: [new PrincipalWithConditions(new AccountPrincipal(senderAccount), isSender)],
  };
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

/** The sending side of the completion push. Returns the environment variable for the code that runs with the role. */
export function permitCompletionPush(
  role: Role,
  { stageName, stage: { verification } }: StageSettings,
): Record<string, string> {
  const stack = Stack.of(role);
  const { account, region } = verification;
  const queueName = formatCompletionQueueName({ stageName });
  const queueArn = stack.formatArn({ service: "sqs", account, region, resource: queueName });
  const anyKey = (partition: string) => `arn:${partition}:kms:${region}:${account}:key/*`;
  permit(
    role,
    new PolicyStatement({ actions: ["sqs:SendMessage"], resources: [queueArn] }),
    new PolicyStatement({
      actions: ["kms:GenerateDataKey", "kms:Decrypt"],
      resources: [anyKey(stack.partition)],
      conditions: { StringEquals: { "kms:ViaService": `sqs.${region}.${stack.urlSuffix}` } },
    }),
  );
  acknowledgeWildcards(role, {
    resources: [anyKey(shownPartition(role))],
    reason:
      "The key does not exist yet. The condition allows its use only through SQS, and its own policy names this role.",
  });
  return {
    SEKISHO_COMPLETIONS_URL: `https://sqs.${region}.${stack.urlSuffix}/${account}/${queueName}`,
  };
}
