/** Alarms on the metrics that AWS keeps. Each alarm notifies the topic of its zone. */
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
 * Adds an alarm that rings when the metric is above `threshold` in `periods` (default 1) of the latest `within` (default
 * `periods`) periods. Returns the metric for the dashboard.
 */
export type AddAlarm = (
  id: string,
  alarm: { metric: IMetric; threshold: number; periods?: number; within?: number; what: string },
) => IMetric;

export function createAlarms(scope: Construct, { key, email }: { key: Key; email: string | undefined }): AddAlarm {
  const topic = new Topic(scope, "Alarms", { masterKey: key, enforceSSL: true });
  const fromHere = {
    principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
    conditions: { StringEquals: { "aws:SourceAccount": Stack.of(scope).account } },
  };
  // CloudWatch publishes to an encrypted topic only if the key's policy allows it.
  key.addToResourcePolicy(
    new PolicyStatement({ ...fromHere, actions: ["kms:Decrypt", "kms:GenerateDataKey*"], resources: ["*"] }),
  );
  // The policy that requires TLS replaces the default policy, which would have admitted the topic's own account.
  topic.addToResourcePolicy(
    new PolicyStatement({ ...fromHere, actions: ["sns:Publish"], resources: [topic.topicArn] }),
  );
  if (email !== undefined) {
    acknowledge(topic.addSubscription(new EmailSubscription(email)), {
      findings: ["Serverless-SNSRedrivePolicy"],
      reason: "A lost mail need not be kept: CloudWatch shows the alarm.",
    });
  }
  const action = new SnsAction(topic);
  return (id, { metric, threshold, periods = 1, within = periods, what }) => {
    new Alarm(scope, id, {
      metric,
      threshold,
      evaluationPeriods: within,
      ...(within > periods && { datapointsToAlarm: periods }),
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      alarmDescription: what,
    }).addAlarmAction(action);
    return metric;
  };
}

/** Watches each function for errors, throttles, and messages that Lambda dropped because it suspected a loop. */
export function watchFunctions({ alarm, functions }: { alarm: AddAlarm; functions: Record<string, IFunction> }): {
  errors: IMetric[];
  throttles: IMetric[];
} {
  const period = Duration.minutes(1);
  const watch = (suffix: string, metricOf: (fn: IFunction) => IMetric, what: (name: string) => string) =>
    Object.entries(functions).map(([name, fn]) =>
      alarm(`${name}${suffix}`, { metric: metricOf(fn), threshold: 0, what: what(name) }),
    );
  const errors = watch(
    "Errors",
    (fn) => fn.metricErrors({ period }),
    (name) => `The function ${name} ended with an error. See its log.`,
  );
  const throttles = watch(
    "Throttles",
    (fn) => fn.metricThrottles({ period }),
    (name) => `The function ${name} was not started for want of concurrency. Raise the account's limit.`,
  );
  watch(
    "LoopStopped",
    (fn) => fn.metric("RecursiveInvocationsDropped", { period, statistic: "Sum" }),
    (name) =>
      `Lambda took messages for a runaway loop and did not invoke the function ${name} for them. See docs/operations.md.`,
  );
  return { errors, throttles };
}

/** AgentCore's default quota of active sessions per account and region. It can be raised. */
const defaultSessionQuota = 2500;
const sessionQuotas: Record<string, number> = { "us-east-1": 5000, "us-west-2": 5000 };
const sessionShare = 0.8;

