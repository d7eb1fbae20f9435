/** What two load runs of the aws engine say together: whether anything grows with the tasks that wait, as problems and as lines for people. */
import { type HotKey, perPartitionSecond } from "./capacity.ts";
import type { AwsLoadReport } from "./run-aws.ts";

/** Polls come at random times, and a write meets another one by chance. */
const tolerance = { factor: 1.03, units: 0.1 };
const mostHeapGrowth = 1.5;

/** Calls of one task. Those of a poll are apart, because their number depends on how long a task takes. */
export function callsPerTask({ calls, polls, tasks }: AwsLoadReport): Record<string, number> {
  const pollsEach = polls / tasks;
  const perTask = Object.entries(calls).map(([name, count]): [string, number] => [
    name,
    count / tasks,
  ]);
  return {
    ...Object.fromEntries(perTask.sort(([one], [other]) => (one < other ? -1 : 1))),
    polls: pollsEach,
  };
}

/** Returns a line for each figure of a task that is larger where more tasks wait. */
export function growthProblems({
  few,
  many,
}: {
  few: AwsLoadReport;
  many: AwsLoadReport;
}): string[] {
  const before = callsPerTask(few);
  const grown = Object.entries(callsPerTask(many)).filter(
    ([name, count]) => count > (before[name] ?? 0) * tolerance.factor + tolerance.units,
  );
  return [
    ...grown.map(
      ([name, count]) =>
        `${name} grew from ${before[name]?.toFixed(2) ?? 0} to ${count.toFixed(2)} a task`,
    ),
    ...hotKeyProblems({ few, many }),
    ...heapProblems(many),
  ];
}

/** A key is hot if its share stays with more tasks, unlike that of a task or a channel, and it stands in the way of many tasks a second. */
function hotKeyProblems({ few, many }: { few: AwsLoadReport; many: AwsLoadReport }): string[] {
  return many.hotKeys.flatMap((key) => {
    const perSecond = tasksPerSecond({ key, tasks: many.tasks });
    const before = few.hotKeys.find(
      ({ place, family, direction }) =>
        place === key.place && family === key.family && direction === key.direction,
    );
    const isOfFewTasks = before !== undefined && key.share < before.share / 2;
    if (isOfFewTasks || perSecond >= wantedTasksPerSecond) return [];
    const share = `${percent(before?.share ?? 0)} and now ${percent(key.share)} of the ${key.direction} of ${key.place}`;
    return [
      `${key.family} is a hot key: ${share}, enough for ${Math.floor(perSecond)} tasks a second`,
    ];
  });
}

const wantedTasksPerSecond = 10_000;

/** So many tasks a second use up what DynamoDB gives to one partition key. */
export function tasksPerSecond({ key, tasks }: { key: HotKey; tasks: number }): number {
  return perPartitionSecond[key.direction] / (key.units / tasks);
}

function heapProblems({ heap }: AwsLoadReport): string[] {
  const [first, ...later] = heap.map(({ bytes }) => bytes);
  const most = Math.max(...later) / (first ?? 0);
  return most <= mostHeapGrowth
    ? []
    : [`the heap grew to ${most.toFixed(2)} times that with a tenth of the tasks`];
}

export function reportLines({ few, many }: { few: AwsLoadReport; many: AwsLoadReport }): string[] {
  const [oldValue, now] = [callsPerTask(few), callsPerTask(many)];
  const waiting = [few, many].map(
    ({ mostWaiting }) => `${mostWaiting.toLocaleString("en")} waiting`,
  );
  const row = (name: string, figures: string[]) =>
    `  ${name.padEnd(32)}${figures.map((each) => each.padStart(18)).join("")}`;
  const unitsOf = (report: AwsLoadReport) =>
    Object.fromEntries(
      report.totals.flatMap(({ place, writes, reads }) => [
        [`${place} write units`, writes / report.tasks],
        [`${place} read units`, reads / report.tasks],
      ]),
    );
  const [unitsBefore, unitsNow] = [unitsOf(few), unitsOf(many)];
  return [
    "calls a task, those of its polls included:",
    row("", waiting),
    ...Object.keys(now).map((name) =>
      row(
        name,
        [oldValue, now].map((each) => (each[name] ?? 0).toFixed(2)),
      ),
    ),
    "capacity units a task:",
    ...Object.keys(unitsNow).map((name) =>
      row(
        name,
        [unitsBefore, unitsNow].map((each) => (each[name] ?? 0).toFixed(2)),
      ),
    ),
    "heap after collection, MB, without the doubles' state, which is in sqlite:",
    ...many.heap.map(({ waiting: count, bytes }) =>
      row(`with ${count.toLocaleString("en")} waiting`, ["", (bytes / 1e6).toFixed(1)]),
    ),
    "the most used partition key of each kind, and how many tasks a second it allows:",
    row("", ["share with few", "with many", "units a task", "tasks a second"]),
    ...many.hotKeys.map((key) => {
      const { place, family, direction, share, units } = key;
      const same = few.hotKeys.find(
        (other) =>
          other.place === place && other.family === family && other.direction === direction,
      );
      const perSecond = Math.floor(tasksPerSecond({ key, tasks: many.tasks })).toLocaleString("en");
      return row(`${place} ${family} ${direction}`, [
        percent(same?.share ?? 0),
        percent(share),
        (units / many.tasks).toFixed(5),
        perSecond,
      ]);
    }),
  ];
}

function percent(share: number): string {
  return `${(share * 100).toFixed(3)} %`;
}
