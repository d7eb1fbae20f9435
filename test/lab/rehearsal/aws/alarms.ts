/** The alarms of the templates, evaluated over the metrics of a rehearsal as CloudWatch does. */
import { isDeepStrictEqual } from "node:util";
import type { Resolver, Resource } from "../template/resolve.ts";
import { record } from "../template/wiring.ts";
import { byPeriod, type MetricId, type Metrics, type Window } from "./metrics.ts";

type Watched = { resolver: Resolver; metrics: Metrics };

/** Durations and ages. Here they depend on the machine, so their alarms say nothing. */
const timeMetrics = /^(Duration|Latency|ApproximateAgeOfOldestMessage|sekisho_.*_seconds)$/;

/** Returns the names of the alarms that were in state ALARM at some time of the window. */
export function raisedAlarms({ resolver, metrics }: Watched, window: Window): string[] {
  const { fromMs = metrics.firstMs(), toMs = Date.now() } = window;
  return resolver
    .resources("AWS::CloudWatch::Alarm")
    .filter((alarm) => !watchesTime(alarm))
    .filter((alarm) => alarmStates({ alarm, metrics, window: { fromMs, toMs } }).includes("ALARM"))
    .map(nameOf)
    .sort();
}

/** True for an alarm on durations or ages. */
export function watchesTime(alarm: AlarmResource): boolean {
  return watchedBy(alarm).some(({ id }) => timeMetrics.test(id.name));
}

/** Metrics that get a value only in events that no ordinary story makes happen, with the reason. */
const rare: Record<string, string> = {
  ApproximateNumberOfMessagesNotVisible: "no dead letter is being handled",
  RecursiveInvocationsDropped: "broken.test.ts has a story of it",
  sekisho_answers_undelivered_total: "Slack takes every answer here",
  sekisho_circuit_open: "no destination is away for long enough",
};

/** Returns the alarms on metrics that nobody recorded: with a wrong name or dimension an alarm never rings. */
export function deafAlarms({ resolver, metrics }: Watched): string[] {
  return resolver.resources("AWS::CloudWatch::Alarm").flatMap((alarm) =>
    unrecordedMetrics({ alarm, metrics })
      .filter((id) => rare[id.name] === undefined && !isCountedElsewhere({ id, metrics }))
      .map(({ namespace, name, dimensions }) => {
        return `${alarm.label} watches ${namespace} ${name} of ${JSON.stringify(dimensions)}, which nobody records.`;
      }),
  );
}

/**
 * AWS does not say for every platform version in which account AgentCore counts a call from another account, so both accounts have
 * alarms. The rehearsal counts in the account of the runtime.
 */
function isCountedElsewhere({ id, metrics }: { id: MetricId; metrics: Metrics }): boolean {
  const isSame = (other: MetricId) =>
    other.name === id.name &&
    isDeepStrictEqual(other.dimensions, id.dimensions) &&
    other.account !== id.account;
  return id.namespace === "AWS/Bedrock-AgentCore" && metrics.ids().some(isSame);
}

/** Returns the logical id without CDK's hash. */
function nameOf({ logicalId }: Resource): string {
  return logicalId.replace(/[0-9A-F]{8}$/, "");
}

export type AlarmState = "OK" | "ALARM";

/** The part of an alarm's resource that its state depends on. */
export type AlarmResource = Pick<Resource, "stack" | "label" | "properties">;

type MetricStat = { id: MetricId; periodSeconds: number; statistic: string };

/**
 * Returns the state after each period of the window, in order of time. It is never empty. Throws for an alarm that compares or treats
 * missing data in another way than those of the product.
 */
export function alarmStates({
  alarm,
  metrics,
  window,
}: {
  alarm: AlarmResource;
  metrics: Metrics;
  window: Required<Window>;
}): AlarmState[] {
  const { EvaluationPeriods, DatapointsToAlarm = EvaluationPeriods, Threshold } = alarm.properties;
  const { ComparisonOperator, TreatMissingData } = alarm.properties;
  if (ComparisonOperator !== "GreaterThanThreshold" || TreatMissingData !== "notBreaching")
    throw new Error(
      `${alarm.label} compares by ${ComparisonOperator}, ${TreatMissingData}, not known to the rehearsal.`,
    );
  const { series, periods } = seriesOf({ alarm, metrics, window });
  const isBreaching = periods.map(
    (startMs) => (series.get(startMs) ?? Number.NEGATIVE_INFINITY) > Number(Threshold),
  );
  return periods.map((_, index) => {
    const seen = isBreaching.slice(Math.max(0, index + 1 - Number(EvaluationPeriods)), index + 1);
    return seen.filter(Boolean).length >= Number(DatapointsToAlarm) ? "ALARM" : "OK";
  });
}

/** Returns the watched metrics that never had a sample. */
export function unrecordedMetrics({
  alarm,
  metrics,
}: {
  alarm: AlarmResource;
  metrics: Metrics;
}): MetricId[] {
  return watchedBy(alarm)
    .map(({ id }) => id)
    .filter((id) => metrics.samples(id).length === 0);
}

/** Returns the metrics that an alarm watches: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-cloudwatch-alarm.html */
export function watchedBy(alarm: AlarmResource): MetricStat[] {
  return queriesOf(alarm).flatMap(({ stat }) => (stat === undefined ? [] : [stat]));
}

type Query = { name: string; stat?: MetricStat; expression?: string; isReturned: boolean };

