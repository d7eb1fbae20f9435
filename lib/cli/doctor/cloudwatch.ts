/** Reads with the operator's credentials what CloudWatch has of a stack: its alarms, their metrics, and its log lines. */
import { CloudFormationClient, paginateListStackResources } from "@aws-sdk/client-cloudformation";
import {
  CloudWatchClient,
  DescribeAlarmsCommand,
  GetMetricDataCommand,
  type MetricAlarm,
} from "@aws-sdk/client-cloudwatch";
import { CloudWatchLogsClient, paginateFilterLogEvents } from "@aws-sdk/client-cloudwatch-logs";
import { sdkUserAgent } from "../../../lambdas/shared/version.ts";
import { formatStackName } from "../../cdk/names.ts";
import { readJson } from "../../local/read-json.ts";
import { type AwsCall, callAws } from "../aws/aws-failure.ts";

export type Metric = { namespace: string; name: string; dimensions: Record<string, string> };
/** `sum` is undefined where CloudWatch has no value. */
export type Summed = Metric & { sum: number | undefined };

/** One stack as CloudWatch in its account shows it. */
export type ZoneFacts = {
  zone: "Verification" | "Execution";
  /** `state` is CloudWatch's own word, or `missing` where the stack lists the alarm and CloudWatch does not have it. */
  alarms: { name: string; state: string }[];
  /** What the alarms watch of AgentCore. AWS does not say for every version which names and dimensions have data. */
  agentCore: Summed[];
  /** By the names of log lines of level `error`, with their log group. */
  errors: Map<string, number>;
  logGroups: string[];
};

export type StackReader = ReturnType<typeof openStackReader>;

/** The limit of one call. The stacks have fewer alarms. */
const maxAlarms = 100;
/** A count that is shown as this number means "at least". */
const maxLogLines = 1000;

type StackOptions = AwsCall & {
  stageName: string;
  zone: ZoneFacts["zone"];
  /** A profile of the AWS command line. The default credentials are used where it is undefined. */
  profile?: string | undefined;
  /** The beginning of the time that is read. */
  fromMs: number;
};

export function openStackReader({ region, profile, ...rest }: StackOptions) {
  const settings = { region, customUserAgent: sdkUserAgent, ...(profile && { profile }) };
  const cloudFormation = new CloudFormationClient(settings);
  const cloudWatch = new CloudWatchClient(settings);
  const logs = new CloudWatchLogsClient(settings);
  return {
    ...{ ...rest, cloudFormation, cloudWatch, logs },
    close() {
      for (const client of [cloudFormation, cloudWatch, logs]) client.destroy();
    },
  };
}

export async function readZone(reader: StackReader): Promise<ZoneFacts> {
  const { zone, cloudWatch, signal } = reader;
  const resources = await listResources(reader);
  const idsOf = (type: string) => resources.filter((one) => one.type === type).map(({ id }) => id);
  const AlarmNames = idsOf("AWS::CloudWatch::Alarm");
  const { MetricAlarms: alarms = [] } = await callAws({
    doing: "look at the alarms",
    signal,
    call: (options) =>
      cloudWatch.send(new DescribeAlarmsCommand({ AlarmNames, MaxRecords: maxAlarms }), options),
  });
  const states = new Map(alarms.map(({ AlarmName, StateValue }) => [AlarmName, StateValue]));
  const watched = alarms.flatMap(listWatched);
  const logGroups = idsOf("AWS::Logs::LogGroup");
  const errors = new Map<string, number>();
  for (const group of logGroups)
    for (const line of await findLines(reader, group, '{ $.level = "error" }')) {
      const key = `${readLineName(line)} in ${group}`;
      errors.set(key, (errors.get(key) ?? 0) + 1);
    }
  return {
    zone,
    alarms: AlarmNames.map((name) => ({ name, state: states.get(name) ?? "missing" })),
    agentCore: await sumMetrics(
      reader,
      watched.filter(({ namespace }) => namespace === "AWS/Bedrock-AgentCore"),
    ),
    errors,
    logGroups,
  };
}

function listResources({ stageName, zone, cloudFormation: client, signal }: StackReader) {
  const StackName = formatStackName({ stageName, zone });
  return callAws({
    doing: `list the resources of the stack ${StackName}`,
    signal,
    async call(options) {
      const found: { type: string | undefined; id: string }[] = [];
      for await (const page of paginateListStackResources({ client }, { StackName }, options))
        for (const { ResourceType, PhysicalResourceId = "" } of page.StackResourceSummaries ?? [])
          found.push({ type: ResourceType, id: PhysicalResourceId });
      return found;
    },
  });
}

export async function sumMetrics(
  { cloudWatch, fromMs, signal }: StackReader,
  metrics: readonly Metric[],
): Promise<Summed[]> {
  if (metrics.length === 0) return [];
  const MetricDataQueries = metrics.map(({ namespace, name, dimensions }, index) => {
    const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
    const Metric = { Namespace: namespace, MetricName: name, Dimensions };
    return { Id: `m${index}`, MetricStat: { Metric, Period: 60, Stat: "Sum" } };
  });
  const input = { MetricDataQueries, StartTime: new Date(fromMs), EndTime: new Date() };
  const { MetricDataResults = [] } = await callAws({
    doing: "read metrics",
    signal,
    call: (options) => cloudWatch.send(new GetMetricDataCommand(input), options),
  });
  const values = new Map(MetricDataResults.map(({ Id, Values = [] }) => [Id, Values]));
  return metrics.map((metric, index) => {
    const [first, ...rest] = values.get(`m${index}`) ?? [];
    const sum = first === undefined ? undefined : rest.reduce((all, one) => all + one, first);
    return { ...metric, sum };
  });
}

export function findLines(
  { logs: client, fromMs: startTime, signal }: StackReader,
  logGroupName: string,
  filterPattern: string,
): Promise<string[]> {
  return callAws({
    doing: `read the log group ${logGroupName}`,
    signal,
    timeoutMs: 60_000,
    async call(options) {
      const lines: string[] = [];
      const input = { logGroupName, filterPattern, startTime };
      for await (const { events = [] } of paginateFilterLogEvents({ client }, input, options)) {
        lines.push(...events.map(({ message = "" }) => message));
        if (lines.length >= maxLogLines) break;
      }
      return lines;
    },
  });
}

function listWatched({ Namespace, MetricName, Dimensions, Metrics = [] }: MetricAlarm): Metric[] {
  const single = MetricName === undefined ? [] : [{ Namespace, MetricName, Dimensions }];
  const all = [...single, ...Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])];
  return all.map(({ Namespace: namespace = "", MetricName: name = "", Dimensions: pairs = [] }) => {
    const dimensions = Object.fromEntries(pairs.map(({ Name = "", Value = "" }) => [Name, Value]));
    return { namespace, name, dimensions };
  });
}

/** The message of a line of ours is a fixed name. Any other text is not shown, because it may hold a secret. */
function readLineName(line: string): string {
  const { message } = Object(readJson(line)) as { message?: unknown };
  return typeof message === "string" && /^[a-z0-9_]{1,60}$/.test(message)
    ? message
    : "a line of another form";
}
