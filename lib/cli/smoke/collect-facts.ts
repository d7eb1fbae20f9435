/** Collects the facts of a smoke test from a stage's stacks. */
import { setTimeout as wait } from "node:timers/promises";
import { GetAccountSettingsCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { findExecutionTarget } from "../../../lambdas/shared/config/stage-config.ts";
import { sdkUserAgent } from "../../../lambdas/shared/version.ts";
import { formatMetricsNamespace, formatStackName, queuesWithoutConsumer } from "../../cdk/names.ts";
import { type AwsCall, callAws } from "../aws/aws-failure.ts";
import type { NamedStage } from "../aws/stage.ts";
import type { Found } from "../doctor/check.ts";
import { checkMetrics, type SmokeFacts, type ZoneFacts } from "./checks.ts";
import {
  openStackReader,
  type StackReader,
  type StackResource,
  type WatchedMetric,
} from "./cloudwatch.ts";
import type { StoryResult } from "./run-story.ts";

export type FactsRequest = NamedStage & {
  config: Config;
  settings: { wakes: number; settleMs: number; pollMs: number };
  /** A profile of the AWS command line with credentials of the Execution account, where that is another one. */
  executionProfile: string | undefined;
  runDoctor: () => Promise<Found[]>;
  signal: AbortSignal;
};

/** Reads until CloudWatch has everything, but not longer than `settleMs`. */
export async function collectFacts(
  request: FactsRequest,
  stories: StoryResult[],
  fromMs: number,
): Promise<SmokeFacts> {
  const { stageName, stage, config, settings, executionProfile, runDoctor, signal } = request;
  const { account, region } = stage.verification;
  const open = (zone: ZoneFacts["zone"], region: string, profile?: string) =>
    openStackReader({
      stackName: formatStackName({ stageName, zone }),
      region,
      profile,
      fromMs,
      signal,
    });
  const executionTarget = findExecutionTarget(stage);
  const own = config.telemetry.metrics ? listOwnMetrics({ stageName, tasks: stories.length }) : [];
  const reader = open("Verification", region);

  async function look() {
    const { facts, groups } = await readZone("Verification", reader);
    const lines: SmokeFacts["lines"] = [];
    for (const { requestId } of stories) {
      let count = 0;
      for (const group of groups) count += await reader.countLines(group, requestId);
      lines.push({ requestId, count });
    }
    return { verification: facts, own: await reader.withSums(own), lines };
  }

  async function readExecution(): Promise<SmokeFacts["execution"]> {
    if (executionTarget === undefined) return { skipped: "The stage deploys no Execution zone." };
    const isOther = executionTarget.account !== account;
    if (isOther && executionProfile === undefined) {
      return {
        skipped: `It is in account ${executionTarget.account}: --execution-profile names credentials for it.`,
      };
    }
    const execution = open(
      "Execution",
      executionTarget.region,
      isOther ? executionProfile : undefined,
    );
    try {
      return (await readZone("Execution", execution)).facts;
    } finally {
      execution.close();
    }
  }

  try {
    const endMs = performance.now() + settings.settleMs;
    let looked = await look();
    while (performance.now() < endMs && !isSettled(looked)) {
      await wait(Math.min(settings.pollMs * 10, 20_000), undefined, { signal });
      looked = await look();
    }
    return {
      stageName,
      kind: stage.execution.kind,
      region: executionTarget?.region ?? region,
      stories,
      wakes: settings.wakes,
      doctor: await runDoctor(),
      ...looked,
      execution: await readExecution(),
      lambdaConcurrency: await readConcurrency({ region, signal }),
    };
  } finally {
    reader.close();
  }
}

/** Log lines arrive after seconds, metrics after minutes. */
function isSettled({
  verification,
  own,
  lines,
}: Pick<SmokeFacts, "verification" | "own" | "lines">): boolean {
  const isCounted = own.every(({ sum = 0, atLeast }) => sum >= atLeast);
  return (
    isCounted &&
    checkMetrics(verification, [verification]).ok &&
    lines.every(({ count }) => count > 0)
  );
}

async function readZone(
  zone: ZoneFacts["zone"],
  reader: StackReader,
): Promise<{ facts: ZoneFacts; groups: string[] }> {
  const resources = await reader.resources();
  const ofType = (type: string) => resources.filter((resource) => resource.type === type);
  const namesOf = (type: string) => ofType(type).map(({ physicalId }) => physicalId);
  const alarms = await reader.alarms(namesOf("AWS::CloudWatch::Alarm"));
  const watched = alarms.flatMap(({ name, watches }) =>
    watches.map((metric) => ({ metric, alarm: name })),
  );
  const invocations = await reader.withSums(
    namesOf("AWS::Lambda::Function").map((FunctionName) => {
      return {
        FunctionName,
        metric: { namespace: "AWS/Lambda", name: "Invocations", dimensions: { FunctionName } },
      };
    }),
  );
  const functions = invocations.flatMap(({ FunctionName, sum }) =>
    sum === undefined ? [FunctionName] : [],
  );
  const isIdle = createIsIdle({ functions, queues: ofType("AWS::SQS::Queue") });
  const metrics = (await reader.withSums(watched)).map((each) => ({
    ...each,
    isIdle: isIdle(each.metric),
  }));
  const groups = namesOf("AWS::Logs::LogGroup");
  const errors: ZoneFacts["errors"] = [];
  for (const group of groups) errors.push({ group, lines: await reader.countErrors(group) });
  return { facts: { zone, alarms, metrics, errors }, groups };
}

type IdleResources = {
  /** The names of the functions that nothing has invoked. */
  functions: readonly string[];
  /** All queues of the stack. */
  queues: readonly StackResource[];
};

/**
 * Returns a predicate for metrics that have no value because nothing happens. Lambda writes no values for a function that nothing
 * invokes. SQS writes none for a queue that nobody has called for six hours, which is usual for a queue that no function polls.
 */
export function createIsIdle({
  functions,
  queues,
}: IdleResources): (metric: WatchedMetric) => boolean {
  const withoutHash = (logicalId: string) => logicalId.replace(/[0-9A-F]{8}$/, "");
  const unpolled = queues.filter(({ logicalId }) =>
    queuesWithoutConsumer.some((id) => id === withoutHash(logicalId)),
  );
  // The physical id of a queue is its URL.
  const names = unpolled.map(({ physicalId }) => physicalId.split("/").at(-1));
  return ({ namespace, dimensions: { FunctionName = "", QueueName } }) =>
    (namespace === "AWS/Lambda" && functions.includes(FunctionName)) ||
    (namespace === "AWS/SQS" && names.includes(QueueName));
}

/** The functions count these themselves, whatever else the stage does at the same time. */
function listOwnMetrics({ stageName, tasks }: { stageName: string; tasks: number }) {
  const namespace = formatMetricsNamespace({ stageName });
  return ["sekisho_tasks_total", "sekisho_answers_delivered_total"].map((name) => ({
    metric: { namespace, name, dimensions: { zone: "verification" } },
    atLeast: tasks,
  }));
}

async function readConcurrency({ region, signal }: AwsCall) {
  const lambda = new LambdaClient({ region, customUserAgent: sdkUserAgent });
  try {
    const { AccountLimit } = await callAws({
      doing: "read the account's Lambda settings",
      signal,
      call: (options) => lambda.send(new GetAccountSettingsCommand({}), options),
    });
    return AccountLimit?.ConcurrentExecutions;
  } catch {
    return undefined;
  } finally {
    lambda.destroy();
  }
}
