/** The estimate as data: a month of tasks for every kind of Execution zone, and one task by its length. */
import { defaultIdleSeconds } from "../../../../lambdas/shared/config/agentcore-session.ts";
import type { PlatformVersionName } from "../../../../lambdas/shared/config/stage-schema.ts";
import { pollDelay } from "../../../../lambdas/verification/task/step.ts";
import { isPollStored } from "../../../../lambdas/verification/task/waiting.ts";
import { assumptions } from "./assumptions.ts";
import { priceList, toDollars } from "./prices.ts";
import {
  type CallCounts,
  estimateTask,
  isPushing,
  type MeasuredCalls,
  type MeasuredKind,
  sum,
  type TaskCost,
} from "./task-cost.ts";

/**
 * `idleSeconds`: how long an AgentCore session stays after its last call. `syncBudgetMs`: how long the first call waits for the result
 * (`execution.syncBudgetMs`). `platformVersion` is AgentCore's.
 */
export type Scenario = {
  kind: MeasuredKind;
  tasks: number;
  taskSeconds: number;
  idleSeconds: number;
  syncBudgetMs: number;
  platformVersion: PlatformVersionName;
};

export type Month = {
  kind: MeasuredKind;
  polls: number;
  callsPerTask: CallCounts;
  logBytesPerTask: number;
  /** For all tasks. */
  taskDollars: TaskCost;
  /** The custom metrics, for the hours in which there are tasks. */
  metricDollars: number;
  /** Without any task. */
  stageDollars: StageCost;
  /** Without any task: in the first year, in the second, and from the third on, because KMS keys are rotated. */
  yearsDollars: number[];
  totalDollars: number;
};

/** Dollars for one task. A kind that cannot run a task of this length has none. */
export type ByLength = {
  taskSeconds: number;
  costs: Partial<Record<MeasuredKind, { polls: number; dollars: number }>>;
};

export type Estimate = {
  headline: string;
  scenario: Scenario;
  /** Kinds that can run a task of this length. */
  months: Month[];
  lengths: ByLength[];
  assumptions: typeof assumptions;
  priceList: typeof priceList;
};

const lengthsSeconds = [5, 30, 60, 600, 3600, 8 * 3600];

/** Lambda allows 15 minutes, of which the end needs one. An AgentCore session lives for 8 hours. */
const maxSeconds: Record<MeasuredKind, number> = {
  agentcore: assumptions.sessionLifeSeconds.value,
  lambda: 14 * 60,
  external: Number.POSITIVE_INFINITY,
};

export function estimate({
  measured,
  ...scenario
}: Scenario & { measured: MeasuredCalls }): Estimate {
  const { tasks, taskSeconds, idleSeconds, syncBudgetMs, platformVersion } = scenario;
  const kinds = Object.keys(measured.kinds) as MeasuredKind[];
  const costOf = (kind: MeasuredKind, seconds: number) => {
    const taskMs = seconds * 1000;
    const { polls, stored } = planPolls({ kind, taskMs, syncBudgetMs, idleSeconds });
    const { calls, logBytes, dollars } = estimateTask(measured, {
      ...{ kind, polls, storedPolls: stored, taskMs, idleSeconds, syncBudgetMs, platformVersion },
    });
    return { polls, calls, logBytes, dollars };
  };
  const able = (seconds: number) => kinds.filter((kind) => seconds <= maxSeconds[kind]);
  const months = able(taskSeconds).map((kind): Month => {
    const { polls, calls, logBytes, dollars } = costOf(kind, taskSeconds);
    const taskDollars = Object.fromEntries(
      Object.entries(dollars).map(([name, usd]) => [name, usd * tasks]),
    ) as TaskCost;
    const metricDollars = estimateMetricCost({
      tasks,
      customMetrics: measured.kinds[kind].customMetrics,
    });
    const stageDollars = estimateStageCost(kind);
    const stage = sum(Object.values(stageDollars));
    const rotated = Array.from(
      { length: assumptions.paidRotations.value + 1 },
      (_, rotations) => rotations,
    );
    return {
      ...{
        kind,
        polls,
        callsPerTask: calls,
        logBytesPerTask: logBytes,
        taskDollars,
        metricDollars,
        stageDollars,
      },
      yearsDollars: rotated.map((rotations) => stage + rotations * stageDollars["KMS keys"]),
      totalDollars: sum([...Object.values(taskDollars), metricDollars, stage]),
    };
  });
  const lengths = lengthsSeconds.map((seconds): ByLength => {
    const costs = able(seconds).map((kind) => {
      const { polls, dollars } = costOf(kind, seconds);
      return [kind, { polls, dollars: sum(Object.values(dollars)) }] as const;
    });
    return { taskSeconds: seconds, costs: Object.fromEntries(costs) };
  });
  const headline = formatHeadline({ scenario, months });
  return { headline, scenario, months, lengths, assumptions, priceList };
}

