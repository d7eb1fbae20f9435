/** The whole estimate as data: a month with tasks of one length for every kind of Execution zone, and one task by its length. */

import { pollDelay } from "../../../../lambdas/verification/task/step.ts";
import { assumptions } from "./assumptions.ts";
import { type CallCounts, estimateCalls, estimateLogBytes, type MeasuredCalls, type MeasuredKind } from "./calls.ts";
import { priceInDollars, priceList } from "./prices.ts";
import { estimateTaskCost, sum, type TaskCost } from "./task-cost.ts";

/** The case to estimate. `idleSeconds`: how long an AgentCore session stays after its last call. */
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

/** Dollars for one task. A kind that cannot run so long a task has none. */
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

/** Lambda allows 15 minutes, of which a minute is left for the end; an AgentCore session lives for 8 hours. */
const longestSeconds: Record<MeasuredKind, number> = {
  agentcore: assumptions.sessionLifeSeconds.value,
  lambda: 14 * 60,
  external: Number.POSITIVE_INFINITY,
};

export function estimate({ measured, ...scenario }: Scenario & { measured: MeasuredCalls }): Estimate {
  const { tasks, taskSeconds, idleSeconds } = scenario;
  const kinds = Object.keys(measured.kinds) as MeasuredKind[];
  const costOf = (kind: MeasuredKind, seconds: number) =>
    describeTask({ measured, kind, taskSeconds: seconds, idleSeconds });
  const able = (seconds: number) => kinds.filter((kind) => seconds <= longestSeconds[kind]);
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
    return { taskSeconds: seconds, polls: pollsAt(seconds), dollars: Object.fromEntries(dollars) };
  });
  const headline = formatHeadline({ scenario, months });
  return { headline, scenario, polls: pollsAt(taskSeconds), months, lengths, assumptions, priceList };
}

function describeTask({
  measured,
  kind,
  taskSeconds,
  idleSeconds,
}: {
  measured: MeasuredCalls;
  kind: MeasuredKind;
  taskSeconds: number;
  idleSeconds: number;
}): { calls: CallCounts; logBytes: number; dollars: TaskCost } {
  const taskMs = taskSeconds * 1000;
  const polls = pollsAt(taskSeconds);
  const calls = estimateCalls({ measured, kind, polls, taskMs });
  const logBytes = estimateLogBytes({ measured, kind, polls });
  return { calls, logBytes, dollars: estimateTaskCost({ kind, calls, polls, taskMs, logBytes, idleSeconds }) };
}

function pollsAt(taskSeconds: number): number {
  const { syncBudgetSeconds, pollAfterMs, stepMs } = assumptions;
  return countPolls({
    taskMs: taskSeconds * 1000,
    syncBudgetMs: syncBudgetSeconds.value * 1000,
    pollAfterMs: pollAfterMs.value,
    stepMs: stepMs.value,
  });
}

// The estimate in one sentence: the sum and its largest part.

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

// How often a task is polled, by the schedule that the worker keeps.

/** None where the first call brings the result; the last poll is the one that does. */
export function countPolls({
  taskMs,
  syncBudgetMs,
  pollAfterMs,
  stepMs,
}: {
  taskMs: number;
  syncBudgetMs: number;
  pollAfterMs: number;
  /** What each poll takes itself. */
  stepMs: number;
}): number {
  let polls = 0;
  for (let atMs = syncBudgetMs; atMs < taskMs; polls++) {
    const { delayMs, jitterMs } = pollDelay({ polls, ageMs: atMs, pollAfterMs });
    atMs += delayMs + jitterMs / 2 + stepMs;
  }
  return polls;
}

// The cost of a stage in a month, whether it gets tasks or not.

/**
 * The parts of each kind's templates, in two accounts of one region (test/cdk/stage-cost.test.ts compares). With one account
 * `agentcore` has three alarm metrics fewer. `queues`: those that Lambda polls.
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

const secondsOfMonth = 30 * 24 * 3600;

function estimateStageCost({ kind, customMetrics }: { kind: MeasuredKind; customMetrics: number }): StageCost {
  const { alarmMetrics, queues, keys } = stageParts[kind];
  const { secrets, pollersPerQueue, longPollSeconds } = assumptions;
  const emptyReceives = (queues * pollersPerQueue.value * secondsOfMonth) / longPollSeconds.value;
  return {
    "Custom metrics": priceInDollars({ price: "metricMonth", units: customMetrics }),
    Alarms: priceInDollars({ price: "alarmMetricMonth", units: alarmMetrics }),
    "KMS keys": priceInDollars({ price: "kmsKeyMonth", units: keys }),
    Secrets: priceInDollars({ price: "secretMonth", units: secrets.value }),
    "SQS, empty receives": priceInDollars({ price: "sqsRequest", units: emptyReceives }),
  };
}
