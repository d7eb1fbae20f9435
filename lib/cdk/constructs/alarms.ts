/** Alarms on the metrics that AWS keeps. Each alarm notifies the topic of its zone. */

import { sekisho } from "@sekisho/runtime/command-line.ts";
import { Duration, Stack } from "aws-cdk-lib";
import type { HttpApi } from "aws-cdk-lib/aws-apigatewayv2";
import {
  Alarm,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  Metric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import type { WatchedEndpoint } from "../stage-settings.ts";
import { acknowledge } from "./permissions.ts";

/**
 * Adds an alarm that fires when the metric is above `threshold` in `periods` (default 1) of the latest `within` (default
 * `periods`) periods. `description` tells the person on call what happens, what it means for users, and what to do first.
 * Returns the metric for the dashboard.
 */
export type AddAlarm = (
  id: string,
  alarm: {
    metric: IMetric;
    threshold: number;
    periods?: number;
    within?: number;
    description: string;
  },
) => IMetric;

/** The topic of a zone, what adds an alarm that notifies it, and the alarms that were added so far. */
type ZoneAlarms = { topic: Topic; alarm: AddAlarm; alarms: readonly Alarm[] };

export function createAlarms(
  scope: Construct,
  { key, email }: { key: Key; email: string | undefined },
): ZoneAlarms {
  const topic = new Topic(scope, "Alarms", { masterKey: key, enforceSSL: true });
  const fromHere = {
    principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
    conditions: { StringEquals: { "aws:SourceAccount": Stack.of(scope).account } },
  };
  // CloudWatch publishes to an encrypted topic only if the key's policy allows it.
  key.addToResourcePolicy(
    new PolicyStatement({
      ...fromHere,
      actions: ["kms:Decrypt", "kms:GenerateDataKey*"],
      resources: ["*"],
    }),
  );
  // The policy that requires TLS replaces the default policy, which would have admitted the topic's own account.
  topic.addToResourcePolicy(
    new PolicyStatement({ ...fromHere, actions: ["sns:Publish"], resources: [topic.topicArn] }),
  );
  if (email !== undefined) {
    acknowledge(topic.addSubscription(new EmailSubscription(email)), {
      findings: ["Serverless-SNSRedrivePolicy"],
      reason: "A lost mail does no harm, because CloudWatch shows the alarm too.",
    });
  }
  const action = new SnsAction(topic);
  const alarms: Alarm[] = [];
  const alarm: AddAlarm = (
    id,
    { metric, threshold, periods = 1, within = periods, description },
  ) => {
    const newAlarm = new Alarm(scope, id, {
      metric,
      threshold,
      evaluationPeriods: within,
      ...(within > periods && { datapointsToAlarm: periods }),
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      alarmDescription: description,
    });
    newAlarm.addAlarmAction(action);
    alarms.push(newAlarm);
    return metric;
  };
  return { topic, alarm, alarms };
}

/** Watches each function for errors, throttles, and invocations that Lambda dropped because it suspected a loop. */
export function watchFunctions({
  alarm,
  functions,
}: {
  alarm: AddAlarm;
  functions: Record<string, IFunction>;
}): {
  errors: IMetric[];
  throttles: IMetric[];
} {
  const period = Duration.minutes(1);
  const watch = (
    suffix: string,
    metricOf: (fn: IFunction) => IMetric,
    describe: (name: string) => string,
  ) =>
    Object.entries(functions).map(([name, fn]) =>
      alarm(`${name}${suffix}`, {
        metric: metricOf(fn),
        threshold: 0,
        description: describe(name),
      }),
    );
  const errors = watch(
    "Errors",
    (fn) => fn.metricErrors({ period }),
    (name) =>
      `The function ${name} failed. Slack, a queue or the caller tries again, so users wait longer. Look for the error in the function's log.`,
  );
  const throttles = watch(
    "Throttles",
    (fn) => fn.metricThrottles({ period }),
    (name) =>
      `Lambda throttled the function ${name}, because the account's concurrency is used up. Users wait longer. Request a higher limit of concurrent executions in Service Quotas.`,
  );
  watch(
    "LoopStopped",
    (fn) => fn.metric("RecursiveInvocationsDropped", { period, statistic: "Sum" }),
    (name) =>
      `Lambda suspected a runaway loop and stopped invoking the function ${name} for some messages. Tasks may end as dead letters. Check the function's RecursiveLoop setting (docs/reference/alarms.md, LoopStopped).`,
  );
  return { errors, throttles };
}

/** AgentCore's default quota of active sessions per account and region. It can be raised. */
const defaultSessionQuota = 2500;
const sessionQuotas: Record<string, number> = { "us-east-1": 5000, "us-west-2": 5000 };
const sessionShare = 0.8;

/**
 * Watches an AgentCore runtime for errors, throttles and new sessions. AgentCore counts calls under the name
 * `<runtime>::<endpoint>`. CDK's `runtime.metric…` cannot be used: it reads `<runtime>::DEFAULT`, which the worker never calls.
 */
export function watchRuntime(
  scope: Construct,
  { alarm, endpoint }: { alarm: AddAlarm; endpoint: WatchedEndpoint },
): void {
  const { runtimeArn, runtimeName, endpointName, idleSeconds } = endpoint;
  const sum = (metricName: string, minutes = 5) =>
    new Metric({
      namespace: "AWS/Bedrock-AgentCore",
      metricName,
      dimensionsMap: {
        Operation: "InvokeAgentRuntime",
        Name: `${runtimeName}::${endpointName}`,
        Resource: runtimeArn,
      },
      statistic: "Sum",
      period: Duration.minutes(minutes),
    });
  alarm("RuntimeErrors", {
    metric: sum("SystemErrors"),
    threshold: 0,
    description:
      "AgentCore could not run the Execution zone. Tasks fail or are retried. Look at the runtime's log group, /aws/bedrock-agentcore/runtimes/….",
  });
  alarm("RuntimeThrottles", {
    metric: sum("Throttles"),
    threshold: 0,
    description:
      "AgentCore refused calls because a quota of the account is used up. Tasks wait and are tried again. Request a higher quota for Bedrock AgentCore in Service Quotas.",
  });
  const quota = sessionQuotas[Stack.of(scope).region] ?? defaultSessionQuota;
  alarm("RuntimeSessions", {
    // A session is counted once, when it begins, and lives at least for the idle time.
    metric: sum("SessionCount", Math.ceil(idleSeconds / 60)),
    threshold: sessionShare * quota,
    description: `More than ${100 * sessionShare} % of the default quota of ${quota} active AgentCore sessions began within the idle time. At the quota, new threads are refused. Request a higher quota in Service Quotas.`,
  });
}

/**
 * A message that waits longer than this has no worker. The wake-up of a poll may be delayed by ten minutes, and AWS does not say
 * whether the age includes that delay, so the limit is higher.
 */
const oldestMessage = Duration.minutes(15);
/** The handler normally needs seconds for a dead letter. After this time it is stuck. */
const deadLetterMinutes = 15;
/** FILL turns a minute whose value arrives late into a 0. Two such minutes must not silence the alarm. */
const lateMinutes = 2;
/** Slack stops waiting after 3 s and sends the event again. */
const slowIngress = Duration.millis(2500);

/** Watches the queues, functions and entry of the Verification zone, and draws its dashboard with `rows` at the end. */
export function watchVerification(
  scope: Construct,
  parts: {
    alarm: AddAlarm;
    functions: Record<string, IFunction>;
    ingress: IFunction;
    entry: HttpApi;
    queue: IQueue;
    deadLetters: IQueue;
    archive: IQueue;
    rows: IWidget[][];
  },
): void {
  const { alarm, functions, ingress, entry, queue, deadLetters, archive, rows } = parts;
  const minute = { period: Duration.minutes(1) };
  const maximum = { ...minute, statistic: "Maximum" };
  const queues = [
    alarm("DeadLettersKept", {
      metric: archive.metricApproximateNumberOfMessagesVisible(maximum),
      threshold: 0,
      description: `A message failed too often, so its task was ended and its user notified. The message is kept for 14 days. Run ${sekisho} dead-letters list.`,
    }),
    alarm("DeadLettersStuck", {
      // The age of the oldest message cannot be used, because SQS leaves out messages that were received three times.
      metric: new MathExpression({
        ...minute,
        label: "dead letters",
        // SQS reports hidden messages only if there are any. Without FILL the sum would then have no value.
        expression: "visible + FILL(hidden, 0)",
        usingMetrics: {
          visible: deadLetters.metricApproximateNumberOfMessagesVisible(maximum),
          hidden: deadLetters.metricApproximateNumberOfMessagesNotVisible(maximum),
        },
      }),
      threshold: 0,
      periods: deadLetterMinutes,
      within: deadLetterMinutes + lateMinutes,
      description:
        "The handler of dead letters fails, so a task whose message failed too often cannot be ended. Its user still waits for an answer. Look at the log of the function DeadLetterHandler.",
    }),
    alarm("MessagesWait", {
      metric: queue.metricApproximateAgeOfOldestMessage(maximum),
      threshold: oldestMessage.toSeconds(),
      description:
        "Messages have waited for more than 15 minutes, because the worker is throttled or fails. Users wait for their answers. Check the alarms WorkerErrors and WorkerThrottles, then the worker's log.",
    }),
  ];
  const { errors, throttles } = watchFunctions({ alarm, functions });
  // A failed request is not an error of the function: it answers 503, so that Slack delivers again, or 500 without a secret.
  const entryErrors = alarm("EntryErrors", {
    metric: entry.metricServerError({ ...minute, statistic: "Sum" }),
    threshold: 0,
    description:
      "The entry answered HTTP 5xx, because the queue or a secret cannot be reached. Slack repeats events for some minutes, then messages are lost. Look at the log of the ingress, or of the installation flow.",
  });
  const slow = alarm("IngressSlow", {
    metric: ingress.metricDuration({ period: Duration.minutes(5), statistic: "p99" }),
    threshold: slowIngress.toMilliseconds(),
    description:
      "The ingress is close to the 3 s after which Slack repeats an event. Users may wait longer for a first reaction. Check Secrets Manager and SQS in this region, and the entry's access log for a flood of requests.",
  });
  const invocations = Object.values(functions).map((fn) => fn.metricInvocations(minute));
  const graph = (title: string, metrics: IMetric[], width = 12) =>
    new GraphWidget({ title, left: metrics, width });
  new Dashboard(scope, "Dashboard", {
    widgets: [
      [graph("Queues: oldest message, dead letters", queues), graph("Ingress: p99", [slow])],
      [graph("Errors", [...errors, entryErrors]), graph("Throttles", throttles)],
      [graph("Invocations", invocations, 24)],
      ...rows,
    ],
  });
}
