/** Measures what a task costs in engine operations, in a fault-free run in which all tasks wait at the same time. */
import { type LoadOptions, type LoadReport, runLoad } from "./load.ts";

/** `perTask` leaves out polls and lease renewals, because their number depends on how long a task takes. */
export type Cost = {
  waiting: number;
  perTask: Record<string, number>;
  /** These depend on time: polls, steps that found the destination busy, lease renewals, and early wake-ups. */
  pollsPerTask: number;
  busyPerTask: number;
  renewalsPerTask: number;
  earlyPerTask: number;
};

/** A poll that brings nothing, or a step that finds the destination busy, reads the record and needs one message. */
const perStep = { get: 1, message: 1 } as const;
export const pollCost = "1 get and 1 message there, every tenth a replace, 1 get at the host";

/** It is also a problem if not all tasks waited at the same time. */
export async function measureCost(
  options: Pick<LoadOptions, "seed" | "quietMs" | "sweepAfterMs" | "onProgress" | "signal"> & {
    waiting: number;
  },
): Promise<{ cost: Cost; problems: string[] }> {
  const { waiting } = options;
  const report = await runLoad({
    ...options,
    tasks: waiting,
    atOnce: waiting,
    failing: 0,
    longThreads: false,
    quickShare: 0,
  });
  const missing = waiting - report.mostAtOnce;
  const problems =
    missing === 0 ? [] : [`${missing} of ${waiting} tasks did not wait together with the others`];
  return { cost: costOf(report), problems: [...report.problems, ...problems] };
}

function costOf({ tasks, operations: { verification, execution }, transport }: LoadReport): Cost {
  const polls = transport.calls.get_task ?? 0;
  const early = verification["early send"] ?? 0;
  const renewals = (execution["working replace"] ?? 0) - tasks;
  const busy = sum(verification, "busy");
  const steps = polls + busy;
  // Every tenth poll also stores the record. A send is stored before it may find the destination busy, and after that.
  const stored =
    (verification["waiting replace"] ?? 0) - tasks + 2 * (verification["sent busy"] ?? 0);
  const totals = {
    "verification create": sum(verification, "create"),
    "verification get": sum(verification, "get") - early - steps * perStep.get,
    "verification replace": sum(verification, "replace") - stored,
    "verification writes together": sum(verification, "together"),
    "verification list": sum(verification, "list"),
    "verification message": sum(verification, "send") - early - steps * perStep.message,
    "execution create": sum(execution, "create"),
    "execution get": sum(execution, "get") - polls,
    "execution replace": sum(execution, "replace") - renewals,
    "execution list": sum(execution, "list"),
    "execution message": sum(execution, "send"),
  };
  const perTask = Object.fromEntries(
    Object.entries(totals).map(([name, total]) => [name, total / tasks]),
  );
  return {
    waiting: tasks,
    perTask,
    pollsPerTask: polls / tasks,
    busyPerTask: busy / tasks,
    renewalsPerTask: renewals / tasks,
    earlyPerTask: early / tasks,
  };
}

/** Adds up a kind of operation over all states. */
function sum(counts: Record<string, number>, kind: string): number {
  return Object.entries(counts).reduce(
    (total, [name, count]) => (name.endsWith(` ${kind}`) ? total + count : total),
    0,
  );
}
