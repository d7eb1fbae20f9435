/** The alarms of the templates: which ring, which cannot, and which reach nobody. */

import { isDeepStrictEqual } from "node:util";
import { alarmStates, unrecordedMetrics, watchedBy } from "./aws/alarm-states.ts";
import { keyArn } from "./aws/implied.ts";
import type { MetricId, Metrics, Window } from "./aws/metrics.ts";
import type { Authority } from "./iam/authority.ts";
import type { Resolver, Resource } from "./template/resolve.ts";
import type { World } from "./world.ts";

type Dimension = { Name: string; Value: unknown };
type MetricQuery = { MetricStat?: { Metric: Record<string, unknown> } };
/** Alarms on how long something took: on this machine they tell of the machine. */
const ofTime = /^(Duration|Latency|ApproximateAgeOfOldestMessage|sekisho_.*_seconds)$/;

/** The alarms that were in state ALARM at some time of the window, by their names in the templates. */
export function raisedAlarms({ resolver, metrics }: Pick<World, "resolver" | "metrics">, window: Window): string[] {
  const { fromMs = metrics.firstMs(), toMs = Date.now() } = window;
  return resolver
    .resources("AWS::CloudWatch::Alarm")
    .filter((alarm) => !watchedBy(alarm).some(({ id }) => ofTime.test(id.name)))
    .filter((alarm) => alarmStates({ alarm, metrics, window: { fromMs, toMs } }).includes("ALARM"))
    .map(nameOf)
    .sort();
}

/** What CloudWatch has a value of only once it has happened, by the metric. No ordinary story makes it happen. */
const rare: Record<string, string> = {
  ApproximateNumberOfMessagesNotVisible: "no dead letter is being handled",
  RecursiveInvocationsDropped: "broken.test.ts has a story of it",
  sekisho_answers_undelivered_total: "Slack takes every answer here",
  sekisho_circuit_open: "no destination is away for long enough",
};

/** Alarms on what AWS or a function never had a value of: under that name and these dimensions nobody would ever hear of anything. */
export function deafAlarms({ resolver, metrics }: Pick<World, "resolver" | "metrics">): string[] {
  return resolver.resources("AWS::CloudWatch::Alarm").flatMap((alarm) =>
    unrecordedMetrics({ alarm, metrics })
      .filter((id) => rare[id.name] === undefined && !isCountedElsewhere({ id, metrics }))
      .map(({ namespace, name, dimensions }) => {
        return `${alarm.label} watches ${namespace} ${name} of ${JSON.stringify(dimensions)}, which nobody records.`;
      }),
  );
}

/**
 * AWS does not say for every platform version whether AgentCore counts a call from another account there or in the account of
 * the runtime, so that there are alarms in both. Here it is the account of the runtime.
 */
function isCountedElsewhere({ id, metrics }: { id: MetricId; metrics: Metrics }): boolean {
  const isSame = (other: MetricId) =>
    other.name === id.name && isDeepStrictEqual(other.dimensions, id.dimensions) && other.account !== id.account;
  return id.namespace === "AWS/Bedrock-AgentCore" && metrics.ids().some(isSame);
}

/** Without the zone, and without the hash that CDK appends. */
function nameOf({ logicalId }: Resource): string {
  return logicalId.replace(/[0-9A-F]{8}$/, "");
}

/** What is wrong with an alarm: it watches what is never called, or it reaches nobody. */
export function alarmProblems({
  alarm,
  resolver,
  authority,
}: {
  alarm: Resource;
  resolver: Resolver;
  authority: Authority;
}): string[] {
  return [...unwatchedEndpoint({ alarm, resolver }), ...deliveryProblems({ alarm, resolver, authority })];
}

/** AgentCore counts calls under the runtime and the endpoint that are called; an alarm on any other never hears of them. */
function unwatchedEndpoint({ alarm, resolver }: { alarm: Resource; resolver: Resolver }): string[] {
  const metrics = [alarm.properties, ...((alarm.properties.Metrics ?? []) as MetricQuery[]).map(metricOf)];
  const runtimes = resolver.resources("AWS::BedrockAgentCore::Runtime");
  const called = resolver.resources("AWS::BedrockAgentCore::RuntimeEndpoint").map((endpoint) => {
    const arn = resolver.attribute(endpoint, "AgentRuntimeArn");
    const runtime = runtimes.find((candidate) => resolver.attribute(candidate, "AgentRuntimeArn") === arn);
    return `${String(runtime?.properties.AgentRuntimeName)}::${String(endpoint.properties.Name)} of ${arn}`;
  });
  return metrics
    .filter(({ Namespace }) => Namespace === "AWS/Bedrock-AgentCore")
    .flatMap(({ Dimensions }) => {
      const value = (name: string) => ((Dimensions ?? []) as Dimension[]).find(({ Name }) => Name === name)?.Value;
      const watched = `${String(value("Name"))} of ${String(value("Resource"))}`;
      return called.includes(watched) ? [] : [`${alarm.label} watches ${watched}, which is never called.`];
    });
}

function metricOf({ MetricStat }: MetricQuery): Record<string, unknown> {
  return MetricStat?.Metric ?? {};
}

function deliveryProblems({
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
      const decision = authority.check({ principal, action, resource, context });
      return decision.allowed ? [] : [`${alarm.label} cannot ${action} on ${resource}: ${decision.why}.`];
    });
  });
}
