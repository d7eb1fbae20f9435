/** Reads a stack with the operator's credentials: its resources, and what CloudWatch has of its alarms, metrics and logs. */
import { CloudFormationClient, paginateListStackResources } from "@aws-sdk/client-cloudformation";
import {
  CloudWatchClient,
  DescribeAlarmsCommand,
  GetMetricDataCommand,
  type MetricAlarm,
} from "@aws-sdk/client-cloudwatch";
import { CloudWatchLogsClient, paginateFilterLogEvents } from "@aws-sdk/client-cloudwatch-logs";
import { sdkUserAgent } from "../../../lambdas/shared/version.ts";
import { readJson } from "../../local/read-json.ts";
import { type AwsCall, callAws } from "../aws/aws-failure.ts";

export type StackResource = { type: string; logicalId: string; physicalId: string };
export type WatchedMetric = { namespace: string; name: string; dimensions: Record<string, string> };
/** `state` is CloudWatch's own word, or `missing` where the stack lists the alarm and CloudWatch does not have it. */
export type SmokeAlarm = { name: string; state: string; watches: WatchedMetric[] };

/** The limits of one call. */
const maxAlarmNames = 100;
const maxMetricQueries = 500;
/** A count that is shown as this number means "at least". */
const maxLogLines = 1000;

export type StackReader = ReturnType<typeof openStackReader>;

type StackOptions = AwsCall & {
  stackName: string;
  /** A profile of the AWS command line. The default credentials are used where it is undefined. */
  profile: string | undefined;
  fromMs: number;
};

/** `fromMs` is the beginning of the time that is read. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function openStackReader({ stackName, region, profile, fromMs, signal }: StackOptions) {
  const options = {
    region,
    customUserAgent: sdkUserAgent,
    ...(profile !== undefined && { profile }),
  };
  const cloudFormation = new CloudFormationClient(options);
  const cloudWatch = new CloudWatchClient(options);
  const logs = new CloudWatchLogsClient(options);

  async function findLines(group: string, filterPattern: string): Promise<string[]> {
    return callAws({
      doing: `read the log group ${group}`,
      signal,
      timeoutMs: 60_000,
      async call({ abortSignal }) {
        const found: string[] = [];
        const input = { logGroupName: group, filterPattern, startTime: fromMs };
        for await (const { events = [] } of paginateFilterLogEvents({ client: logs }, input, {
          abortSignal,
        })) {
          found.push(...events.map(({ message = "" }) => message));
          if (found.length >= maxLogLines) break;
        }
        return found;
      },
    });
  }

  return {
    async resources(): Promise<StackResource[]> {
      return callAws({
        doing: `list the resources of the stack ${stackName}`,
        signal,
        async call({ abortSignal }) {
          const found: StackResource[] = [];
          const input = { StackName: stackName };
          for await (const page of paginateListStackResources({ client: cloudFormation }, input, {
            abortSignal,
          })) {
            for (const each of page.StackResourceSummaries ?? []) {
              const { ResourceType = "", LogicalResourceId = "", PhysicalResourceId = "" } = each;
              found.push({
                type: ResourceType,
                logicalId: LogicalResourceId,
                physicalId: PhysicalResourceId,
              });
            }
          }
          return found;
        },
      });
    },

    async alarms(names: readonly string[]): Promise<SmokeAlarm[]> {
      const found = new Map<string | undefined, MetricAlarm>();
      for (const AlarmNames of chunks(names, maxAlarmNames)) {
        const { MetricAlarms = [] } = await callAws({
          doing: "look at the alarms",
          signal,
          call: (call) =>
            cloudWatch.send(
              new DescribeAlarmsCommand({ AlarmNames, MaxRecords: maxAlarmNames }),
              call,
            ),
        });
        for (const alarm of MetricAlarms) found.set(alarm.AlarmName, alarm);
      }
      return names.map((name) => {
        const alarm = found.get(name);
        if (alarm === undefined) return { name, state: "missing", watches: [] };
        return { name, state: alarm.StateValue ?? "unknown", watches: listWatched(alarm) };
      });
    },

    /** Adds to each the sum of its metric's values, or undefined where the metric has no value. */
    async withSums<T extends { metric: WatchedMetric }>(
      all: readonly T[],
    ): Promise<(T & { sum: number | undefined })[]> {
      const sums: (number | undefined)[] = [];
      for (const some of chunks(all, maxMetricQueries)) {
        const MetricDataQueries = some.map(({ metric: { namespace, name, dimensions } }, index) => {
          const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
          const Metric = { Namespace: namespace, MetricName: name, Dimensions };
          return { Id: `m${index}`, MetricStat: { Metric, Period: 60, Stat: "Sum" } };
        });
        const input = { MetricDataQueries, StartTime: new Date(fromMs), EndTime: new Date() };
        const { MetricDataResults = [] } = await callAws({
          doing: "read metrics",
          signal,
          call: (call) => cloudWatch.send(new GetMetricDataCommand(input), call),
        });
        const values = new Map(MetricDataResults.map(({ Id, Values = [] }) => [Id, Values]));
        for (const index of some.keys()) {
          const [first, ...rest] = values.get(`m${index}`) ?? [];
          sums.push(
            first === undefined ? undefined : rest.reduce((sum, value) => sum + value, first),
          );
        }
      }
      return all.map((each, index) => ({ ...each, sum: sums[index] }));
    },

    countLines: async (group: string, text: string) => (await findLines(group, `"${text}"`)).length,

    /** The names of the log lines of level `error`, with how often each was written. */
    async countErrors(group: string): Promise<Map<string, number>> {
      const counts = new Map<string, number>();
      for (const line of await findLines(group, '{ $.level = "error" }')) {
        const name = readLineName(line);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      return counts;
    },

    close() {
      for (const client of [cloudFormation, cloudWatch, logs]) client.destroy();
    },
  };
}

function listWatched({
  Namespace,
  MetricName,
  Dimensions,
  Metrics = [],
}: MetricAlarm): WatchedMetric[] {
  const single = MetricName === undefined ? [] : [{ Namespace, MetricName, Dimensions }];
  const all = [...single, ...Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])];
  return all.map(
    ({ Namespace: namespace = "", MetricName: name = "", Dimensions: given = [] }) => ({
      namespace,
      name,
      dimensions: Object.fromEntries(given.map(({ Name = "", Value = "" }) => [Name, Value])),
    }),
  );
}

/** The message of a line of ours is a fixed name. Any other text is not shown, because it may hold a secret. */
function readLineName(line: string): string {
  const { message } = Object(readJson(line)) as { message?: unknown };
  return typeof message === "string" && /^[a-z0-9_]{1,60}$/.test(message)
    ? message
    : "a line of another form";
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, index) => all.slice(index * size, (index + 1) * size));
}