/**
 * Watches an AgentCore runtime for errors, throttles and new sessions. AgentCore counts calls under `<runtime>::<endpoint>`.
 * CDK's own `runtime.metric…` watches `<runtime>::DEFAULT`, which the worker never calls.
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
    what: "AgentCore could not run the Execution zone. See the log group of the runtime.",
  });
  alarm("RuntimeThrottles", {
    metric: sum("Throttles"),
    threshold: 0,
    what: "AgentCore refused calls because a quota of the account was used up. Tasks wait and try again. See the quotas of AgentCore.",
  });
  const quota = sessionQuotas[Stack.of(scope).region] ?? defaultSessionQuota;
  alarm("RuntimeSessions", {
    // A session is counted once, when it begins, and lives at least as long as it may idle.
    metric: sum("SessionCount", Math.ceil(idleSeconds / 60)),
    threshold: sessionShare * quota,
    what: `The sessions that began within the idle time are over ${100 * sessionShare} % of the default quota of ${quota} active sessions.`,
  });
}

/**
 * A message that waits so long has no worker. It is more than the ten minutes by which the wake-up of a poll may be delayed,
 * because AWS does not say whether the age of a delayed message counts from its sending.
 */
const oldestMessage = Duration.minutes(15);
/** A dead letter is handled within seconds. One that stays so many minutes cannot be handled. */
const deadLetterMinutes = 15;
/** FILL turns a minute whose value is late into a 0. Two such minutes must not silence the alarm. */
const lateMinutes = 2;
/** Slack gives up after 3 s and sends the event again. */
const slowIngress = Duration.millis(2500);

/** Watches the queues, functions and entry of the Verification zone, and draws its dashboard with `rows` at the end. */
export function watchVerification(
  scope: Construct,
  watched: {
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
  const { alarm, functions, ingress, entry, queue, deadLetters, archive, rows } = watched;
  const minute = { period: Duration.minutes(1) };
  const maximum = { ...minute, statistic: "Maximum" };
  const queues = [
    alarm("DeadLettersKept", {
      metric: archive.metricApproximateNumberOfMessagesVisible(maximum),
      threshold: 0,
      what: "A message could not be processed: its task was ended in words. See npx sekisho dead-letters list.",
    }),
    alarm("DeadLettersStuck", {
      // The age of the oldest message would not do: SQS ignores messages that were received three times.
      metric: new MathExpression({
        ...minute,
        label: "dead letters",
        // SQS reports hidden messages only if there are some, and a sum with a missing term has no value.
        expression: "visible + FILL(hidden, 0)",
        usingMetrics: {
          visible: deadLetters.metricApproximateNumberOfMessagesVisible(maximum),
          hidden: deadLetters.metricApproximateNumberOfMessagesNotVisible(maximum),
        },
      }),
      threshold: 0,
      periods: deadLetterMinutes,
      within: deadLetterMinutes + lateMinutes,
      what: "A dead letter cannot be handled: the user has no answer yet. See the log of the handler.",
    }),
    alarm("MessagesWait", {
      metric: queue.metricApproximateAgeOfOldestMessage(maximum),
      threshold: oldestMessage.toSeconds(),
      what: "Messages wait too long: the worker is throttled or fails. See its log and its alarms.",
    }),
  ];
  const { errors, throttles } = watchFunctions({ alarm, functions });
  // The ingress itself ends without an error: it answers 503, so that Slack delivers again, and 500 without a secret.
  const refused = alarm("EntryErrors", {
    metric: entry.metricServerError({ ...minute, statistic: "Sum" }),
    threshold: 0,
    what: "Slack, or a browser that installs, was answered 5xx: the queue or a secret is out of reach. See the log of the ingress, or of the installation flow.",
  });
  const slow = alarm("IngressSlow", {
    metric: ingress.metricDuration({ period: Duration.minutes(5), statistic: "p99" }),
    threshold: slowIngress.toMilliseconds(),
    what: "The ingress is near the 3 s after which Slack sends again.",
  });
  const invocations = Object.values(functions).map((fn) => fn.metricInvocations(minute));
  const graph = (title: string, left: IMetric[], width = 12) => new GraphWidget({ title, left, width });
  new Dashboard(scope, "Dashboard", {
    widgets: [
      [graph("Queues: oldest message, dead letters", queues), graph("Ingress: p99", [slow])],
      [graph("Errors", [...errors, refused]), graph("Throttles", throttles)],
      [graph("Invocations", invocations, 24)],
      ...rows,
    ],
  });
}
