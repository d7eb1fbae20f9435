/** Entry of `npm run campaign`: looks for failures with seeds that no run has had, as long as is asked for. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { compareWith } from "./beside.ts";
import { type Search, searchesOf, type Wishes } from "./searches.ts";

const usage = `Usage: npm run campaign -- [--seed N] [--property-seconds N] [--simulation-seconds N] [--text-seconds N]
       npm run campaign -- --beside FOLDER [--seed N] [--runs N]

Looks for failures with new seeds, where npm test repeats the seeds that are known to hold: first in every property,
then in the simulation (random faults on two processes, and the pairs of faults that are today's), and at last for texts
that hold a process for long.

  --seed N                 repeats the campaign with that seed (a new one)
  --property-seconds N     time for each property (10: about 15 minutes for all on two processors)
  --simulation-seconds N   time for random faults (600)
  --text-seconds N         time for slow texts (300)
  --beside FOLDER          instead: plays the same random stories in another checkout, which has its node_modules, and
                           in this one, and compares what people see at the end
  --runs N                 stories to compare (200000: several hours on two processors)
  --help                   this text

Each failure is told with what repeats it. Ctrl-C stops after the figures of what was done so far.
The exit code is 0 where nothing failed.`;

const root = join(import.meta.dirname, "../../..");

type Comparison = { folder: string; seed: number; runs: number };

function readWishes(args: readonly string[]): Wishes | Comparison | undefined {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: text,
      "property-seconds": { ...text, default: "10" },
      "simulation-seconds": { ...text, default: "600" },
      "text-seconds": { ...text, default: "300" },
      beside: text,
      runs: { ...text, default: "200000" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const seed = wholeNumber("seed", values.seed ?? String(randomInt(1, 999_999_998)));
  if (values.beside !== undefined)
    return { folder: resolve(values.beside), seed, runs: wholeNumber("runs", values.runs) };
  return {
    seed,
    propertySeconds: wholeNumber("property-seconds", values["property-seconds"]),
    simulationSeconds: wholeNumber("simulation-seconds", values["simulation-seconds"]),
    textSeconds: wholeNumber("text-seconds", values["text-seconds"]),
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Error(`--${name} is a whole number from 1 to 999999999, not "${text}".`);
  return Number(text);
}

/** The tests that hold properties; those of the bounds themselves need no other seed. */
function propertyFiles(): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts") && !name.startsWith("tooling"))
    .map((name) => join("test", name))
    .filter((path) => /\bfc\.assert\(/.test(readFileSync(join(root, path), "utf8")));
}

const running = new Set<ChildProcess>();
let isInterrupted = false;

/** True if it ended well. */
async function run({ what, args, env }: Search): Promise<boolean> {
  process.stdout.write(`\n== ${what}\n`);
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  running.add(child);
  const isGood = await new Promise<boolean>((resolve) => {
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
  running.delete(child);
  process.stdout.write(
    `== ${what}: ${isInterrupted ? "stopped" : isGood ? "nothing found" : "FAILED"}\n`,
  );
  return isGood;
}

async function runSearches(wishes: Wishes): Promise<boolean> {
  let isGood = true;
  for (const together of searchesOf(wishes, {
    propertyFiles: propertyFiles(),
    nowMs: Date.now(),
  })) {
    if (isInterrupted) break;
    const results = await Promise.all(together.map(run));
    isGood &&= results.every(Boolean);
  }
  return isGood;
}

async function main(): Promise<number> {
  const wishes = readWishes(process.argv.slice(2));
  if (wishes === undefined) {
    process.stdout.write(`${usage}\n`);
    return 0;
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      isInterrupted = true;
      for (const child of running) child.kill(signal);
    });
  }
  process.stdout.write(`Campaign with seed ${wishes.seed}.\n`);
  const isGood =
    "folder" in wishes
      ? await compareWith({ ...wishes, onStart: (child) => running.add(child) })
      : await runSearches(wishes);
  process.stdout.write(
    `\nCampaign with seed ${wishes.seed}: ${isInterrupted ? "stopped" : isGood ? "nothing found" : "FAILED"}\n`,
  );
  return isInterrupted ? 130 : isGood ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
  process.exitCode = 2;
}
