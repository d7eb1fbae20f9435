/** A Lambda function from a bundle. It has its own log group, and its role may write only to that group. */
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
import type { BundleName } from "../bundle/entry.ts";
import { logEnvironment, type StageSettings } from "../stage-settings.ts";
import { bundleAsset } from "./bundle-asset.ts";
import { acknowledge, permit } from "./permissions.ts";
import { removalPolicy } from "./storage.ts";

type NodeFunctionProps = {
  settings: StageSettings;
  bundle: BundleName;
  environment: Record<string, string>;
  timeout: Duration;
  memoryMb: number;
  description: string;
  /** The ARN of a layer that collects spans. */
  layer?: string | undefined;
  /**
   * True for a function whose own messages come back to it, directly or through other functions and dead-letter queues. Lambda
   * stops such a loop after about 16 invocations unless the function allows it.
   */
  isInLoop?: boolean;
  /** Lambda reserves this many concurrent executions for the function, and allows no more. */
  reservedConcurrency?: number | undefined;
  role?: IRole;
};

export function createNodeFunction(
  scope: Construct,
  id: string,
  {
    settings: { stage, config, writeBundle },
    bundle,
    environment,
    timeout,
    memoryMb,
    description,
    layer,
    isInLoop = false,
    reservedConcurrency,
    role = new Role(scope, `${id}Role`, {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    }),
  }: NodeFunctionProps,
): LambdaFunction {
  const logGroup = new LogGroup(scope, `${id}Logs`, {
    retention: stage.logRetentionDays,
    removalPolicy: removalPolicy(stage),
  });
  const actions = ["logs:CreateLogStream", "logs:PutLogEvents"];
  permit(role, new PolicyStatement({ actions, resources: [logGroup.logGroupArn] }));
  const folder = writeBundle(bundle);
  const fn = new LambdaFunction(scope, id, {
    description: `${description} (${Stack.of(scope).stackName})`,
    code: Code.fromAsset(folder, bundleAsset(folder)),
    handler: "index.handler",
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    memorySize: memoryMb,
    timeout,
    environment: { ...environment, ...logEnvironment(config) },
    layers:
      layer === undefined ? [] : [LayerVersion.fromLayerVersionArn(scope, `${id}Collector`, layer)],
    logGroup,
    role,
    ...(reservedConcurrency !== undefined && { reservedConcurrentExecutions: reservedConcurrency }),
    ...(isInLoop && { recursiveLoop: RecursiveLoop.ALLOW }),
  });
  acknowledge(fn, {
    findings: ["Serverless-LambdaDLQ"],
    reason:
      "The function is never invoked asynchronously. Failed messages go to a dead-letter queue.",
  });
  acknowledge(fn, {
    findings: ["Serverless-LambdaTracing"],
    reason: "The W3C trace context travels with each task, across accounts and clouds.",
  });
  return fn;
}

type MessageSource = { id?: string; queue: IQueue; batchSize: number; maxConcurrency: number };

/** Invokes the function with messages of a queue. Of a batch, only the failed messages return to the queue. */
export function consumeMessages(
  fn: LambdaFunction,
  { id = "Messages", queue, batchSize, maxConcurrency }: MessageSource,
): void {
  const source = fn.addEventSourceMapping(id, {
    eventSourceArn: queue.queueArn,
    batchSize,
    reportBatchItemFailures: true,
    // AWS accepts 2 to 1000.
    maxConcurrency: Math.min(Math.max(maxConcurrency, 2), 1000),
  });
  acknowledge(source, {
    findings: ["Serverless-LambdaEventSourceMappingDestination"],
    reason: "An SQS event source has no failure destination. The queue has a dead-letter queue.",
  });
}