function queriesOf(alarm: AlarmResource): Query[] {
  const { properties } = alarm;
  const { account, region } = alarm.stack;
  const place = { account, region };
  const { Metrics: queries } = properties;
  if (!Array.isArray(queries)) {
    const statistic = String(properties.Statistic ?? properties.ExtendedStatistic);
    const stat = {
      id: idOf(properties, place),
      periodSeconds: Number(properties.Period),
      statistic,
    };
    return [{ name: "only", stat, isReturned: true }];
  }
  return queries.map((query): Query => {
    const { Id, Expression, MetricStat: values, AccountId, ReturnData = true } = record(query);
    const common = { name: String(Id), isReturned: ReturnData === true };
    if (Expression !== undefined) return { ...common, expression: String(Expression) };
    const { Metric, Period, Stat } = record(values);
    const owner = AccountId === undefined ? account : String(AccountId);
    const id = idOf(record(Metric), { ...place, account: owner });
    return { ...common, stat: { id, periodSeconds: Number(Period), statistic: String(Stat) } };
  });
}

function idOf(
  properties: Record<string, unknown>,
  place: { account: string; region: string },
): MetricId {
  const { Namespace, MetricName, Dimensions = [] } = properties;
  const named = (Dimensions as { Name: string; Value: unknown }[]).map(({ Name, Value }) => [
    Name,
    String(Value),
  ]);
  return {
    ...place,
    namespace: String(Namespace),
    name: String(MetricName),
    dimensions: Object.fromEntries(named),
  };
}

function seriesOf({
  alarm,
  metrics,
  window,
}: {
  alarm: AlarmResource;
  metrics: Metrics;
  window: Required<Window>;
}): {
  series: ReadonlyMap<number, number>;
  /** The starts of the periods of the window. */
  periods: number[];
} {
  const queries = queriesOf(alarm);
  const named: Record<string, Series> = {};
  for (const { name, stat } of queries)
    if (stat !== undefined)
      named[name] = byPeriod({ ...stat, samples: metrics.samples(stat.id, window) });
  const seconds = queries.flatMap(({ stat }) => stat?.periodSeconds ?? []);
  const periodMs = Math.max(...seconds) * 1000;
  const start = Math.floor(window.fromMs / periodMs) * periodMs;
  const count = Math.floor((window.toMs - start) / periodMs) + 1;
  const periods = Array.from({ length: count }, (_, index) => start + index * periodMs);
  // CDK writes an expression before the metrics that it uses. Expressions of expressions are not known here.
  for (const { name, expression } of queries)
    if (expression !== undefined) named[name] = evaluateMath(expression, named, periods);
  const returned = queries.find(({ isReturned }) => isReturned);
  const series = named[returned?.name ?? ""];
  if (series === undefined || typeof series === "number")
    throw new Error(`${alarm.label} watches no metric.`);
  return { series, periods };
}

/** Values by the start of their period, or one value for all periods. */
export type Series = ReadonlyMap<number, number> | number;

/** The operators in use, by precedence, the lowest first. */
const operators: Record<string, (a: number, b: number) => number | boolean>[] = [
  { AND: (a, b) => a !== 0 && b !== 0 },
  { ">": (a, b) => a > b, ">=": (a, b) => a >= b },
  { "+": (a, b) => a + b },
  { "/": (a, b) => a / b },
];

/**
 * Evaluates metric math as far as the alarms here use it. Anything else throws. FILL fills each of `periods`, which by default are
 * those of all series. The latest one is filled too, although CloudWatch may only be late with its value.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
 */
export function evaluateMath(
  expression: string,
  series: Readonly<Record<string, Series>>,
  periods: readonly number[] = Object.values(series).flatMap((each) =>
    typeof each === "number" ? [] : [...each.keys()],
  ),
): Series {
  const words = expression.match(/\d+(?:\.\d+)?|[A-Za-z_]\w*|>=|[^\s]/g) ?? [];
  let at = 0;
  const accept = (wanted: string) => words[at] === wanted && at++ >= 0;
  const unknown = () => new Error(`The rehearsal does not know the metric math of ${expression}.`);

  function operation(level: number): Series {
    const known = operators[level];
    if (known === undefined) return operand();
    let left = operation(level + 1);
    for (let apply = known[words[at] ?? ""]; apply !== undefined; apply = known[words[at] ?? ""]) {
      const current = apply;
      at++;
      left = combine([left, operation(level + 1)], ([a = 0, b = 0]) => Number(current(a, b)));
    }
    return left;
  }

  function operand(): Series {
    const word = words[at++] ?? "";
    if (/^\d/.test(word)) return Number(word);
    if (!accept("(")) {
      const found = series[word];
      if (found === undefined) throw unknown();
      return found;
    }
    const args = [operation(0)];
    while (accept(",")) args.push(operation(0));
    if (!accept(")")) throw unknown();
    const [first = 0, second = 0] = args;
    if (word === "IF" && args.length === 3)
      return combine(args, ([test, yes = 0, no = 0]) => (test ? yes : no));
    if (
      word === "FILL" &&
      args.length === 2 &&
      typeof first !== "number" &&
      typeof second === "number"
    )
      return new Map(periods.map((startMs) => [startMs, first.get(startMs) ?? second]));
    throw unknown();
  }

  const result = operation(0);
  if (at !== words.length) throw unknown();
  return result;
}

/** A period has a result only if every series has a value for it. */
function combine(all: readonly Series[], apply: (values: number[]) => number): Series {
  const maps = all.filter((each) => typeof each !== "number");
  if (maps.length === 0) return apply(all.map(Number));
  const periods = [...(maps[0]?.keys() ?? [])].filter((startMs) =>
    maps.every((map) => map.has(startMs)),
  );
  const at = (series: Series, startMs: number) =>
    typeof series === "number" ? series : (series.get(startMs) ?? 0);
  return new Map(
    periods.map((startMs) => [startMs, apply(all.map((series) => at(series, startMs)))]),
  );
}
