/** The alarms of a stage as CloudWatch has them, and whether what they watch has data under the names that they watch. */
import {
  CloudWatchClient,
  DescribeAlarmsCommand,
  GetMetricDataCommand,
  type Metric,
  type MetricAlarm,
} from "@aws-sdk/client-cloudwatch";
import { callAws } from "../aws/aws-failure.ts";

export type WatchedMetric = { namespace: string; name: string; dimensions: Record<string, string> };
/** `state`: as CloudWatch says it; `missing` where there is no such alarm. */
export type SmokeAlarm = { name: string; state: string; watches: WatchedMetric[] };

export type CloudWatch = {
  alarms(request: { names: readonly string[] }): Promise<SmokeAlarm[]>;
  /** The sum of the values since then, by metric, in the order given; undefined where there are none. */
  sums(request: { metrics: readonly WatchedMetric[]; fromMs: number }): Promise<(number | undefined)[]>;
  close(): void;
};

const mostNames = 100;
const mostQueries = 500;
const periodSeconds = 60;

export function openCloudWatch({
  region,
  profile,
  signal,
  now = Date.now,
}: {
  region: string;
  profile?: string | undefined;
  signal: AbortSignal;
  now?: () => number;
}): CloudWatch {
  const client = new CloudWatchClient({ region, ...(profile !== undefined && { profile }) });
  return {
    async alarms({ names }) {
      const found = new Map<string, MetricAlarm>();
      for (const some of chunks(names, mostNames)) {
        const { MetricAlarms = [] } = await callAws({
          doing: "look at the alarms",
          signal,
          call: (options) =>
            client.send(new DescribeAlarmsCommand({ AlarmNames: [...some], MaxRecords: mostNames }), options),
        });
        for (const alarm of MetricAlarms) found.set(alarm.AlarmName ?? "", alarm);
      }
      return names.map((name) => {
        const alarm = found.get(name);
        if (alarm === undefined) return { name, state: "missing", watches: [] };
        return { name, state: alarm.StateValue ?? "unknown", watches: watchedBy(alarm) };
      });
    },
    async sums({ metrics, fromMs }) {
      const sums: (number | undefined)[] = [];
      for (const some of chunks(metrics, mostQueries)) {
        const queries = some.map(({ namespace, name, dimensions }, index) => ({
          Id: `m${index}`,
          MetricStat: { Metric: toMetric({ namespace, name, dimensions }), Period: periodSeconds, Stat: "Sum" },
        }));
        const input = { MetricDataQueries: queries, StartTime: new Date(fromMs), EndTime: new Date(now()) };
        const { MetricDataResults = [] } = await callAws({
          doing: "read metrics",
          signal,
          call: (options) => client.send(new GetMetricDataCommand(input), options),
        });
        const values = new Map(MetricDataResults.map(({ Id = "", Values = [] }) => [Id, Values]));
        for (const [index] of some.entries()) {
          const each = values.get(`m${index}`) ?? [];
          sums.push(each.length === 0 ? undefined : each.reduce((total, value) => total + value, 0));
        }
      }
      return sums;
    },
    close: () => client.destroy(),
  };
}

function watchedBy({ Namespace, MetricName, Dimensions, Metrics = [] }: MetricAlarm): WatchedMetric[] {
  const single = MetricName === undefined ? [] : [{ Namespace, MetricName, Dimensions }];
  const all = [...single, ...Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])];
  return all.map(({ Namespace: namespace = "", MetricName: name = "", Dimensions: given = [] }) => ({
    namespace,
    name,
    dimensions: Object.fromEntries(given.map(({ Name = "", Value = "" }) => [Name, Value])),
  }));
}

function toMetric({ namespace, name, dimensions }: WatchedMetric): Metric {
  const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
  return { Namespace: namespace, MetricName: name, Dimensions };
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}
