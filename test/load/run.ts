/** `npm run load`: a load run with failing calls, what a task costs, and whether that grows with the tasks that wait. */
import { measureCost } from "./cost.ts";
import { engineTasksPerSecond } from "./engine-alone.ts";
import { measureEngineTimes } from "./engine-times.ts";
import { runLoad } from "./load.ts";
import { memoryProblems } from "./memory.ts";
import { costLines, loadLines, timeLines } from "./report.ts";
import { type Numbers, readNumbers, usage } from "./run-options.ts";
import type { Progress } from "./tally.ts";

/** All tasks are to wait at the same time, however long a busy machine takes to start the next one. */
const quietMs = 10_000;

process.exitCode = await main(process.argv.slice(2));

async function main(words: string[]): Promise<number> {
  const numbers = readNumbers(words);
  if (numbers === "help") {
    print(usage);
    return 0;
  }
  if (numbers === undefined) return 2;
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  try {
    const problems = await measure({ ...numbers, signal: stop.signal });
    print("");
    print(problems.length === 0 ? "The promise was kept." : `The promise was broken ${problems.length} times:`);
    for (const problem of problems.slice(0, 20)) print(`  ${problem}`);
    return problems.length === 0 ? 0 : 1;
  } catch (thrown) {
    process.stderr.write(`${thrown instanceof Error ? thrown.message : thrown}\n`);
    return stop.signal.aborted ? 130 : 1;
  }
}

/** Prints the figures; resolves to what was broken. */
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
    return Math.round(all.reduce((sum, [name, count]) => (name.endsWith(` ${kind}`) ? sum + count : sum), 0) / tasks);
  };
  const operations = { gets: perTask("get"), replaces: perTask("replace"), messages: perTask("send") };
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
  const [few, many] = [await measureEngineTimes({ waiting: 100 }), await measureEngineTimes({ waiting: tasks })];
  for (const line of timeLines({ few, many })) print(line);
  return problems;
}

function onProgress({ seconds, asked, answered, over, inExecution }: Progress & { seconds: number }): void {
  print(
    `${String(seconds).padStart(5)} s: asked ${asked}, in execution ${inExecution}, answered ${answered}, over ${over}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
