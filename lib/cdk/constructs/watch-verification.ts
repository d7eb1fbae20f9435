/** What of the Verification zone is watched: dead letters, waiting messages, errors, throttles, the ingress; and the dashboard of it. */
import { Duration } from "aws-cdk-lib";
import type { HttpApi } from "aws-cdk-lib/aws-apigatewayv2";
import { Dashboard, GraphWidget, type IWidget, MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { type AddAlarm, watchFunctions } from "./alarms.ts";

/**
 * A message that waits so long has no worker. The wake-up of a poll may be delayed by ten minutes, and AWS does not say whether
 * the age of a delayed message counts from its sending.
 */
const oldestMessage = Duration.minutes(15);
/** A handled dead letter leaves within seconds; one that stays so many minutes cannot be handled. */
const deadLetterMinutes = 15;
/** FILL makes a minute whose value is late a 0. Two such minutes must not keep the alarm silent. */
const lateMinutes = 2;
/** Slack gives up after 3 s and sends again. */
const slowIngress = Duration.millis(2500);

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
    /** What else the dashboard shows, below. */
    rows: IWidget[][];
  },
): void {
  const { alarm, functions, ingress, entry, queue, deadLetters, archive, rows } = watched;
  const minute = { period: Duration.minutes(1) };
  const queues = [
    alarm("DeadLettersKept", {
      metric: archive.metricApproximateNumberOfMessagesVisible({ ...minute, statistic: "Maximum" }),
      threshold: 0,
      what: "A message could not be processed: its task was ended in words. See npx sekisho dead-letters list.",
    }),
    alarm("DeadLettersStuck", {
      // Not the oldest one's age: SQS leaves out of it what was received three times.
      metric: new MathExpression({
        ...minute,
        label: "dead letters",
        // SQS has a value of hidden messages only where there are some; a sum that lacks a summand has no value.
        expression: "visible + FILL(hidden, 0)",
        usingMetrics: {
          visible: deadLetters.metricApproximateNumberOfMessagesVisible({ ...minute, statistic: "Maximum" }),
          hidden: deadLetters.metricApproximateNumberOfMessagesNotVisible({ ...minute, statistic: "Maximum" }),
        },
      }),
      threshold: 0,
      periods: deadLetterMinutes,
      within: deadLetterMinutes + lateMinutes,
      what: "A dead letter cannot be handled: the user has no answer yet. See the log of the handler.",
    }),
    alarm("MessagesWait", {
      metric: queue.metricApproximateAgeOfOldestMessage({ ...minute, statistic: "Maximum" }),
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
  new Dashboard(scope, "Dashboard", {
    widgets: [
      [
        new GraphWidget({ title: "Queues: oldest message, dead letters", left: queues, width: 12 }),
        new GraphWidget({ title: "Ingress: p99", left: [slow], width: 12 }),
      ],
      [
        new GraphWidget({ title: "Errors", left: [...errors, refused], width: 12 }),
        new GraphWidget({ title: "Throttles", left: throttles, width: 12 }),
      ],
      [new GraphWidget({ title: "Invocations", left: invocations, width: 24 })],
      ...rows,
    ],
  });
}
