/** The names that must be known before what bears them exists: of stacks, of roles and a queue across accounts, of a stack's outputs. */

export const zoneStacks = ["Identity", "Execution", "Verification"] as const;
export type ZoneStack = (typeof zoneStacks)[number];

/** The name of a stack in CloudFormation. */
export function formatStackName({ stageName, zone }: { stageName: string; zone: ZoneStack }): string {
  return `Sekisho-${stageName}-${zone}`;
}

/** Policies of the other account name these roles, and refuse a principal that does not exist: hence fixed names. */
export function formatRoleName({ stageName, zone }: { stageName: string; zone: "Verification" | "Execution" }): string {
  return `sekisho-${stageName}-${zone.toLowerCase()}`;
}

/** Where CloudWatch keeps the metrics of a stage's functions: two stages of one account do not meet. */
export function formatMetricsNamespace({ stageName }: { stageName: string }): string {
  return `Sekisho/${stageName}`;
}

/** The Execution zone sends to it, and its stack is deployed first. */
export function formatCompletionQueueName({ stageName }: { stageName: string }): string {
  return `sekisho-${stageName}-completions`;
}

/** The logical ids, without CDK's hash, of the queues that no function polls: they only keep messages. */
export const queuesWithoutConsumer = ["DeadLetterArchive", "DeadTaskIds"] as const;

/** Below it each workspace or organization that installed the app has a secret of its own. */
export function formatInstallationsPrefix({ stageName }: { stageName: string }): string {
  return `sekisho/${stageName}/installations/`;
}

/** The outputs of the Verification stack, by which the command line finds what it works with. */
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

/** Those of the Execution stack. */
export const executionOutputs = { tableName: "TableName" } as const;
