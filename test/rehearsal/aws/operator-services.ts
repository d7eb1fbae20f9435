/** The services that operators' commands use: CloudWatch, CloudWatch Logs, CloudFormation, and Lambda's Invoke. */
import { escapeXml } from "../../doubles/aws/json-services-wire.ts";
import { runtimeLogGroup } from "../deploy-checks.ts";
import type { RunningFunction } from "../lambda/function.ts";
import type { Assembly } from "../template/assembly.ts";
import type { Resolver } from "../template/resolve.ts";
import { type AgentRuntime, type LambdaFunction, record } from "../template/wiring.ts";
import { alarmStates, idOf, watchesTime } from "./alarms.ts";
import { awsFailure, xml } from "./failure.ts";
import type { Backend } from "./gateway.ts";
import { byPeriod, type Metrics } from "./metrics.ts";

type Input = Record<string, unknown>;
type Place = { account: string; region: string };

/** Serves the alarms of the templates and the recorded metrics. It answers only what a request names, and rejects unknown inputs. */
export function cloudWatchBackend({
  resolver,
  metrics,
}: {
  resolver: Resolver;
  metrics: Metrics;
}): Backend {
  const startMs = Date.now();

  function describeAlarms(input: Input, { account, region }: Place): Response {
    requireOnly(input, ["AlarmNames", "MaxRecords"]);
    const names = (input.AlarmNames ?? []) as string[];
    if (names.length > Number(input.MaxRecords ?? 50))
      throw new Error("More alarms are asked for than one answer has.");
    const alarms = resolver
      .resources("AWS::CloudWatch::Alarm")
      .filter(({ stack }) => stack.account === account && stack.region === region)
      .filter(({ ref }) => names.includes(ref));
    const MetricAlarms = alarms.map((alarm) => {
      const { Namespace, MetricName, Dimensions, Metrics: queries } = alarm.properties;
      const states = alarmStates({ alarm, metrics, window: { fromMs: startMs, toMs: Date.now() } });
      const watched =
        queries === undefined ? { Namespace, MetricName, Dimensions } : { Metrics: queries };
      return {
        AlarmName: alarm.ref,
        StateValue: watchesTime(alarm) ? "OK" : states.at(-1),
        ...watched,
      };
    });
    return Response.json({ MetricAlarms, CompositeAlarms: [] });
  }

  function getMetricData(input: Input, place: Place): Response {
    requireOnly(input, ["MetricDataQueries", "StartTime", "EndTime"]);
    const window = { fromMs: Number(input.StartTime) * 1000, toMs: Number(input.EndTime) * 1000 };
    const MetricDataResults = (input.MetricDataQueries as Input[]).map(({ Id, MetricStat }) => {
      const { Metric, Period, Stat } = record(MetricStat);
      const { MetricName: Label } = record(Metric);
      const samples = metrics.samples(idOf(record(Metric), place), window);
      const values = byPeriod({ samples, periodSeconds: Number(Period), statistic: String(Stat) });
      const entries = [...values].sort(([a], [b]) => b - a);
      const Timestamps = entries.map(([atMs]) => atMs / 1000);
      return {
        Id,
        Label,
        Timestamps,
        Values: entries.map(([, value]) => value),
        StatusCode: "Complete",
      };
    });
    return Response.json({ MetricDataResults, Messages: [] });
  }

  return async ({ call: { action, input }, caller: { account, region } }) => {
    if (action === "cloudwatch:DescribeAlarms") return describeAlarms(input, { account, region });
    if (action === "cloudwatch:GetMetricData") return getMetricData(input, { account, region });
    return awsFailure({ service: "monitoring", name: "UnknownOperationException" });
  };
}

function requireOnly(input: Input, known: readonly string[]): void {
  const unknown = Object.keys(input).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`The rehearsal does not know ${unknown.join(", ")} of this call.`);
}

/**
 * Serves FilterLogEvents over what functions and runtimes wrote. `lines` has the label of the writer beside each line. A filter is a
 * quoted text, or one field of a JSON line that equals a text:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
 */
export function logsBackend({
  resolver,
  functions,
  runtimes,
  lines,
}: {
  resolver: Resolver;
  functions: readonly LambdaFunction[];
  runtimes: readonly AgentRuntime[];
  lines: readonly { from: string; line: string }[];
}): Backend {
  return async ({ call: { action, input }, caller }) => {
    if (action !== "logs:FilterLogEvents")
      throw new Error(`The rehearsal does not know ${action}.`);
    requireOnly(input, ["logGroupName", "filterPattern", "startTime"]);
    const { logGroupName, filterPattern, startTime = 0 } = input;
    const writers = [
      ...functions,
      ...runtimes.flatMap((runtime) =>
        Object.keys(runtime.endpoints).map((endpoint) => ({
          ...runtime,
          logGroup: runtimeLogGroup({ runtime, endpoint }),
        })),
      ),
    ];
    const writer = writers.find(
      ({ logGroup, account }) => logGroup === logGroupName && account === caller.account,
    );
    const isThere = resolver
      .resources("AWS::Logs::LogGroup")
      .some(({ ref, stack }) => ref === logGroupName && stack.account === caller.account);
    if (!isThere) return awsFailure({ service: "logs", name: "ResourceNotFoundException" });
    const fits = matcherOf(String(filterPattern));
    const events = lines
      .map(({ from, line }) => ({ from, message: line, timestamp: writtenAtMs(line) }))
      .filter(
        ({ from, message, timestamp }) =>
          from === writer?.label && timestamp >= Number(startTime) && fits(message),
      )
      .map(({ message, timestamp }, index) => ({
        logStreamName: "s",
        timestamp,
        message,
        eventId: String(index),
      }));
    return Response.json({ events, searchedLogStreams: [] });
  };
}

