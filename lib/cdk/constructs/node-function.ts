/** A Lambda function from a bundle, with a log group of its own and a role that may write to that group and nothing else. */
import { type Duration, Stack } from "aws-cdk-lib";
import { type IRole, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LayerVersion,
  RecursiveLoop,
  Runtime,
} from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import { removalPolicy } from "./zone-key.ts";

export function createNodeFunction(
  scope: Construct,
  id: string,
  {
    folder,
    environment,
    timeout,
    memoryMb,
    description,
    logs,
    layer,
    logRetentionDays,
    production,
    isInLoop = false,
    reservedConcurrency,
    role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal("lambda.amazonaws.com") }),
  }: {
    /** Holds index.js, which exports `handler`. */
    folder: string;
    environment: Record<string, string>;
    timeout: Duration;
    memoryMb: number;
    description: string;
    /** Which log lines it writes, as its environment tells it. */
    logs: Record<string, string>;
    /** Of a collector for spans, by its ARN. */
    layer?: string | undefined;
    logRetentionDays: number;
    production: boolean;
    /**
     * Set it for a function that consumes a queue to which its own messages lead back, directly or through other functions and
     * dead-letter queues. Lambda refuses to invoke such a function after about 16 rounds unless the function allows loops.
     */
    isInLoop?: boolean;
    /** Reserved concurrency: so much is this function's alone, and it gets no more. */
    reservedConcurrency?: number | undefined;
    role?: IRole;
  },
): LambdaFunction {
  const logGroup = new LogGroup(scope, `${id}Logs`, {
    retention: logRetentionDays,
    removalPolicy: removalPolicy({ production }),
  });
  role.addToPrincipalPolicy(
    new PolicyStatement({
      actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
      resources: [logGroup.logGroupArn],
    }),
  );
  const fn = new LambdaFunction(scope, id, {
    description: `${description} (${Stack.of(scope).stackName})`,
    code: Code.fromAsset(folder),
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    memorySize: memoryMb,
    timeout,
    environment: { ...environment, ...logs },
    layers: layer === undefined ? [] : [LayerVersion.fromLayerVersionArn(scope, `${id}Collector`, layer)],
    logGroup,
    role,
    ...(reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: reservedConcurrency }),
    ...(isInLoop ? { recursiveLoop: RecursiveLoop.ALLOW } : {}),
  });
  acknowledge(fn, {
    findings: ["Serverless-LambdaDLQ"],
    reason:
      "It is called by an event source, an HTTP API or a URL, never asynchronously; failed messages have a queue.",
  });
  acknowledge(fn, {
    findings: ["Serverless-LambdaTracing"],
    reason: "The trace is the W3C context that travels with each task, across accounts and clouds.",
  });
  return fn;
}

/** Takes messages off a queue, and gives back only those that failed. AWS allows 2 to 1000 invocations at once. */
export function consumeMessages(
  fn: LambdaFunction,
  {
    id = "Messages",
    queue,
    batchSize,
    maxConcurrency,
  }: { id?: string; queue: IQueue; batchSize: number; maxConcurrency: number },
): void {
  const source = fn.addEventSourceMapping(id, {
    eventSourceArn: queue.queueArn,
    batchSize,
    reportBatchItemFailures: true,
    maxConcurrency: Math.min(Math.max(maxConcurrency, 2), 1000),
  });
  acknowledge(source, {
    findings: ["Serverless-LambdaEventSourceMappingDestination"],
    reason: "A queue has no failure destination but its own dead-letter queue.",
  });
}
