/** The estimate as data: a month of tasks for every kind of Execution zone, and one task by its length. */

import { defaultIdleSeconds } from "@sekisho/config/agentcore-session.ts";
import { defaultSyncBudgetMs } from "@sekisho/config/call-time.ts";
import { pollDelay } from "@sekisho/verification/task/polls.ts";
import { isPollStored } from "@sekisho/verification/task/waiting.ts";
import { assumptions } from "./assumptions.ts";
import { toDollars } from "./prices.ts";
import {
  type CallCounts,
  estimateTask,
  isPushing,
  type MeasuredKind,
  measuredKinds,
  sum,
  type TaskCost,
} from "./task-cost.ts";

/** Tasks of a month. `idleSeconds`: how long an AgentCore session stays after its last call. */
export type Scenario = { tasks: number; taskSeconds: number; idleSeconds?: number };

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
  /** Kinds that can run a task of this length. */
  months: Month[];
  lengths: ByLength[];
};

const lengthsSeconds = [5, 30, 60, 600, 3600, 8 * 3600];

/** Lambda allows 15 minutes, of which the end needs one. An AgentCore session lives for 8 hours. */
const maxSeconds: Record<MeasuredKind, number> = {
  agentcore: assumptions.sessionLifeSeconds.value,
  lambda: 14 * 60,
  external: Number.POSITIVE_INFINITY,
};

export function estimate({
  tasks,
  taskSeconds,
  idleSeconds = defaultIdleSeconds,
}: Scenario): Estimate {
  const kinds = Object.keys(measuredKinds) as MeasuredKind[];
  const costOf = (kind: MeasuredKind, seconds: number) => {
    const taskMs = seconds * 1000;
    const { polls, stored } = planPolls({ kind, taskMs });
    return { polls, ...estimateTask({ kind, polls, storedPolls: stored, taskMs, idleSeconds }) };
  };
  const able = (seconds: number) => kinds.filter((kind) => seconds <= maxSeconds[kind]);
  const months = able(taskSeconds).map((kind): Month => {
    const { polls, calls, logBytes, dollars } = costOf(kind, taskSeconds);
    const taskDollars = Object.fromEntries(
      Object.entries(dollars).map(([name, usd]) => [name, usd * tasks]),
    ) as TaskCost;
    const metricDollars = estimateMetricCost({
      tasks,
      customMetrics: measuredKinds[kind].customMetrics,
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
  return { months, lengths };
}

/**
 * Counts the polls by the schedule that the worker keeps. The first call may bring the result; else the last poll does, which a push of the
 * end may bring forward. `stored`: the polls that also write the record.
 */
export function planPolls({ kind, taskMs }: { kind: MeasuredKind; taskMs: number }): {
  polls: number;
  stored: number;
} {
  const { pushedPollAfterMs, pollMs } = assumptions;
  const pollAfterMs = (isPushing(kind) ? pushedPollAfterMs : assumptions.pollAfterMs).value;
  // The worker polls an AgentCore session twice in its idle time.
  const ceilingMs = kind === "agentcore" ? (defaultIdleSeconds * 1000) / 2 : undefined;
  let polls = 0;
  let stored = 0;
  for (let atMs = defaultSyncBudgetMs; atMs < taskMs; polls++) {
    const { delayMs, jitterMs } = pollDelay({ polls, ageMs: atMs, pollAfterMs, ceilingMs });
    const gapMs = delayMs + jitterMs / 2;
    if (polls > 0 && isPollStored({ polls, gapMs })) stored += 1;
    atMs += gapMs + pollMs.value;
  }
  return { polls, stored };
}

/**
 * The parts of each kind's templates, in two accounts of one region (stage-parts.test.ts compares). With one account
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
