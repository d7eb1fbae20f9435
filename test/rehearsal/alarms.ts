/** The alarms of the templates, as CloudWatch would evaluate them on the depth of a queue. */

import { keyArn } from "./aws/implied.ts";
import type { Authority } from "./iam/authority.ts";
import type { Resolver, Resource } from "./template/resolve.ts";

type Dimension = { Name: string; Value: unknown };

/** The alarms that watch a metric of this queue. */
export function alarmsOfQueue({
  resolver,
  queueName,
  metric,
}: {
  resolver: Resolver;
  queueName: string;
  metric: string;
}): Resource[] {
  return resolver.resources("AWS::CloudWatch::Alarm").filter(({ properties }) => {
    const dimensions = (properties.Dimensions ?? []) as Dimension[];
    const isOfQueue = dimensions.some(({ Name, Value }) => Name === "QueueName" && Value === queueName);
    return isOfQueue && properties.MetricName === metric && properties.Namespace === "AWS/SQS";
  });
}

export function isBreached({ alarm, value }: { alarm: Resource; value: number }): boolean {
  const { Threshold, ComparisonOperator } = alarm.properties;
  const threshold = Number(Threshold);
  if (ComparisonOperator === "GreaterThanThreshold") return value > threshold;
  if (ComparisonOperator === "GreaterThanOrEqualToThreshold") return value >= threshold;
  throw new Error(`${alarm.label} compares by ${String(ComparisonOperator)}, not known to the rehearsal.`);
}

/** What keeps the alarm from reaching anyone: no topic, or a topic or a key that lets CloudWatch down. */
export function alarmProblems({
  alarm,
  resolver,
  authority,
}: {
  alarm: Resource;
  resolver: Resolver;
  authority: Authority;
}): string[] {
  const topics = ((alarm.properties.AlarmActions ?? []) as unknown[]).map(String);
  if (topics.length === 0) return [`${alarm.label} tells nobody: it has no AlarmActions.`];
  return topics.flatMap((arn) => {
    const topic = resolver.resources("AWS::SNS::Topic").find((candidate) => resolver.ref(candidate) === arn);
    if (topic === undefined) return [`${alarm.label} tells ${arn}, which no template has.`];
    const { KmsMasterKeyId: key } = topic.properties;
    const keyCalls =
      key === undefined
        ? []
        : ["kms:Decrypt", "kms:GenerateDataKey"].map((action) => ({
            action,
            resource: keyArn(resolver, String(key)),
          }));
    return [{ action: "sns:Publish", resource: arn }, ...keyCalls].flatMap(({ action, resource }) => {
      const context = {
        "aws:sourcearn": resolver.attribute(alarm, "Arn"),
        "aws:sourceaccount": alarm.stack.account,
        "kms:viaservice": `sns.${alarm.stack.region}.amazonaws.com`,
      };
      const principal = { type: "service", service: "cloudwatch.amazonaws.com" } as const;
      const verdict = authority.check({ principal, action, resource, context });
      return verdict.allowed ? [] : [`${alarm.label} cannot ${action} on ${resource}: ${verdict.why}.`];
    });
  });
}
