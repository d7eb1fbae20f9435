/** The whole reckoning as data: calls and dollars of a sync and an async task, for every kind of Execution zone. */
import { assumptions } from "./assumptions.ts";
import { type Bill, billOf, totalOf } from "./bill.ts";
import { type Calls, callsOf, type Kind, type Measured } from "./calls.ts";
import { pollsOf } from "./polls.ts";
import { priceList } from "./prices.ts";

type Column = {
  kind: Kind;
  task: "sync" | "async";
  taskMs: number;
  polls: number;
  calls: Calls;
  /** For all `tasks`. */
  dollars: Bill;
  totalDollars: number;
};

export type Reckoning = {
  tasks: number;
  columns: Column[];
  polls: { taskMs: number; polls: number }[];
  assumptions: typeof assumptions;
  priceList: typeof priceList;
};

const minuteMs = 60_000;
const durationsMs = [minuteMs, 10 * minuteMs, 60 * minuteMs, 8 * 60 * minuteMs];

export function reckon({ tasks, measured }: { tasks: number; measured: Measured }): Reckoning {
  const kinds = Object.keys(measured.kinds) as Kind[];
  const durations = {
    sync: assumptions.syncTaskSeconds.value * 1000,
    async: assumptions.asyncTaskSeconds.value * 1000,
  } as const;
  const columns = kinds.flatMap((kind) =>
    (["sync", "async"] as const).map((task): Column => {
      const taskMs = durations[task];
      const polls = pollsAt(taskMs);
      const calls = callsOf({ measured, kind, polls, taskMs });
      const perTask = billOf({ kind, calls, polls, taskMs });
      const dollars = Object.fromEntries(Object.entries(perTask).map(([name, usd]) => [name, usd * tasks])) as Bill;
      return { kind, task, taskMs, polls, calls, dollars, totalDollars: totalOf(dollars) };
    }),
  );
  const polls = durationsMs.map((taskMs) => ({ taskMs, polls: pollsAt(taskMs) }));
  return { tasks, columns, polls, assumptions, priceList };
}

function pollsAt(taskMs: number): number {
  const { syncBudgetSeconds, pollAfterMs, stepMs } = assumptions;
  return pollsOf({
    taskMs,
    syncBudgetMs: syncBudgetSeconds.value * 1000,
    pollAfterMs: pollAfterMs.value,
    stepMs: stepMs.value,
  });
}
