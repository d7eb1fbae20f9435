/** The Execution zone on Lambda: a function behind a URL that takes tasks, a queue of task ids, and a function that runs agents. */

import { keepsConversations } from "@sekisho/config/agent-list.ts";
import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { isA2aEndpoint } from "@sekisho/config/stage-config.ts";
import { defaultAgentConcurrency, type Stage } from "@sekisho/config/stage-schema.ts";
import { Duration, Stack } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { AccountPrincipal, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { type CfnFunction, FunctionUrlAuthType } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { type ExecutionEntry, metricsEnvironment, type StageSettings } from "../stage-settings.ts";
import { permitAgents } from "./agent-permissions.ts";
import { type AddAlarm, watchFunctions } from "./alarms.ts";
import { consumeMessages, createNodeFunction } from "./node-function.ts";
import {
  consumePermission,
  keyPermission,
  permit,
  permitSpans,
  secretsPermission,
  sendPermission,
  tablePermission,
  taskListPermission,
} from "./permissions.ts";
import { createQueue, permitCompletionPush, visibilityTimeout } from "./queues.ts";
import { watchAgents } from "./zone-metrics.ts";

/** A call waits at most for the sync budget, or for a long poll of 25 s. The margin covers a cold start and the store. */
const urlMarginSeconds = 10;
const maxPollSeconds = 25;
/** The longest time that Lambda allows. A task gets a minute less. */
const workerTimeout = Duration.minutes(15);
/** The function mostly waits for the store or for AWS. */
const urlMemoryMb = 512;
/** Enough for a model's client and an answer of some hundred KB. Lambda assigns processor time in proportion to memory. */
const workerMemoryMb = 1024;
/** After this many failures the function itself cannot start. A poll of the task then reports that it timed out. */
const maxReceiveCount = 3;

type ExecutionProps = {
  settings: StageSettings;
  execution: Extract<Stage["execution"], { kind: "lambda" }>;
  key: Key;
  table: Table;
  roleName: string;
  callerRoleArn: string;
  alarm: AddAlarm;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createExecutionFunctions(
  scope: Construct,
  { settings, execution, key, table, roleName, callerRoleArn, alarm }: ExecutionProps,
): { entry: ExecutionEntry; role: Role } {
  const { stage, config } = settings;
  const { production } = stage;
  const { workerConcurrency, agentConcurrency = defaultAgentConcurrency } = stage.scale;
  const layer = execution.telemetryLayer;
  const deadLetters = createQueue(scope, "DeadTaskIds", { key, production });
  const taskIds = {
    key,
    production,
    visibility: visibilityTimeout(workerTimeout),
    deadLetters: { queue: deadLetters, maxReceiveCount },
  };
  const queue = createQueue(scope, "TaskIds", taskIds);
  const isA2a = isA2aEndpoint({ config, kind: "lambda" });
  // A2A clients have their own queue and concurrency, so that they cannot occupy all agents while Slack users wait.
  const clientsQueue = isA2a ? createQueue(scope, "ClientTaskIds", taskIds) : undefined;
  const queues = [queue, ...(clientsQueue === undefined ? [] : [clientsQueue])];
  const callers = [callerRoleArn, ...(isA2a ? config.execution.a2a.callers : [])];
  const { syncBudgetMs = defaultSyncBudgetMs } = config.execution;
  const seconds = Math.max(Math.ceil(syncBudgetMs / 1000), maxPollSeconds) + urlMarginSeconds;
  const url = createNodeFunction(scope, "Url", {
    settings,
    layer,
    description: "Accepts tasks and returns their results",
    bundle: "executionUrl",
    environment: {
      SEKISHO_TABLE: table.tableName,
      SEKISHO_QUEUE_URL: queue.queueUrl,
      ...(clientsQueue && { SEKISHO_CLIENTS_QUEUE_URL: clientsQueue.queueUrl }),
      SEKISHO_CALLERS: callers.join(" "),
      ...metricsEnvironment(settings),
    },
    timeout: Duration.seconds(seconds),
    memoryMb: urlMemoryMb,
  });
  permit(
    url,
    tablePermission(table),
    keyPermission(key, { sends: true, through: ["dynamodb", "sqs"] }),
    sendPermission(...queues),
  );
  if (isA2a) permit(url, taskListPermission(table));
  const cardKey = config.execution.a2a.signature?.key;
  if (isA2a && cardKey !== undefined && "secretsManager" in cardKey)
    permit(url, secretsPermission(scope, [cardKey.secretsManager]));
  const functionUrl = url.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM });
  // A Lambda permission cannot match the caller's ARN, so it admits accounts. The function itself refuses other roles.
  for (const account of new Set(callers.map((arn) => arn.split(":")[4] ?? "")))
    functionUrl.grantInvokeUrl(new AccountPrincipal(account));

  const role = new Role(scope, "ExecutionRole", {
    roleName,
    assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
  });
  const worker = createNodeFunction(scope, "Worker", {
    settings,
    layer,
    description: "Runs agents",
    bundle: "executionWorker",
    environment: {
      SEKISHO_TABLE: table.tableName,
      ...metricsEnvironment(settings),
      ...permitCompletionPush(role, settings),
      // The worker retries notices to A2A clients through their queue.
      ...(clientsQueue && { SEKISHO_QUEUE_URL: clientsQueue.queueUrl }),
    },
    timeout: workerTimeout,
    memoryMb: workerMemoryMb,
    // With A2A it sends to its own queue. A completion push makes no loop, because no queue leads back from the Verification zone.
    isInLoop: isA2a,
    role,
  });
  permit(
    role,
    // Only the values of conversations are new items: the other function creates the tasks.
    tablePermission(table, { creates: keepsConversations(config.execution) }),
    keyPermission(key, { sends: isA2a, through: ["dynamodb", "sqs"] }),
    consumePermission(...queues),
  );
  if (clientsQueue !== undefined) permit(role, sendPermission(clientsQueue));
  permitAgents(role, config.execution);
  for (const sender of [url.role, role])
    if (sender !== undefined) permitSpans(sender, { config, layer });
  consumeMessages(worker, { queue, batchSize: 1, maxConcurrency: agentConcurrency });
  if (clientsQueue !== undefined)
    consumeMessages(worker, {
      id: "Clients",
      queue: clientsQueue,
      batchSize: 1,
      maxConcurrency: agentConcurrency,
    });
  watchFunctions({ alarm, functions: { Url: url, Worker: worker } });
  if (config.telemetry.metrics) watchAgents(scope, { alarm, stageName: settings.stageName });
  alarm("TaskIdsDead", {
    metric: deadLetters.metricApproximateNumberOfMessagesVisible({
      period: Duration.minutes(1),
      statistic: "Maximum",
    }),
    threshold: 0,
    description:
      "A task could not be started, or a notification of an A2A client could not be sent. The task's user reads that it timed out. Look at the log of the function Worker.",
  });
  // The ARN of the construct can be used from another account only if the function has a fixed name.
  const functionArn = (url.node.defaultChild as CfnFunction).attrArn;
  const entry: ExecutionEntry = {
    address: {
      transport: "https",
      url: functionUrl.url,
      region: Stack.of(scope).region,
      functionArn,
      // The limit of one worker, so that all workers together send as many tasks at once as agents can run.
      sendsAtOnce: Math.max(1, Math.floor(agentConcurrency / workerConcurrency)),
    },
    arns: [functionArn],
    stack: Stack.of(scope),
  };
  return { entry, role };
}
