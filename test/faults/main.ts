/** One search or one replay, with progress on the way and the figures at the end. */
import { createFigures } from "./figures.ts";
import type { Options } from "./options.ts";
import { compact, parsePlan } from "./plan.ts";
import { type Run, runPlan } from "./run-plan.ts";
import { play } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { type Place, searchAll, searchRandomly, usualRun } from "./search.ts";
import { shrink } from "./shrink.ts";
import { stories } from "./stories.ts";
import { tell } from "./tell.ts";
import { realMs } from "./virtual-time.ts";

const progressMs = 5000;
/** Failures that are told in full, in all and of those that violate the same; further ones are only counted. */
const maxTold = 12;
const maxToldAlike = 2;
/** After so many failures the point is made; of a mutant one is enough. */
const maxFailures = 200;
/** A real turn of the event loop, for signals and for the garbage that waits for one. */
const runsPerTurn = 50;

/** Resolves to the exit code: 0 where nothing is violated. Rejects with an Error for a person. */
export async function main(options: Options): Promise<number> {
  if (options.scenarios !== undefined) return playScenarios(options.scenarios);
  return options.replay === undefined ? search(options) : replay(options.replay);
}

/** One is told step by step; of all only what went wrong. */
async function playScenarios(name: string): Promise<number> {
  const wanted = scenarios.filter((scenario) => name === "all" || scenario.name === name);
  if (wanted.length === 0) {
    throw new Error(`There is no scenario "${name}": there are ${scenarios.map((known) => known.name).join(", ")}.`);
  }
  let failed = 0;
  for (const scenario of wanted) {
    const { run, missed } = await play(scenario);
    const holds = run.violations.length === 0 && missed.length === 0;
    if (!holds) failed += 1;
    process.stdout.write(`SCENARIO ${scenario.name}: ${scenario.what}\n`);
    if (name !== "all" || !holds) process.stdout.write(`${tell(run)}\n`);
    for (const fault of missed) process.stdout.write(`DID NOT STRIKE: ${JSON.stringify(fault)}\n`);
    process.stdout.write(`${holds ? "holds" : "FAILS"}\n\n`);
  }
  process.stdout.write(`${wanted.length} scenarios, ${failed} failures\n`);
  return failed > 0 ? 1 : 0;
}

async function replay(text: string): Promise<number> {
  const plan = parsePlan(text);
  const { steps } = await usualRun(plan);
  const run = await runPlan({ plan, usualOperations: steps.length, isTold: true });
  process.stdout.write(`${tell(run)}\n`);
  return run.violations.length > 0 ? 1 : 0;
}

async function search({ seed, runs, seconds, depth, part, mutant, ...where }: Options): Promise<number> {
  const places = placesOf(where);
  const figures = createFigures();
  const told = new Set<string>();
  const toldAlike = new Map<string, number>();
  const endMs = realMs() + 1000 * seconds;
  let nextProgressMs = realMs() + progressMs;
  let isInterrupted = false;
  let count = 0;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      isInterrupted = true;
    });
  }

  async function onRun(run: Run): Promise<boolean> {
    figures.count(run);
    if (run.violations.length > 0) await report(run);
    count += 1;
    if (count % runsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    if (realMs() > nextProgressMs) {
      nextProgressMs = realMs() + progressMs;
      process.stderr.write(`${figures.text().split("\n").at(-1)}\n`);
    }
    return !isInterrupted && realMs() < endMs && figures.failed() < (mutant === undefined ? maxFailures : 1);
  }

  async function report(found: Run): Promise<void> {
    const kind = found.violations.map(({ invariant }) => invariant).join(" ");
    const alike = (toldAlike.get(kind) ?? 0) + 1;
    if (told.size >= maxTold || alike > maxToldAlike) return;
    toldAlike.set(kind, alike);
    const usualOperations = (await usualRun(found.plan)).steps.length;
    const shortest = await shrink({ run: found, usualOperations });
    const plan = compact(shortest.plan);
    if (told.has(plan)) return;
    told.add(plan);
    const run = await runPlan({ plan: shortest.plan, usualOperations, isTold: true });
    process.stdout.write(`${tell(run)}\n\n`);
  }

  if (depth === undefined) await searchRandomly({ places, seed, runs, onRun });
  else for (const place of places) await searchAll({ place, depth, part, onRun });
  process.stdout.write(`${figures.text()}\n`);
  return figures.failed() > 0 ? 1 : 0;
}

function placesOf({ stories: wanted, engines }: Pick<Options, "stories" | "engines">): Place[] {
  const names = stories.map(({ name }) => name);
  const unknown = wanted?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`There is no story "${unknown}": there are ${names.join(", ")}.`);
  return (wanted ?? names).flatMap((story) => engines.map((engine) => ({ story, engine })));
}
