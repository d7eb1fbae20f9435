/** `npm run load`: a load run with failing calls, what a task costs, and whether that grows with the tasks that wait. */
import { readWholeNumbers } from "./arguments.ts";
import { measureCost } from "./cost.ts";
import { engineTasksPerSecond, measureEngineTimes } from "./engine-times.ts";
import { runLoad } from "./load.ts";
import { memoryProblems } from "./load-result.ts";
import { costLines, loadLines, timeLines } from "./report.ts";
import type { Progress } from "./tally.ts";

const usage = `Usage: npm run load -- [--tasks N] [--at-once N] [--failing PERCENT] [--seed N]

Asks for many tasks through both zones on this machine (signed events, sqlite, https over a socket, a fake Slack)
while calls fail, and checks that each is answered exactly once, its agent started once, and memory stays flat.
Then counts what a task costs with 100 and with all tasks waiting at the same time.

  --tasks N          tasks in all (default 10000)
  --at-once N        so many of them in execution at once (default 1000)
  --failing PERCENT  of the calls to Slack and to the Execution zone, and of the events delivered twice (default 10)
  --seed N           for everything that is random (default 1)
  --help             this text

Exit code: 0 the promise was kept, 1 it was not, 2 bad usage, 130 interrupted.
`;

const bounds = {
  tasks: { standard: 10_000, min: 1 },
  "at-once": { standard: 1000, min: 1 },
  failing: { standard: 10, min: 0, max: 50 },
  seed: { standard: 1, min: 0 },
};
type Numbers = Record<keyof typeof bounds, number>;

/** Long enough that a busy machine can start the next task, so that all tasks wait at the same time. */
const quietMs = 10_000;

process.exitCode = await main(process.argv.slice(2));

async function main(words: string[]): Promise<number> {
  const numbers = readWholeNumbers({ words, usage, bounds });
  if (typeof numbers === "number") return numbers;
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  try {
    const problems = await measure({ ...numbers, signal: stop.signal });
    print("");
    print(
      problems.length === 0
        ? "The promise was kept."
        : `The promise was broken ${problems.length} times:`,
    );
    for (const problem of problems.slice(0, 20)) print(`  ${problem}`);
    return problems.length === 0 ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return stop.signal.aborted ? 130 : 1;
  }
}

/** Prints the figures. Resolves to the problems. */
async function measure({
  tasks,
  "at-once": atOnce,
  failing,
  seed,
  signal,
}: Numbers & { signal: AbortSignal }): Promise<string[]> {
  const common = { seed, signal, onProgress };
  const report = await runLoad({ ...common, tasks, atOnce, failing: failing / 100 });
  const { verification, execution } = report.operations;
  const perTask = (kind: string) => {
    const all = [...Object.entries(verification), ...Object.entries(execution)];
    return Math.round(
      all.reduce((sum, [name, count]) => (name.endsWith(` ${kind}`) ? sum + count : sum), 0) /
        tasks,
    );
  };
  const operations = {
    gets: perTask("get"),
    replaces: perTask("replace"),
    messages: perTask("send"),
  };
  const engineAlone = await engineTasksPerSecond(operations);
  for (const line of loadLines({ report, engineAlone })) print(line);

  const costs = [];
  const problems = [...report.problems, ...memoryProblems(report.memory)];
  for (const waiting of [100, tasks]) {
    const { cost, problems: further } = await measureCost({ ...common, waiting, quietMs });
    costs.push(cost);
    problems.push(...further);
  }
  for (const line of costLines(costs)) print(line);
  const [few, many] = [
    await measureEngineTimes({ waiting: 100 }),
    await measureEngineTimes({ waiting: tasks }),
  ];
  for (const line of timeLines({ few, many })) print(line);
  return problems;
}

function onProgress({
  seconds,
  asked: askedTasks,
  answered,
  over,
  inExecution,
}: Progress & { seconds: number }): void {
  print(
    `${String(seconds).padStart(5)} s: asked ${askedTasks}, in execution ${inExecution}, answered ${answered}, over ${over}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
