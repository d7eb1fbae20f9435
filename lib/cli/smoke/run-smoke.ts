/** The smoke test of a stage: sends the tasks, waits for what CloudWatch writes of them, and looks at everything. */
import { setTimeout as wait } from "node:timers/promises";
import { GetAccountSettingsCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { findExecutionPlace } from "../../../lambdas/shared/config/stage-config.ts";
import { formatMetricsNamespace, formatStackName } from "../../cdk/names.ts";
import { callAws } from "../aws/aws-failure.ts";
import type { NamedStage } from "../aws/stage.ts";
import type { Found } from "../doctor/run-checks.ts";
import { sendCancel } from "../tasks/cancel-task.ts";
import type { TaskPlace } from "../tasks/stored-task.ts";
import { openCloudWatch, type WatchedMetric } from "./alarms.ts";
import { checkAssumptions } from "./assumptions.ts";
import { checkFacts } from "./checks.ts";
import type { SmokeFacts, ZoneFacts } from "./facts.ts";
import { createIsIdle } from "./idle.ts";
import { openLogs } from "./logs.ts";
import { createSmokeReport, type SmokeReport } from "./report.ts";
import { runStory, type StoryDependencies, type StoryResult, type StorySettings, storyGroups } from "./run-story.ts";
import { type StackResource, stackResources } from "./stack-resources.ts";

export type SmokeSettings = StorySettings & {
  /** How long CloudWatch may take until it has what happened. */
  settleMs: number;
  /** How long to wait for the record of a task before canceling it: the worker writes it some seconds after the entry took it. */
  recordPatienceMs: number;
};

export const defaultSettings: SmokeSettings = {
  wakes: 20,
  wakeTaskMs: 13 * 60_000,
  longTaskMs: 120_000,
  patienceMs: 120_000,
  pollMs: 1000,
  settleMs: 6 * 60_000,
  recordPatienceMs: 10_000,
};

export type SmokeRequest = NamedStage &
  Omit<StoryDependencies, "place" | "settings" | "onBegun"> & {
    config: Config;
    place: TaskPlace;
    settings: SmokeSettings;
    /** A profile of the AWS command line with credentials of the Execution account, where that is another one. */
    executionProfile: string | undefined;
    runDoctor: () => Promise<Found[]>;
  };

/** Interrupted, it rejects, and cancels the tasks that it began. */
export async function runSmoke(request: SmokeRequest): Promise<SmokeReport> {
  const { place, settings, note, stageName } = request;
  const fromMs = Date.now() - 60_000;
  const begun: BegunTask[] = [];
  const stop = new AbortController();
  const signal = AbortSignal.any([request.signal, stop.signal]);
  const dependencies = { ...request, signal, onBegun: (each: BegunTask) => void begun.push(each) };
  const results: StoryResult[] = [];
  for (const group of storyGroups) {
    const running = group.map((story) => runStory({ ...dependencies, story }));
    let some: StoryResult[];
    try {
      some = await Promise.all(running);
    } catch (thrown) {
      stop.abort();
      await Promise.allSettled(running);
      await cancelBegun({ place, begun, settings, note });
      throw thrown;
    }
    results.push(...some);
    for (const { story, ok, what } of some) note(`${story}: ${ok ? "" : "failed: "}${what}`);
    // A task that did not come to its end would keep its agent from the next group.
    if (some.some(({ ok }) => !ok)) await cancelBegun({ place, begun, settings, note });
  }
  note(`Waiting for what CloudWatch writes of it, ${Math.ceil(settings.settleMs / 60_000)} minutes at the longest.`);
  const facts = await collectFacts({ ...request, results, fromMs });
  const report = createSmokeReport({ checks: checkFacts(facts), assumptions: checkAssumptions(facts) });
  note(report.ok ? `Stage ${stageName} is as it should be.` : `Stage ${stageName}: see the report.`);
  return report;
}

type BegunTask = Parameters<StoryDependencies["onBegun"]>[0];

/** Says nothing of an ambiguous task that has no record after `recordPatienceMs`: the entry did not take it. */
async function cancelBegun({
  place,
  begun,
  settings: { pollMs, recordPatienceMs },
  note,
}: Pick<SmokeRequest, "place" | "settings" | "note"> & { begun: readonly BegunTask[] }): Promise<void> {
  const endMs = performance.now() + recordPatienceMs;
  await Promise.all(
    begun.map(async ({ requestId: id, isAmbiguous }) => {
      try {
        let task = (await place.store.get({ id }))?.task;
        while (task === undefined && performance.now() < endMs) {
          await wait(pollMs);
          task = (await place.store.get({ id }))?.task;
        }
        if (task?.state === "done" || (task === undefined && isAmbiguous)) return;
        if (task === undefined) throw new Error("It has not begun.");
        await sendCancel({ place, task });
        note(`Canceled ${id}.`);
      } catch {
        note(`Could not cancel ${id}: npx sekisho tasks cancel ${id}`);
      }
    }),
  );
}

async function collectFacts(request: SmokeRequest & { results: StoryResult[]; fromMs: number }): Promise<SmokeFacts> {
  const { stageName, stage, results, fromMs, settings, signal, runDoctor, executionProfile: profile } = request;
  const { account, region } = stage.verification;
  const verification = openZone({ zone: "Verification", stageName, region, profile: undefined, signal, fromMs });
  const own = request.config.telemetry.metrics ? ownMetrics({ stageName, tasks: results.length }) : [];
  const executionPlace = findExecutionPlace(stage);
  try {
    const ids = results.flatMap(({ requestId }) => requestId ?? []);
    const endMs = performance.now() + settings.settleMs;
    let looked = await verification.look({ own, ids });
    while (performance.now() < endMs && !isSettled(looked)) {
      await wait(Math.min(settings.pollMs * 10, 20_000), undefined, { signal });
      looked = await verification.look({ own, ids });
    }
    return {
      stageName,
      kind: stage.execution.kind,
      region: executionPlace?.region ?? region,
      stories: results,
      wakes: settings.wakes,
      doctor: await runDoctor(),
      ...looked,
      execution: await executionFacts(),
      lambdaConcurrency: await concurrencyOf({ region, signal }),
    };
  } finally {
    verification.close();
  }

  async function executionFacts(): Promise<SmokeFacts["execution"]> {
    if (executionPlace === undefined) return { skipped: "The stage deploys no Execution zone." };
    if (executionPlace.account !== account && profile === undefined) {
      return { skipped: `It is in account ${executionPlace.account}: --execution-profile names credentials for it.` };
    }
    const own = executionPlace.account === account ? undefined : profile;
    const zone = openZone({
      zone: "Execution",
      stageName,
      region: executionPlace.region,
      profile: own,
      signal,
      fromMs,
    });
    try {
      return (await zone.look({ own: [], ids: [] })).verification;
    } finally {
      zone.close();
    }
  }
}

type ObservedFacts = Pick<SmokeFacts, "verification" | "own" | "lines">;

/** Metrics come minutes later, log lines seconds later. */
function isSettled({ verification, own, lines }: ObservedFacts): boolean {
  const [metrics] = checkFacts({ ...empty, verification, own, lines }).filter(({ name }) =>
    name.startsWith("metrics that"),
  );
  const counted = own.every(({ sum = 0, atLeast }) => sum >= atLeast);
  return metrics?.ok === true && counted && lines.every(({ count }) => count > 0);
}

const empty: Omit<SmokeFacts, "verification" | "own" | "lines"> = {
  stageName: "",
  kind: "external",
  region: "",
  stories: [],
  wakes: 0,
  doctor: [],
  execution: { skipped: "" },
  lambdaConcurrency: undefined,
};

/** One stack's alarms, metrics and log groups. */
function openZone({
  zone,
  stageName,
  region,
  profile,
  signal,
  fromMs,
}: {
  zone: "Verification" | "Execution";
  stageName: string;
  region: string;
  profile: string | undefined;
  signal: AbortSignal;
  fromMs: number;
}) {
  const place = { region, profile, signal };
  const cloudWatch = openCloudWatch(place);
  const logs = openLogs(place);
  let resources: Promise<StackResource[]> | undefined;

  async function resourcesOf(type: string): Promise<StackResource[]> {
    resources ??= stackResources({ stackName: formatStackName({ stageName, zone }), ...place });
    return (await resources).filter((resource) => resource.type === type);
  }

  async function physicalIds(type: string): Promise<string[]> {
    return (await resourcesOf(type)).map(({ physicalId }) => physicalId);
  }

  async function look({
    own,
    ids,
  }: {
    own: readonly { metric: WatchedMetric; atLeast: number }[];
    ids: readonly string[];
  }): Promise<ObservedFacts> {
    const alarms = await cloudWatch.alarms({ names: await physicalIds("AWS::CloudWatch::Alarm") });
    const watched = alarms.flatMap(({ name, watches }) => watches.map((metric) => ({ metric, alarm: name })));
    const functions = await physicalIds("AWS::Lambda::Function");
    const invocations = functions.map((FunctionName) => ({
      metric: { namespace: "AWS/Lambda", name: "Invocations", dimensions: { FunctionName } },
    }));
    const metrics = [...watched, ...own, ...invocations].map(({ metric }) => metric);
    const sums = await cloudWatch.sums({ metrics, fromMs });
    const idle = functions.filter((_, index) => sums[watched.length + own.length + index] === undefined);
    const isIdle = createIsIdle({ functions: idle, queues: await resourcesOf("AWS::SQS::Queue") });
    const groups = await physicalIds("AWS::Logs::LogGroup");
    const errors: ZoneFacts["errors"] = [];
    for (const group of groups) errors.push({ group, lines: await logs.errors({ group, fromMs }) });
    const lines: SmokeFacts["lines"] = [];
    for (const requestId of ids) {
      let count = 0;
      for (const group of groups) count += await logs.count({ group, text: requestId, fromMs });
      lines.push({ requestId, count });
    }
    return {
      verification: {
        zone,
        alarms,
        metrics: watched.map((each, index) => ({ ...each, sum: sums[index], isIdle: isIdle(each.metric) })),
        errors,
      },
      own: own.map((each, index) => ({ ...each, sum: sums[watched.length + index] })),
      lines,
    };
  }

  return {
    look,
    close() {
      cloudWatch.close();
      logs.close();
    },
  };
}

/** Counted by the functions themselves, whatever else the stage does meanwhile. */
function ownMetrics({ stageName, tasks }: { stageName: string; tasks: number }) {
  const namespace = formatMetricsNamespace({ stageName });
  const dimensions = { zone: "verification" };
  return ["sekisho_tasks_total", "sekisho_answers_delivered_total"].map((name) => ({
    metric: { namespace, name, dimensions },
    atLeast: tasks,
  }));
}

async function concurrencyOf({ region, signal }: { region: string; signal: AbortSignal }): Promise<number | undefined> {
  const lambda = new LambdaClient({ region });
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
