/** The estimate as data: a month of tasks for every kind of Execution zone, and one task by its length. */
import { defaultIdleSeconds } from "../../../../lambdas/shared/config/stage-schema.ts";
import { pollDelay } from "../../../../lambdas/verification/task/step.ts";
import { isPollStored } from "../../../../lambdas/verification/task/waiting.ts";
import { assumptions } from "./assumptions.ts";
import { priceList, toDollars } from "./prices.ts";
import {
  type CallCounts,
  estimateTask,
  type MeasuredCalls,
  type MeasuredKind,
  sum,
  type TaskCost,
} from "./task-cost.ts";

/** `idleSeconds`: how long an AgentCore session stays after its last call. */
export type Scenario = { kind: MeasuredKind; tasks: number; taskSeconds: number; idleSeconds: number };

export type Month = {
  kind: MeasuredKind;
  callsPerTask: CallCounts;
  logBytesPerTask: number;
  /** For all tasks. */
  taskDollars: TaskCost;
  stageDollars: StageCost;
  totalDollars: number;
};

/** Dollars for one task. A kind that cannot run a task of this length has none. */
export type ByLength = { taskSeconds: number; polls: number; dollars: Partial<Record<MeasuredKind, number>> };

export type Estimate = {
  headline: string;
  scenario: Scenario;
  polls: number;
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

export function estimate({ measured, ...scenario }: Scenario & { measured: MeasuredCalls }): Estimate {
  const { tasks, taskSeconds, idleSeconds } = scenario;
  const kinds = Object.keys(measured.kinds) as MeasuredKind[];
  // The worker polls an AgentCore session twice in its idle time. With stopAfterResult nothing idles, but the stage has an idle time.
  const maxGapMs = (kind: MeasuredKind) =>
    kind === "agentcore" ? ((idleSeconds || defaultIdleSeconds) * 1000) / 2 : undefined;
  const countFor = (seconds: number) => countPolls(seconds * 1000, maxGapMs(scenario.kind));
  const costOf = (kind: MeasuredKind, seconds: number) => {
    const taskMs = seconds * 1000;
    const { polls, stored } = planPolls(taskMs, maxGapMs(kind));
    return estimateTask(measured, { kind, polls, storedPolls: stored, taskMs, idleSeconds });
  };
  const able = (seconds: number) => kinds.filter((kind) => seconds <= maxSeconds[kind]);
  const months = able(taskSeconds).map((kind): Month => {
    const { calls, logBytes, dollars } = costOf(kind, taskSeconds);
    const taskDollars = Object.fromEntries(
      Object.entries(dollars).map(([name, usd]) => [name, usd * tasks]),
    ) as TaskCost;
    const stageDollars = estimateStageCost({ kind, customMetrics: measured.kinds[kind].customMetrics });
    const totalDollars = sum([...Object.values(taskDollars), ...Object.values(stageDollars)]);
    return { kind, callsPerTask: calls, logBytesPerTask: logBytes, taskDollars, stageDollars, totalDollars };
  });
  const lengths = lengthsSeconds.map((seconds): ByLength => {
    const dollars = able(seconds).map((kind) => [kind, sum(Object.values(costOf(kind, seconds).dollars))]);
    return { taskSeconds: seconds, polls: countFor(seconds), dollars: Object.fromEntries(dollars) };
  });
  const headline = formatHeadline({ scenario, months });
  return { headline, scenario, polls: countFor(taskSeconds), months, lengths, assumptions, priceList };
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
  if (month === undefined) return `A task of ${formatSeconds(taskSeconds)} is too long for ${kindNames[kind]}.`;
  const parts = Object.entries({ ...month.taskDollars, ...month.stageDollars });
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

/** Counts the polls by the schedule that the worker keeps. The first call may bring the result; else the last poll does. */
export function countPolls(taskMs: number, maxGapMs?: number): number {
  return planPolls(taskMs, maxGapMs).polls;
}

/** `stored`: the polls that also write the record. `maxGapMs`: the longest gap between two polls. */
export function planPolls(taskMs: number, maxGapMs?: number): { polls: number; stored: number } {
  const { syncBudgetSeconds, pollAfterMs, pollMs } = assumptions;
  let polls = 0;
  let stored = 0;
  for (let atMs = syncBudgetSeconds.value * 1000; atMs < taskMs; polls++) {
    const { delayMs, jitterMs } = pollDelay({
      polls,
      ageMs: atMs,
      pollAfterMs: pollAfterMs.value,
      ceilingMs: maxGapMs,
    });
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
export const stageParts: Record<MeasuredKind, { alarmMetrics: number; queues: number; keys: number }> = {
  agentcore: { alarmMetrics: 26, queues: 3, keys: 2 },
  lambda: { alarmMetrics: 29, queues: 4, keys: 2 },
  external: { alarmMetrics: 20, queues: 2, keys: 1 },
};

/** Added by `slack.install`. */
export const installAlarmMetrics = 3;

export const stageItems = ["Custom metrics", "Alarms", "KMS keys", "Secrets", "SQS, empty receives"] as const;
export type StageCost = Record<(typeof stageItems)[number], number>;

/** The cost of a stage in a month of 30 days without any task. */
function estimateStageCost({ kind, customMetrics }: { kind: MeasuredKind; customMetrics: number }): StageCost {
  const { alarmMetrics, queues, keys } = stageParts[kind];
  const { secrets, pollersPerQueue, longPollSeconds } = assumptions;
  const emptyReceives = (queues * pollersPerQueue.value * 30 * 24 * 3600) / longPollSeconds.value;
  return {
    "Custom metrics": toDollars("metricMonth", customMetrics),
    Alarms: toDollars("alarmMetricMonth", alarmMetrics),
    "KMS keys": toDollars("kmsKeyMonth", keys),
    Secrets: toDollars("secretMonth", secrets.value),
    "SQS, empty receives": toDollars("sqsRequest", emptyReceives),
  };
}
