/** `npm run faults:real`: both zones run as real processes and are killed at random moments while people ask. */
import { parseArgs } from "node:util";
import { allKinds, planRun } from "./plan.ts";
import { reportText } from "./report.ts";
import type { Progress } from "./run-plan.ts";
import { runStory } from "./zones.ts";

const helpText = `
npm run faults:real -- [--tasks N] [--kills N] [--seed N]

Both zones run as processes on the sqlite engine, and are killed (kill -9) at random moments and started again,
while tasks are asked by signed events, which Slack delivers again. In the end every message must have exactly one
answer in its thread, and no agent may have been started twice. Agents ask questions, which people answer by buttons,
and files come and go along. Exit code 1 where that does not hold.

  --tasks N   how many messages are asked (500)
  --kills N   how often a zone is killed (a tenth of the tasks)
  --seed N    what is asked and killed, and when (a random one); the machine's timing is its own
`;

/** Throws for arguments that make no sense. */
function readArguments(words: string[]) {
  const { values } = parseArgs({
    args: words,
    options: {
      tasks: { type: "string", default: "500" },
      kills: { type: "string" },
      seed: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const tasks = Number(values.tasks);
  const kills = Number(values.kills ?? Math.ceil(tasks / 10));
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  if (![tasks, kills, seed].every((number) => Number.isSafeInteger(number) && number >= 0))
    throw new TypeError("--tasks, --kills and --seed are whole numbers.");
  return { tasks, kills, seed, help: values.help };
}

async function main(words: string[]): Promise<number> {
  let wanted: ReturnType<typeof readArguments>;
  try {
    wanted = readArguments(words);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n--help says more.`);
    return 2;
  }
  const { tasks, kills, seed, help } = wanted;
  if (help) {
    console.log(helpText.trim());
    return 0;
  }
  const stop = new AbortController();
  // One Ctrl-C may arrive twice, from the terminal and from npm. The second one changes nothing.
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stop.abort());
  try {
    const report = await runStory({
      plan: planRun({ seed, tasks, kills, kinds: allKinds }),
      signal: stop.signal,
      onProgress: progressLine({ tasks, kills }),
    });
    process.stderr.write("\n");
    console.log(reportText({ seed, report }));
    return report.violations.length === 0 ? 0 : 1;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    process.stderr.write("\nStopped.\n");
    return 130;
  }
}

/** Writes one line again when something has changed. */
function progressLine({
  tasks,
  kills,
}: {
  tasks: number;
  kills: number;
}): (progress: Progress) => void {
  let shown = "";
  return ({ asked: post, killed, done }) => {
    const line = `${post} of ${tasks} asked, ${killed} of ${kills} kills, ${done} done`;
    if (line !== shown) process.stderr.write(`\r${line} `);
    shown = line;
  };
}

process.exitCode = await main(process.argv.slice(2));
