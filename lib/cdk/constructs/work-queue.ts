/** A queue whose messages a function consumes, with the dead-letter queue behind it. */
import { Duration } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import { removalPolicy } from "./zone-key.ts";

/** AWS asks for six times the function's time-out, so that no message comes again while a retry of its batch is under way. */
export function visibilityTimeout(functionTimeout: Duration): Duration {
  return Duration.seconds(6 * functionTimeout.toSeconds());
}

export function createQueue(
  scope: Construct,
  id: string,
  {
    key,
    production,
    visibility,
    deadLetters,
  }: {
    key: IKey;
    production: boolean;
    visibility?: Duration;
    deadLetters?: { queue: Queue; maxReceiveCount: number };
  },
): Queue {
  const queue = new Queue(scope, id, {
    encryption: QueueEncryption.KMS,
    encryptionMasterKey: key,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
    removalPolicy: removalPolicy({ production }),
    ...(visibility === undefined ? {} : { visibilityTimeout: visibility }),
    ...(deadLetters === undefined ? {} : { deadLetterQueue: deadLetters }),
  });
  if (deadLetters === undefined) {
    acknowledge(queue, {
      findings: ["AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy"],
      reason: "It is where messages end that could not be processed: nothing comes after it.",
    });
  }
  return queue;
}