const kindNames: Record<MeasuredKind, string> = {
  agentcore: "AgentCore",
  lambda: "Lambda",
  external: "a host elsewhere",
};

const explanations: Record<string, string> = {
  "AgentCore, session idle": "memory of AgentCore sessions that idle after their last call",
  "AgentCore, agent at work": "AgentCore while agents work",
  "CloudWatch Logs": "writing log lines to CloudWatch",
};

function formatHeadline({ scenario, months }: { scenario: Scenario; months: Month[] }): string {
  const { kind, tasks, taskSeconds, idleSeconds } = scenario;
  const month = months.find((each) => each.kind === kind);
  if (month === undefined)
    return `A task of ${formatSeconds(taskSeconds)} is too long for ${kindNames[kind]}.`;
  const parts = Object.entries({
    ...month.taskDollars,
    "Custom metrics": month.metricDollars,
    ...month.stageDollars,
  });
  const [name, usd] = parts.reduce((largest, part) => (part[1] > largest[1] ? part : largest));
  const idle = name === "AgentCore, session idle" ? ` (${idleSeconds} s each)` : "";
  const share = Math.round((usd / month.totalDollars) * 100);
  const where = kind === "external" ? "with the agent on" : "on";
  return `About ${formatDollars(month.totalDollars)} a month for ${tasks.toLocaleString("en-US")} tasks of ${formatSeconds(taskSeconds)} ${where} ${kindNames[kind]}. The largest part, ${formatDollars(usd)} (${share} %), is ${explanations[name] ?? name}${idle}.`;
}

export function formatSeconds(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

function formatDollars(usd: number): string {
  return usd < 10 ? `$${usd.toFixed(2)}` : `$${Math.round(usd).toLocaleString("en-US")}`;
}

/**
 * Counts the polls by the schedule that the worker keeps. The first call may bring the result; else the last poll does, which a push of the
 * end may bring forward. `stored`: the polls that also write the record.
 */
export function planPolls({
  kind,
  taskMs,
  syncBudgetMs,
  idleSeconds,
}: {
  kind: MeasuredKind;
  taskMs: number;
  syncBudgetMs: number;
  idleSeconds: number;
}): {
  polls: number;
  stored: number;
} {
  const { pushedPollAfterMs, pollMs } = assumptions;
  const pollAfterMs = (isPushing(kind) ? pushedPollAfterMs : assumptions.pollAfterMs).value;
  // The worker polls an AgentCore session twice in its idle time. With stopAfterResult nothing idles, but the stage has an idle time.
  const ceilingMs =
    kind === "agentcore" ? ((idleSeconds || defaultIdleSeconds) * 1000) / 2 : undefined;
  let polls = 0;
  let stored = 0;
  for (let atMs = syncBudgetMs; atMs < taskMs; polls++) {
    const { delayMs, jitterMs } = pollDelay({ polls, ageMs: atMs, pollAfterMs, ceilingMs });
    const gapMs = delayMs + jitterMs / 2;
    if (polls > 0 && isPollStored({ polls, gapMs })) stored += 1;
    atMs += gapMs + pollMs.value;
  }
  return { polls, stored };
}

/**
 * The parts of each kind's templates, in two accounts of one region (test/cdk/stage-cost.test.ts compares). With one account
 * `agentcore` has three alarm metrics fewer. `queues` are those that Lambda polls.
 */
export const stageParts: Record<
  MeasuredKind,
  { alarmMetrics: number; queues: number; keys: number }
> = {
  agentcore: { alarmMetrics: 26, queues: 3, keys: 2 },
  lambda: { alarmMetrics: 29, queues: 4, keys: 2 },
  external: { alarmMetrics: 20, queues: 2, keys: 1 },
};

/** Added by `slack.install`. */
export const installAlarmMetrics = 3;

export const stageItems = ["Alarms", "KMS keys", "Secrets", "SQS, empty receives"] as const;
export type StageCost = Record<(typeof stageItems)[number], number>;

/** AWS bills a custom metric by the hour, and only for hours in which it has data. */
function estimateMetricCost({
  tasks,
  customMetrics,
}: {
  tasks: number;
  customMetrics: number;
}): number {
  return toDollars(
    "metricMonth",
    customMetrics * Math.min(1, tasks / assumptions.monthHours.value),
  );
}

/** The cost of a stage in a month of 30 days without any task, in its first year. */
function estimateStageCost(kind: MeasuredKind): StageCost {
  const { alarmMetrics, queues, keys } = stageParts[kind];
  const { secrets, pollersPerQueue, longPollSeconds } = assumptions;
  const emptyReceives = (queues * pollersPerQueue.value * 30 * 24 * 3600) / longPollSeconds.value;
  return {
    Alarms: toDollars("alarmMetricMonth", alarmMetrics),
    "KMS keys": toDollars("kmsKeyMonth", keys),
    Secrets: toDollars("secretMonth", secrets.value),
    "SQS, empty receives": toDollars("sqsRequest", emptyReceives),
  };
}
