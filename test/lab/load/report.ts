/** The figures of a load run as lines for people. Times are ratios, because they depend on the machine. */
import { type Cost, pollCost } from "./cost.ts";
import type { EngineTimes } from "./engine-times.ts";
import type { LoadReport, MemorySample } from "./load.ts";
import { memoryRows } from "./load-result.ts";

export function loadLines({
  report,
  engineAlone,
}: {
  report: LoadReport;
  engineAlone: number;
}): string[] {
  const { tasks, answerSeconds, mostAtOnce, memory, slack, transport, repeatedEvents } = report;
  const perSecond = steadyPerSecond(memory);
  const perTask = (counts: Record<string, number>) => (total(counts) / tasks).toFixed(2);
  const answered = memory.map((sample) => sample.answered.toLocaleString("en")).join(", ");
  return [
    `${tasks.toLocaleString("en")} tasks, ${mostAtOnce.toLocaleString("en")} in execution at once, in ${Math.round(answerSeconds)} s`,
    `answers a second, from a tenth to a half of all: ${(perSecond / engineAlone).toFixed(3)} of what the engine alone could do`,
    `calls a task: Slack ${perTask(slack.calls)}, of which ${perTask(slack.failed)} failed; Execution zone ${perTask(transport.calls)}, of which ${perTask(transport.failed)} failed`,
    `events that were delivered twice: ${repeatedEvents.toLocaleString("en")}`,
    `memory after collection, MB, at ${answered} answers:`,
    ...memoryRows(memory).map(({ zone, kind, megabytes, ratio }) => {
      const figures = megabytes.map((count) => count.toFixed(0).padStart(5)).join("");
      return `  ${zone.padEnd(13)} ${kind === "heapBytes" ? "heap" : "rss "} ${figures}   last to first ${ratio.toFixed(2)}`;
    }),
  ];
}

export function costLines(costs: readonly Cost[]): string[] {
  const row = (name: string, figures: string[]) =>
    `  ${name.padEnd(24)}${figures.map((each) => each.padStart(16)).join("")}`;
  const names = Object.keys(costs[0]?.perTask ?? {});
  const aside = [
    ["polls", ({ pollsPerTask }: Cost) => pollsPerTask],
    ["destination was busy", ({ busyPerTask }: Cost) => busyPerTask],
    ["lease renewals", ({ renewalsPerTask }: Cost) => renewalsPerTask],
    ["early wake-ups", ({ earlyPerTask }: Cost) => earlyPerTask],
  ] as const;
  return [
    `engine operations a task, fault-free, all tasks waiting at once (without polls: ${pollCost}):`,
    row(
      "",
      costs.map(({ waiting }) => `${waiting.toLocaleString("en")} waiting`),
    ),
    ...names.map((name) =>
      row(
        name,
        costs.map(({ perTask }) => (perTask[name] ?? 0).toFixed(2)),
      ),
    ),
    "what depends on how long a task takes, a task:",
    ...aside.map(([name, of]) =>
      row(
        name,
        costs.map((cost) => of(cost).toFixed(2)),
      ),
    ),
  ];
}

export function timeLines({ few, many }: { few: EngineTimes; many: EngineTimes }): string[] {
  const ratios = Object.entries(many.microseconds).map(([kind, time]) => {
    const before = few.microseconds[kind as keyof EngineTimes["microseconds"]];
    return `${kind} ${(time / before).toFixed(2)}`;
  });
  const [less, more] = [few.waiting.toLocaleString("en"), many.waiting.toLocaleString("en")];
  return [
    `time of one operation of the sqlite engine, ${more} waiting to ${less} waiting:`,
    `  ${ratios.join(", ")}`,
  ];
}

/** Leaves out the start and the end, when fewer tasks are under way. */
function steadyPerSecond([tenth, half]: readonly MemorySample[]): number {
  if (tenth === undefined || half === undefined) return 0;
  return (half.answered - tenth.answered) / ((half.atMs - tenth.atMs) / 1000);
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