function matcherOf(pattern: string): (line: string) => boolean {
  const [, text] = /^"([^"]+)"$/.exec(pattern) ?? [];
  if (text !== undefined) return (line) => line.includes(text);
  const [, field, value] = /^\{ \$\.(\w+) = "(\w+)" \}$/.exec(pattern) ?? [];
  if (field === undefined) throw new Error(`The rehearsal does not know the filter ${pattern}.`);
  return (line) => fieldsOf(line)[field] === value;
}

function writtenAtMs(line: string): number {
  const { timestamp } = fieldsOf(line);
  return typeof timestamp === "string" ? Date.parse(timestamp) : Number.POSITIVE_INFINITY;
}

function fieldsOf(line: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const madeAt = "2026-11-01T00:00:00Z";
/** The types that operators' commands look for. */
const listedTypes = ["AWS::CloudWatch::Alarm", "AWS::Logs::LogGroup"];

/** Serves DescribeStacks and ListStackResources. `moved` replaces addresses of the templates by those of the rehearsal. */
export function stacksBackend({
  assembly,
  resolver,
  moved,
}: {
  assembly: Assembly;
  resolver: Resolver;
  moved: (text: string) => string;
}): Backend {
  const member = (fields: Record<string, string>) =>
    `<member>${Object.entries(fields)
      .map(([name, value]) => `<${name}>${value}</${name}>`)
      .join("")}</member>`;

  return async ({ call: { action, input }, caller }) => {
    const stack = assembly.stacks.find(
      ({ name, account }) => name === input.StackName && account === caller.account,
    );
    if (stack === undefined) {
      const error =
        "<Error><Type>Sender</Type><Code>ValidationError</Code><Message>none</Message></Error>";
      return xml(`<ErrorResponse>${error}<RequestId>r</RequestId></ErrorResponse>`, 400);
    }
    if (action === "cloudformation:ListStackResources") {
      const listed = listedTypes
        .flatMap((type) => resolver.resources(type))
        .filter((each) => each.stack === stack);
      const members = listed.map(({ logicalId, ref, type }) =>
        member({
          LogicalResourceId: logicalId,
          PhysicalResourceId: escapeXml(ref),
          ResourceType: type,
          LastUpdatedTimestamp: madeAt,
          ResourceStatus: "CREATE_COMPLETE",
        }),
      );
      return answer(
        "ListStackResources",
        `<StackResourceSummaries>${members.join("")}</StackResourceSummaries>`,
      );
    }
    const outputs = Object.keys(stack.template.Outputs).map((name) => {
      const value = moved(resolver.output({ stackName: stack.name, name }));
      return member({ OutputKey: name, OutputValue: escapeXml(value) });
    });
    const described = member({
      StackName: stack.name,
      StackStatus: "CREATE_COMPLETE",
      CreationTime: madeAt,
      Outputs: outputs.join(""),
    });
    return answer("DescribeStacks", `<Stacks>${described}</Stacks>`);
  };
}

function answer(action: string, result: string): Response {
  return xml(
    `<${action}Response><${action}Result>${result}</${action}Result></${action}Response>`,
    200,
  );
}

/**
 * Serves Invoke (https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html). A function that times out or throws gives a status
 * of 200 with an error header.
 */
export function lambdaBackend({
  functions,
}: {
  functions: () => ReadonlyMap<string, RunningFunction>;
}): Backend {
  return async ({ call: { resources, input } }) => {
    const [invokedArn = ""] = resources;
    // IAM has decided on the whole ARN before: an alias is another resource than its function.
    const all = functions();
    const fn =
      all.get(invokedArn) ?? [...all.values()].find(({ fn }) => fn.aliasArns.includes(invokedArn));
    if (fn === undefined)
      return awsFailure({ service: "lambda", name: "ResourceNotFoundException", status: 404 });
    const outcome = await fn.invoke(input.event, [], invokedArn);
    if (outcome.ok) return Response.json(outcome.payload);
    const [, errorType = "Unhandled"] = /^it threw (\w+)/.exec(outcome.error) ?? [];
    const headers = { "x-amz-function-error": "Unhandled" };
    return Response.json({ errorType, errorMessage: outcome.error }, { headers });
  };
}
