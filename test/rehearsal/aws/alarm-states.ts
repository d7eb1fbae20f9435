/** The alarms of the templates, evaluated over the metrics of a rehearsal as CloudWatch does it. */
import type { Resource } from "../template/resolve.ts";
import { record } from "../template/wiring.ts";
import { evaluateMath, type Series } from "./metric-math.ts";
import { byPeriod, type MetricId, type Metrics, type Window } from "./metrics.ts";

export type AlarmState = "OK" | "ALARM" | "INSUFFICIENT_DATA";

type MetricStat = { id: MetricId; periodSeconds: number; statistic: string };

/** The state after each period of the window, in order of time. Never empty. */
export function alarmStates({
  alarm,
  metrics,
  window,
}: {
  alarm: Resource;
  metrics: Metrics;
  window: Required<Window>;
}): AlarmState[] {
  const { EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, TreatMissingData = "missing" } = alarm.properties;
  const { series, periods } = seriesOf({ alarm, metrics, window });
  const values = periods.map((startMs) => series.get(startMs));
  const breaches = breachOf(alarm);
  const states: AlarmState[] = [];
  for (const [index] of values.entries()) {
    const seen = Array.from({ length: Number(EvaluationPeriods) }, (_, back) => values[index - back]);
    const before = states.at(-1) ?? "INSUFFICIENT_DATA";
    const isMissing = seen.every((value) => value === undefined);
    const bad = seen.filter((value) => (value === undefined ? TreatMissingData === "breaching" : breaches(value)));
    if (isMissing && TreatMissingData === "ignore") states.push(before);
    else if (isMissing && TreatMissingData === "missing") states.push("INSUFFICIENT_DATA");
    else states.push(bad.length >= Number(DatapointsToAlarm) ? "ALARM" : "OK");
  }
  return states;
}

/** The metrics that the alarm watches and that never had a sample. */
export function unrecordedMetrics({ alarm, metrics }: { alarm: Resource; metrics: Metrics }): MetricId[] {
  return watchedBy(alarm)
    .map(({ id }) => id)
    .filter((id) => metrics.samples(id).length === 0);
}

/** What an alarm watches: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-cloudwatch-alarm.html */
export function watchedBy(alarm: Resource): MetricStat[] {
  return queriesOf(alarm).flatMap(({ stat }) => (stat === undefined ? [] : [stat]));
}

type Query = { name: string; stat?: MetricStat; expression?: string; isReturned: boolean };

function queriesOf(alarm: Resource): Query[] {
  const { properties } = alarm;
  const place = { account: alarm.stack.account, region: alarm.stack.region };
  const { Metrics: queries } = properties;
  if (!Array.isArray(queries)) {
    const statistic = String(properties.Statistic ?? properties.ExtendedStatistic);
    const stat = { id: idOf(properties, place), periodSeconds: Number(properties.Period), statistic };
    return [{ name: "only", stat, isReturned: true }];
  }
  return queries.map((query): Query => {
    const { Id, Expression, MetricStat: given, AccountId, ReturnData = true } = record(query);
    const common = { name: String(Id), isReturned: ReturnData === true };
    if (Expression !== undefined) return { ...common, expression: String(Expression) };
    const { Metric, Period, Stat } = record(given);
    const account = AccountId === undefined ? place.account : String(AccountId);
    const id = idOf(record(Metric), { ...place, account });
    return { ...common, stat: { id, periodSeconds: Number(Period), statistic: String(Stat) } };
  });
}

function idOf(properties: Record<string, unknown>, place: { account: string; region: string }): MetricId {
  const { Namespace, MetricName, Dimensions = [] } = properties;
  const named = (Dimensions as { Name: string; Value: unknown }[]).map(({ Name, Value }) => [Name, String(Value)]);
  return {
    ...place,
    namespace: String(Namespace),
    name: String(MetricName),
    dimensions: Object.fromEntries(named),
  };
}

function seriesOf({ alarm, metrics, window }: { alarm: Resource; metrics: Metrics; window: Required<Window> }): {
  series: ReadonlyMap<number, number>;
  /** The start of each period of the window. */
  periods: number[];
} {
  const queries = queriesOf(alarm);
  const named: Record<string, Series> = {};
  for (const { name, stat } of queries)
    if (stat !== undefined) named[name] = byPeriod({ ...stat, samples: metrics.samples(stat.id, window) });
  const seconds = queries.flatMap(({ stat }) => stat?.periodSeconds ?? []);
  const periodMs = Math.max(...seconds) * 1000;
  const start = Math.floor(window.fromMs / periodMs) * periodMs;
  const count = Math.floor((window.toMs - start) / periodMs) + 1;
  const periods = Array.from({ length: count }, (_, index) => start + index * periodMs);
  // CDK writes the expression before the metrics that it uses; expressions of expressions are not known here.
  for (const { name, expression } of queries)
    if (expression !== undefined) named[name] = evaluateMath(expression, named, periods);
  const returned = queries.find(({ isReturned }) => isReturned);
  const series = named[returned?.name ?? ""];
  if (series === undefined || typeof series === "number") throw new Error(`${alarm.label} watches no metric.`);
  return { series, periods };
}

function breachOf(alarm: Resource): (value: number) => boolean {
  const { Threshold, ComparisonOperator } = alarm.properties;
  const threshold = Number(Threshold);
  switch (ComparisonOperator) {
    case "GreaterThanThreshold":
      return (value) => value > threshold;
    case "GreaterThanOrEqualToThreshold":
      return (value) => value >= threshold;
    case "LessThanThreshold":
      return (value) => value < threshold;
    case "LessThanOrEqualToThreshold":
      return (value) => value <= threshold;
  }
  throw new Error(`${alarm.label} compares by ${String(ComparisonOperator)}, not known to the rehearsal.`);
}
