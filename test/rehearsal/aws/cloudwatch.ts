/** CloudWatch as an operator reads it: the alarms of the templates, and what was recorded while their stacks ran. */
import type { Resolver } from "../template/resolve.ts";
import { record } from "../template/wiring.ts";
import { type AlarmState, alarmStates } from "./alarm-states.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";
import { byPeriod, type Metrics } from "./metrics.ts";

/** Strict: what is not named in the request is not answered, and an input that is not known is refused. */
export function cloudWatchBackend({ resolver, metrics }: { resolver: Resolver; metrics: Metrics }): Backend {
  const startMs = Date.now();

  function describeAlarms({
    input,
    account,
    region,
  }: {
    input: Record<string, unknown>;
    account: string;
    region: string;
  }) {
    requireOnly(input, ["AlarmNames", "MaxRecords"]);
    const names = (input.AlarmNames ?? []) as string[];
    if (names.length > Number(input.MaxRecords ?? 50))
      throw new Error("More alarms are asked for than one answer has.");
    const alarms = resolver
      .resources("AWS::CloudWatch::Alarm")
      .filter(({ stack }) => stack.account === account && stack.region === region)
      .filter((alarm) => names.includes(resolver.ref(alarm)));
    const MetricAlarms = alarms.map((alarm) => {
      const { Namespace, MetricName, Dimensions, Metrics: queries } = alarm.properties;
      const states: AlarmState[] = alarmStates({ alarm, metrics, window: { fromMs: startMs, toMs: Date.now() } });
      const watched = queries === undefined ? { Namespace, MetricName, Dimensions } : { Metrics: queries };
      return { AlarmName: resolver.ref(alarm), StateValue: states.at(-1), ...watched };
    });
    return Response.json({ MetricAlarms, CompositeAlarms: [] });
  }

  function getMetricData({
    input,
    account,
    region,
  }: {
    input: Record<string, unknown>;
    account: string;
    region: string;
  }) {
    requireOnly(input, ["MetricDataQueries", "StartTime", "EndTime"]);
    const window = { fromMs: Number(input.StartTime) * 1000, toMs: Number(input.EndTime) * 1000 };
    const MetricDataResults = (input.MetricDataQueries as Record<string, unknown>[]).map(({ Id, MetricStat }) => {
      const { Metric, Period, Stat } = record(MetricStat);
      const { Namespace, MetricName, Dimensions = [] } = record(Metric);
      const dimensions = (Dimensions as { Name: string; Value: string }[]).map(({ Name, Value }) => [Name, Value]);
      const id = {
        account,
        region,
        namespace: String(Namespace),
        name: String(MetricName),
        dimensions: Object.fromEntries(dimensions),
      };
      const samples = metrics.samples(id, window);
      const values = byPeriod({ samples, periodSeconds: Number(Period), statistic: String(Stat) });
      const entries = [...values].sort(([a], [b]) => b - a);
      const Timestamps = entries.map(([atMs]) => atMs / 1000);
      return { Id, Label: MetricName, Timestamps, Values: entries.map(([, value]) => value), StatusCode: "Complete" };
    });
    return Response.json({ MetricDataResults, Messages: [] });
  }

  return async ({ call: { action, input }, caller: { account, region } }) => {
    if (action === "cloudwatch:DescribeAlarms") return describeAlarms({ input, account, region });
    if (action === "cloudwatch:GetMetricData") return getMetricData({ input, account, region });
    return awsFailure({ service: "monitoring", name: "UnknownOperationException" });
  };
}

function requireOnly(input: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(input).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`The rehearsal does not know ${unknown.join(", ")} of this call.`);
}
