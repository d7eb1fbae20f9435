/** Fixed names, which other accounts and the command line must know before the stacks exist. */

import type { Config } from "@sekisho/config/schema.ts";
import { findPartition } from "@sekisho/runtime/aws/partitions.ts";

export const zoneStacks = ["Identity", "Execution", "Verification"] as const;
export type ZoneStack = (typeof zoneStacks)[number];

/** Returns the CloudFormation name of a stack. */
export function formatStackName({
  stageName,
  zone,
}: {
  stageName: string;
  zone: ZoneStack;
}): string {
  return `Sekisho-${stageName}-${zone}`;
}

/** Role names are fixed because policies of the other account name the roles, and IAM rejects unknown principals. */
export function formatRoleName({
  stageName,
  zone,
}: {
  stageName: string;
  zone: "Verification" | "Execution";
}): string {
  return `sekisho-${stageName}-${zone.toLowerCase()}`;
}

type RoleAccount = { stageName: string; account: string; region: string };

/** Returns the ARN of the Verification role. `region` may be any region of the account's partition. */
export function formatVerificationRoleArn({ stageName, account, region }: RoleAccount): string {
  return `arn:${findPartition(region).name}:iam::${account}:role/${formatRoleName({ stageName, zone: "Verification" })}`;
}

/** Returns the CloudWatch namespace of a stage's metrics. It differs per stage, because two stages may share an account. */
export function formatMetricsNamespace({ stageName }: { stageName: string }): string {
  return `Sekisho/${stageName}`;
}

/** The name is fixed because the Execution zone sends to this queue, and its stack is deployed first. */
export function formatCompletionQueueName({ stageName }: { stageName: string }): string {
  return `sekisho-${stageName}-completions`;
}

/** Each workspace or organization that installed the app has a secret below this prefix. */
export function formatInstallationsPrefix({ stageName }: { stageName: string }): string {
  return `sekisho/${stageName}/installations/`;
}

/** The alias of a key that signs who asked. The command line finds the key by it. */
export function formatAskerKeyAlias({ stageName, id }: { stageName: string; id: string }): string {
  return `alias/sekisho-${stageName}-asker-${id}`;
}

/** Outputs of the Verification stack, by which the command line finds the stage's resources. */
export const verificationOutputs = {
  eventsUrl: "EventsUrl",
  queueUrl: "QueueUrl",
  deadLettersUrl: "DeadLettersUrl",
  tableName: "TableName",
  formerLiveSettings: "FormerLiveSettings",
  deployedDestinations: "DeployedDestinations",
  executionAddress: "ExecutionAddress",
  filesBucket: "FilesBucket",
  workerFunction: "WorkerFunction",
} as const;

/** Outputs of the Execution stack. */
export const executionOutputs = { tableName: "TableName" } as const;

/** Returns the error for a stage that is not configured. It lists the configured stages, or says what to add. */
export function unknownStageText({ stages }: Pick<Config, "stages">, stageName: string): string {
  const stageNames = Object.keys(stages).join(", ");
  if (stageNames !== "")
    return `there is no stage "${stageName}"; the configuration has: ${stageNames}`;
  return `the configuration has no stages. Add one with your own account and region:\n    "stages": { "${stageName}": { "verification": { "account": "111111111111", "region": "eu-central-1" } } }`;
}
