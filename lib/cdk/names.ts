/** Names that other accounts and the command line must know before the stacks exist. */
import type { Config } from "../../lambdas/shared/config/schema.ts";

export const zoneStacks = ["Identity", "Execution", "Verification"] as const;
export type ZoneStack = (typeof zoneStacks)[number];

/** Returns the CloudFormation name of a stack. */
export function formatStackName({ stageName, zone }: { stageName: string; zone: ZoneStack }): string {
  return `Sekisho-${stageName}-${zone}`;
}

/** Role names are fixed because policies of the other account name the roles, and IAM rejects unknown principals. */
export function formatRoleName({ stageName, zone }: { stageName: string; zone: "Verification" | "Execution" }): string {
  return `sekisho-${stageName}-${zone.toLowerCase()}`;
}

type RoleAccount = { stageName: string; account: string; region: string };

/** The ARN of the Verification role. `region` is any region of the account's partition. */
export function formatVerificationRoleArn({ stageName, account, region }: RoleAccount): string {
  const partition = region.startsWith("cn-") ? "aws-cn" : region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
  return `arn:${partition}:iam::${account}:role/${formatRoleName({ stageName, zone: "Verification" })}`;
}

/** Returns the CloudWatch namespace of a stage's metrics. It keeps two stages in one account apart. */
export function formatMetricsNamespace({ stageName }: { stageName: string }): string {
  return `Sekisho/${stageName}`;
}

/** The name is fixed because the Execution zone sends to this queue, and its stack is deployed first. */
export function formatCompletionQueueName({ stageName }: { stageName: string }): string {
  return `sekisho-${stageName}-completions`;
}

/** Logical ids, without CDK's hash, of queues that only keep messages: no function polls them. */
export const queuesWithoutConsumer = ["DeadLetterArchive", "DeadTaskIds"] as const;

/** Each workspace or organization that installed the app has a secret below this prefix. */
export function formatInstallationsPrefix({ stageName }: { stageName: string }): string {
  return `sekisho/${stageName}/installations/`;
}

/** Outputs of the Verification stack. The command line finds the stage's resources by them. */
export const verificationOutputs = {
  eventsUrl: "EventsUrl",
  queueUrl: "QueueUrl",
  deadLettersUrl: "DeadLettersUrl",
  tableName: "TableName",
  routesParameter: "RoutesParameter",
  deployedDestinations: "DeployedDestinations",
  executionAddress: "ExecutionAddress",
  filesBucket: "FilesBucket",
  workerFunction: "WorkerFunction",
} as const;

/** Outputs of the Execution stack. */
export const executionOutputs = { tableName: "TableName" } as const;

/** Returns the error for a stage that is not configured: it lists the known stages, or says what to add. */
export function unknownStageText({ stages }: Pick<Config, "stages">, stageName: string): string {
  const known = Object.keys(stages).join(", ");
  if (known !== "") return `there is no stage "${stageName}"; the configuration has: ${known}`;
  return `the configuration has none. Add, with your own ids:\n    "stages": { "${stageName}": { "verification": { "account": "111111111111", "region": "eu-central-1" } } }`;
}
