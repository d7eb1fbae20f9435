/** Alarms that someone hears of: each has the zone's topic as its action. */
import { Duration, Stack } from "aws-cdk-lib";
import {
  Alarm,
  ComparisonOperator,
  GraphWidget,
  type IMetric,
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
import type { Construct } from "constructs";
import { type MetricName, metricTable } from "../../../lambdas/shared/telemetry/metric-table.ts";
import { acknowledge } from "./acknowledge.ts";

/**
 * Adds an alarm above `threshold` in each of `periods` (one), or in so many of the latest `within`. Returns the metric, for
 * the dashboard.
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
  // CloudWatch publishes to an encrypted topic only where the key lets it.
  key.addToResourcePolicy(
    new PolicyStatement({ ...fromHere, actions: ["kms:Decrypt", "kms:GenerateDataKey*"], resources: ["*"] }),
  );
  // The policy that demands TLS stands in the place of the one by which a topic lets in its own account.
  topic.addToResourcePolicy(
    new PolicyStatement({ ...fromHere, actions: ["sns:Publish"], resources: [topic.topicArn] }),
  );
  if (email !== undefined) {
    acknowledge(topic.addSubscription(new EmailSubscription(email)), {
      findings: ["Serverless-SNSRedrivePolicy"],
      reason: "A mail that does not arrive is no message to be kept: the alarm itself shows in CloudWatch.",
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

// The alarms of every function: errors, throttles, and invocations that Lambda refused because it took them for a loop.

/** By the names that the alarms get; the metrics come back for whoever draws them. */
export function watchFunctions({ alarm, functions }: { alarm: AddAlarm; functions: Record<string, IFunction> }): {
  errors: IMetric[];
  throttles: IMetric[];
} {
  const period = Duration.minutes(1);
  const named = Object.entries(functions);
  const errors = named.map(([name, fn]) =>
    alarm(`${name}Errors`, {
      metric: fn.metricErrors({ period }),
      threshold: 0,
      what: `The function ${name} ended with an error. See its log.`,
    }),
  );
  const throttles = named.map(([name, fn]) =>
    alarm(`${name}Throttles`, {
      metric: fn.metricThrottles({ period }),
      threshold: 0,
      what: `The function ${name} was not started for want of concurrency. Raise the account's limit.`,
    }),
  );
  for (const [name, fn] of named) {
    alarm(`${name}LoopStopped`, {
      metric: fn.metric("RecursiveInvocationsDropped", { period, statistic: "Sum" }),
      threshold: 0,
      what: `Lambda took messages for a runaway loop and did not invoke the function ${name} for them. See docs/operations.md.`,
    });
  }
  return { errors, throttles };
}

// The zones' own metrics as CloudWatch has them: by the names and the dimensions of the table, and by no others.

type Asked = { name: MetricName; statistic: string; periodMinutes?: number };

export type ZoneMetrics = {
  /** One metric. `of` has a value for each label of one of the table's dimension sets. */
  metric(request: Asked & { of?: Record<string, string> }): Metric;
  /** A graph with a line for each combination of values of `by`, one of the table's dimension sets. */
  graph(request: Asked & { title: string; by?: readonly string[]; width?: number }): GraphWidget;
};

/** Throws for dimensions that the functions do not write: an alarm on them would never hear of anything. */
export function createZoneMetrics({
  namespace,
  zone,
}: {
  namespace: string;
  zone: "verification" | "execution";
}): ZoneMetrics {
  return {
    metric({ name, statistic, periodMinutes = 5, of = {} }) {
      requireDimensions(name, Object.keys(of));
      const period = Duration.minutes(periodMinutes);
      return new Metric({ namespace, metricName: name, dimensionsMap: { zone, ...of }, statistic, period });
    },
    graph({ name, statistic, periodMinutes = 5, title, by = [], width = 12 }) {
      requireDimensions(name, by);
      const schema = [`"${namespace}"`, "zone", ...by].join(",");
      const expression = `SEARCH('{${schema}} MetricName="${name}" zone="${zone}"', '${statistic}')`;
      const period = Duration.minutes(periodMinutes);
      return new GraphWidget({ title, left: [new MathExpression({ expression, label: "", period })], width });
    },
  };
}

function requireDimensions(name: MetricName, labels: readonly string[]): void {
  const row = metricTable[name];
  const sets: readonly (readonly string[])[] = "dimensions" in row ? row.dimensions : [];
  const isKept = sets.some((set) => set.length === labels.length && labels.every((label) => set.includes(label)));
  if (!isKept) throw new Error(`${name} is not kept by ${JSON.stringify(labels)} (metric-table.ts).`);
}
