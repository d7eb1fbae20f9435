/** `npm run load:aws`: what a task costs the aws engine with few and with many tasks that wait, and whether a partition key is hot. */
import { readWholeNumbers } from "../arguments.ts";
import { growthProblems, reportLines } from "./report.ts";
import { type AwsProgress, runAwsLoad } from "./run-aws.ts";

const usage = `Usage: npm run load:aws -- [--tasks N] [--few N] [--workers N] [--seed N]

Runs the worker as on Lambda against DynamoDB, SQS, Slack and an Execution zone in this process, in virtual time: tasks are asked,
accepted, wait together, are polled, and end. Counts the calls and the capacity units of DynamoDB by partition key, first with few
tasks that wait and then with many, and measures the heap.

  --tasks N    many tasks (default 100000)
  --few N      few tasks (default 1000)
  --workers N  workers that share the queue, each with caches of its own (default 8)
  --seed N     for everything that is random (default 1)
  --help       this text

Exit code: 0 nothing grows with the tasks that wait, 1 something does or a task was not answered, 2 bad usage, 130 interrupted.
`;

process.exitCode = await main(process.argv.slice(2));

async function main(words: string[]): Promise<number> {
  const numbers = readWholeNumbers({
    words,
    usage,
    bounds: {
      tasks: { standard: 100_000, min: 10, max: 400_000 },
      few: { standard: 1000, min: 10, max: 400_000 },
      workers: { standard: 8, min: 1, max: 100 },
      seed: { standard: 1, min: 0 },
    },
  });
  if (typeof numbers === "number") return numbers;
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  try {
    const { workers, seed } = numbers;
    const run = (tasks: number) =>
      runAwsLoad({ tasks, workers, seed, onProgress, signal: stop.signal });
    const [few, many] = [await run(numbers.few), await run(numbers.tasks)];
    for (const line of reportLines({ few, many })) print(line);
    const problems = [...few.problems, ...many.problems, ...growthProblems({ few, many })];
    print("");
    print(problems.length === 0 ? "Nothing grows with the tasks that wait." : "Not as promised:");
    for (const problem of problems) print(`  ${problem}`);
    return problems.length === 0 ? 0 : 1;
  } catch (error) {
    process.stderr.write(`${stop.signal.aborted ? "The run was interrupted." : error}\n`);
    return stop.signal.aborted ? 130 : 1;
  }
}

function onProgress({
  virtualSeconds,
  asked: askedTasks,
  waiting,
  ended: end,
  messages,
}: AwsProgress): void {
  print(
    `${String(virtualSeconds).padStart(5)} virtual s: asked ${askedTasks}, waiting ${waiting}, ended ${end}, messages handled ${messages}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
