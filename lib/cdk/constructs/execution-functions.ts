/** The Execution zone on Lambda: a function behind a URL that takes tasks, a queue of their ids, and a function that runs agents. */
import { Duration, type Stack } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { AccountPrincipal, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { type CfnFunction, FunctionUrlAuthType, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { isA2aEndpoint } from "../../../lambdas/shared/config/stage-config.ts";
import { defaultAgentConcurrency } from "../../../lambdas/shared/config/stage-schema.ts";
import { formatMetricsNamespace } from "../names.ts";
import type { ExecutionEntry, StageSettings } from "../stage-settings.ts";
import { permitAgent } from "./agent-permissions.ts";
import { createAlarms, watchFunctions } from "./alarms.ts";
import { permitCompletionPush } from "./completions.ts";
import { logEnvironment, metricsEnvironment } from "./environment.ts";
import { consumeMessages, createNodeFunction } from "./node-function.ts";
import {
  consumePermission,
  keyPermission,
  permitSpans,
  secretsPermission,
  sendPermission,
  tablePermission,
  taskListPermission,
} from "./permissions.ts";
import { watchAgents } from "./watch-agents.ts";
import { createQueue, visibilityTimeout } from "./work-queue.ts";

/** A call waits for the sync budget or for a long poll of 25 s at most; the rest is for a cold start and the store. */
const urlMarginSeconds = 10;
const longestPollSeconds = 25;
/** The longest that Lambda allows; a task gets a minute less. */
const workerTimeout = Duration.minutes(15);
/** Waits nearly all of its time, for the store or for AWS. */
const urlMemoryMb = 512;
/** What a model's client and an answer of some hundred KB need, with the share of a processor that comes with it. */
const workerMemoryMb = 1024;
/** An id that fails so often has a function that cannot start; whoever polls the task learns of its end all the same. */
const maxReceiveCount = 3;

export function createExecutionFunctions(
  stack: Stack,
  {
    settings,
    key,
    table,
    roleName,
    callerRoleArn,
  }: { settings: StageSettings; key: Key; table: Table; roleName: string; callerRoleArn: string },
): ExecutionEntry {
  const { stage, config, writeBundle } = settings;
  const { production, logRetentionDays } = stage;
  const { workerConcurrency, agentConcurrency = defaultAgentConcurrency } = stage.scale;
  const layer = stage.execution.kind === "lambda" ? stage.execution.telemetryLayer : undefined;
  const common = { layer, logs: logEnvironment(config), logRetentionDays, production };
  const deadLetters = createQueue(stack, "DeadTaskIds", { key, production });
  const taskIds = {
    key,
    production,
    visibility: visibilityTimeout(workerTimeout),
    deadLetters: { queue: deadLetters, maxReceiveCount },
  };
  const queue = createQueue(stack, "TaskIds", taskIds);
  const a2a = isA2aEndpoint({ config, kind: "lambda" });
  // A2A clients have a queue and a concurrency of their own, so that they cannot hold all agents while Slack waits.
  const clientsQueue = a2a ? createQueue(stack, "ClientTaskIds", taskIds) : undefined;
  const queues = [queue, ...(clientsQueue === undefined ? [] : [clientsQueue])];
  const callers = a2a ? [callerRoleArn, ...config.execution.a2a.callers] : [callerRoleArn];
  const seconds = Math.max(Math.ceil(config.execution.syncBudgetMs / 1000), longestPollSeconds) + urlMarginSeconds;
  const url = createNodeFunction(stack, "Url", {
    ...common,
    description: "Takes tasks and answers for them",
    folder: writeBundle("executionUrl"),
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
  for (const statement of [
    tablePermission(table),
    keyPermission(key, { sends: true, through: ["dynamodb", "sqs"] }),
    sendPermission(...queues),
  ])
    url.addToRolePolicy(statement);
  if (a2a) url.addToRolePolicy(taskListPermission(table));
  const cardKey = config.execution.a2a.signature?.key;
  if (a2a && cardKey !== undefined && "secretsManager" in cardKey) {
    url.addToRolePolicy(secretsPermission(stack, [cardKey.secretsManager]));
  }
  const functionUrl = url.addFunctionUrl({ authType: FunctionUrlAuthType.AWS_IAM });
  // Accounts, since a permission of Lambda cannot match the caller's ARN. The function itself refuses any other role.
  for (const account of new Set(callers.map(accountOf))) functionUrl.grantInvokeUrl(new AccountPrincipal(account));

  const role = new Role(stack, "ExecutionRole", { roleName, assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  const worker = createNodeFunction(stack, "Worker", {
    ...common,
    description: "Runs agents",
    folder: writeBundle("executionWorker"),
    environment: {
      SEKISHO_TABLE: table.tableName,
      ...metricsEnvironment(settings),
      ...permitCompletionPush(role, settings),
      // Notices of tasks that A2A clients watch are tried again by way of their queue.
      ...(clientsQueue && { SEKISHO_QUEUE_URL: clientsQueue.queueUrl }),
    },
    timeout: workerTimeout,
    memoryMb: workerMemoryMb,
    // With A2A it sends to its own queue. A completion push alone is no loop: no queue leads back from the Verification zone.
    isInLoop: a2a,
    role,
  });
  for (const statement of [
    tablePermission(table, { creates: false }),
    keyPermission(key, { sends: a2a, through: ["dynamodb", "sqs"] }),
    consumePermission(...queues),
  ]) {
    role.addToPolicy(statement);
  }
  if (clientsQueue !== undefined) role.addToPolicy(sendPermission(clientsQueue));
  permitAgent(role, config.execution.agent);
  for (const sender of [url.role, role]) if (sender !== undefined) permitSpans(stack, { role: sender, config, layer });
  consumeMessages(worker, { queue, batchSize: 1, maxConcurrency: agentConcurrency });
  if (clientsQueue !== undefined) {
    consumeMessages(worker, { id: "Clients", queue: clientsQueue, batchSize: 1, maxConcurrency: agentConcurrency });
  }
  const alarm = createAlarms(stack, { key, email: stage.alarmEmail });
  watchFunctions({ alarm, functions: { Url: url, Worker: worker } });
  if (config.telemetry.metrics) {
    watchAgents(stack, { alarm, namespace: formatMetricsNamespace({ stageName: settings.stageName }) });
  }
  alarm("TaskIdsDead", {
    metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1), statistic: "Maximum" }),
    threshold: 0,
    what: "A task could not be started, or a notice of one not handled. See the log of the worker; the task's user was told that it timed out.",
  });
  return {
    address: {
      transport: "https",
      url: functionUrl.url,
      region: stack.region,
      functionArn: arnOf(url),
      // All workers together send as many tasks at once as agents can run.
      sendsAtOnce: Math.max(1, Math.floor(agentConcurrency / workerConcurrency)),
    },
    arns: [arnOf(url)],
  };
}

function accountOf(roleArn: string): string {
  const [, , , , account = ""] = roleArn.split(":");
  return account;
}

/** As the resource's own attribute: the construct's would need a fixed name to be known in another account. */
function arnOf(fn: LambdaFunction): string {
  return (fn.node.defaultChild as CfnFunction).attrArn;
}
